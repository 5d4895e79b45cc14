package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"collet/app/update"
	"collet/platform"
)

// SpareRoom is how many bytes of a volume must stay free, as for the install.
const SpareRoom = 16 << 20

// SpaceError says that the volume of a spool has too little free space.
type SpaceError struct {
	Volume string // its mount point or drive
	Need   int64  // bytes needed for the rest of the object; below 0: unknown
	Free   int64  // free bytes; below 0: unknown
	Err    error  // the system's error
}

func (e *SpaceError) Error() string {
	if e.Free < 0 {
		return fmt.Sprintf("no room on %q: %v", e.Volume, e.Err)
	}
	if e.Need < 0 {
		return fmt.Sprintf("no room on %q, %d bytes are free: %v", e.Volume, e.Free, e.Err)
	}
	return fmt.Sprintf("need %d bytes on %q, %d are free: free %d", e.Need, e.Volume, e.Free, max(0, e.Need-e.Free))
}

// Unwrap returns the system's error.
func (e *SpaceError) Unwrap() error { return e.Err }

// NoNames reports whether enough bytes are free: then the volume has no inodes left, or the user's quota is used up.
func (e *SpaceError) NoNames() bool { return e.Err != nil && e.Free >= max(e.Need, SpareRoom) }

// fault maps an error of the disk about name to a *update.Fault with a cause for users. need is the number of bytes still to be
// written; below 0 is unknown. Faults, context errors and nil are returned unchanged.
func (s *Spool) fault(name string, need int64, err error) error {
	var known *update.Fault
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case platform.IsDiskFull(err):
		return DiskFault(s.fs, s.folder, need, err)
	default:
		return DiskFault(s.fs, name, need, err)
	}
}

// DiskFault maps an error of the disk about a file or a folder to a fault with a cause for users. need is as in SpaceError.
func DiskFault(fsys platform.FS, name string, need int64, err error) *update.Fault {
	path := fsys.Path(name)
	switch {
	case platform.IsDiskFull(err):
		space := &SpaceError{Volume: platform.VolumeOf(fsys.Path(".")), Need: need, Free: -1, Err: err}
		if free, freeErr := fsys.Free(); freeErr == nil {
			space.Free = int64(min(free, math.MaxInt64))
		}
		return &update.Fault{Cause: update.DiskFull, Subject: path, Err: space}
	case platform.MayBeLocked(err) && len(platform.Holders(path)) > 0:
		return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: path, Err: err}
	case errors.Is(err, fs.ErrPermission), platform.IsReadOnly(err):
		return &update.Fault{Cause: update.NoPermission, Subject: path, Err: err}
	}
	if mirror := platform.FindObstacle(fsys, name, err); mirror != "" {
		return &update.Fault{Cause: update.DiskFault, Subject: mirror, Err: &platform.ObstacleError{Path: mirror, Err: err}}
	}
	return &update.Fault{Cause: update.DiskFault, Subject: path, Err: err}
}
