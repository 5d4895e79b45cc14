// Package diskfault gives an error of the disk a cause that the player can act on: no room, a file that another program uses, no
// permission, something in the way, a file that vanished. Installs and downloads have the same ones.
package diskfault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"collet/app/update"
	"collet/platform"
)

// Reserve is the free space in bytes that an update leaves on the volume for the journal, the cache, the log and the
// system.
const Reserve = 16 << 20

// SpaceError reports that a volume has too little free space, in bytes.
type SpaceError struct {
	Volume string // mount point or drive
	Need   int64  // free bytes required for the rest of the update or of the file; below 0: unknown
	Free   int64  // free bytes; below 0: unknown
	Err    error  // the error of the system; nil if nothing was written
}

func (e *SpaceError) Error() string {
	switch {
	case e.NoNames():
		return fmt.Sprintf("no room for another file on %q, although %d bytes are free: no inodes are left, or a quota is used up: %v", e.Volume, e.Free, e.Err)
	case e.Need < 0 && e.Free < 0:
		return fmt.Sprintf("no room on %q: %v", e.Volume, e.Err)
	case e.Need < 0:
		return fmt.Sprintf("no room on %q, %d bytes are free: %v", e.Volume, e.Free, e.Err)
	case e.Free < 0:
		return fmt.Sprintf("need %d bytes on %q: %v", e.Need, e.Volume, e.Err)
	}
	return fmt.Sprintf("need %d bytes on %q, %d are free: free %d", e.Need, e.Volume, e.Free, max(0, e.Need-e.Free))
}

// Unwrap returns the error of the system.
func (e *SpaceError) Unwrap() error { return e.Err }

// NoNames reports whether the volume lacks inodes, or the user a quota, rather than bytes.
func (e *SpaceError) NoNames() bool { return e.Err != nil && e.Free >= max(e.Need, Reserve) }

// InUseError reports that other programs use a file, and names them as far as the system can tell.
type InUseError struct {
	Path    string
	Holders []platform.Holder
	Err     error
}

func (e *InUseError) Error() string {
	if len(e.Holders) == 0 {
		return e.Err.Error()
	}
	return e.Err.Error() + "; it is used by " + e.Names()
}

// Unwrap returns the error of the system.
func (e *InUseError) Unwrap() error { return e.Err }

// Names lists the holders for the player; empty if none are known.
func (e *InUseError) Names() string {
	names := make([]string, len(e.Holders))
	for i, h := range e.Holders {
		names[i] = fmt.Sprintf("%s (process %d)", h.Name, h.PID)
	}
	return strings.Join(names, ", ")
}

// VanishedError reports that a file has disappeared. The usual cause is a virus scanner.
type VanishedError struct {
	Path string
	Err  error // the error of the system; may be nil
}

func (e *VanishedError) Error() string {
	return fmt.Sprintf("file %q vanished after it was written, perhaps a virus scanner took it", e.Path)
}

// Unwrap returns the error of the system.
func (e *VanishedError) Unwrap() error { return e.Err }

// NameOf is the file that an error of the disk is about: relative to fsys, with slashes, or absolute if it is elsewhere. Of two names it is
// the one to be replaced, because that file may be locked. Without a name the result is "." and false.
func NameOf(fsys platform.FS, err error) (name string, ok bool) {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		name = path.Path
	case errors.As(err, &link):
		name = link.New
	default:
		return ".", false
	}
	if below, inside := platform.Below(fsys.Path("."), name); inside {
		name = below
	}
	return filepath.ToSlash(name), true
}

// Of is the fault for an error of the disk about a file or a folder. name is as from NameOf, need as in SpaceError. Faults and errors of
// contexts are returned unchanged; nil stays nil.
func Of(fsys platform.FS, name string, need int64, err error) error {
	if err == nil || Passes(err) {
		return err
	}
	full := filepath.FromSlash(name)
	if !filepath.IsAbs(full) {
		full = fsys.Path(name)
	}
	if platform.IsDiskFull(err) {
		return Full(fsys, need, err)
	}
	if platform.MayBeLocked(err) {
		if holders := platform.Holders(full); len(holders) > 0 || platform.IsLocked(err) {
			return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: full, Err: &InUseError{full, holders, err}}
		}
	}
	if errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) {
		return &update.Fault{Cause: update.NoPermission, Subject: full, Err: err}
	}
	if way := platform.FindObstacle(fsys, name, err); way != "" {
		return InTheWay(way, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Vanished(full, err)
	}
	return &update.Fault{Cause: update.DiskFault, Subject: full, Err: err}
}

// Passes reports whether an error is a fault already, or that of a context.
func Passes(err error) bool {
	var known *update.Fault
	return errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Full is the fault of a volume without room. err may be nil.
func Full(fsys platform.FS, need int64, err error) *update.Fault {
	folder := fsys.Path(".")
	space := &SpaceError{Volume: platform.VolumeOf(folder), Need: need, Free: -1, Err: err}
	if free, freeErr := fsys.Free(); freeErr == nil {
		space.Free = int64(min(free, math.MaxInt64))
	}
	return &update.Fault{Cause: update.DiskFull, Subject: folder, Err: space}
}

// InTheWay is the fault of a file or folder, with an absolute name, that stands where another belongs.
func InTheWay(full string, err error) *update.Fault {
	return &update.Fault{Cause: update.DiskFault, Subject: full, Err: &platform.ObstacleError{Path: full, Err: err}}
}

// Vanished is the fault of a missing file. err may be nil.
func Vanished(full string, err error) *update.Fault {
	return &update.Fault{Cause: update.DiskFault, Subject: full, Err: &VanishedError{Path: full, Err: err}}
}
