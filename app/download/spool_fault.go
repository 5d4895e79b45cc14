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

// SpareRoom is what a volume must have left beside everything, in bytes, as the install itself wants it.
const SpareRoom = 16 << 20

// SpaceError says that the volume of a spool has too little room, in bytes.
type SpaceError struct {
	Volume string // where it is mounted, or its drive
	Need   int64  // what has to be free for the rest of the object; below 0: unknown
	Free   int64  // what is; below 0: unknown
	Err    error  // what the system said
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

// Unwrap gives what the system said.
func (e *SpaceError) Unwrap() error { return e.Err }

// NoNames reports whether it is not bytes that are missing: the volume has no inodes left, or the user no quota.
func (e *SpaceError) NoNames() bool { return e.Err != nil && e.Free >= max(e.Need, SpareRoom) }

// fault turns what the disk said about name into a *update.Fault, whose cause a person can do something about. need is how
// many bytes are still to be written; below 0 is unknown. Faults and context errors pass unchanged; nil stays nil.
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

// DiskFault is what the disk said about a file or a folder, as a cause that a person can do something about.
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
	if mirror := platform.InTheWay(fsys, name, err); mirror != "" {
		return &update.Fault{Cause: update.DiskFault, Subject: mirror, Err: &platform.InTheWayError{Path: mirror, Err: err}}
	}
	return &update.Fault{Cause: update.DiskFault, Subject: path, Err: err}
}
