package install

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
	"collet/netproto/release"
	"collet/platform"
)

// SpaceError reports that a volume has too little free space, in bytes.
type SpaceError struct {
	Volume string // mount point or drive
	Need   int64  // free bytes required for the rest of the update
	Free   int64  // free bytes; below 0: unknown
	Err    error  // the error of the system; nil if nothing was written
}

func (e *SpaceError) Error() string {
	if e.NoNames() {
		return fmt.Sprintf("no room for another file on %q, although %d bytes are free: no inodes are left, or a quota is used up: %v", e.Volume, e.Free, e.Err)
	}
	if e.Free < 0 {
		return fmt.Sprintf("need %d bytes on %q: %v", e.Need, e.Volume, e.Err)
	}
	return fmt.Sprintf("need %d bytes on %q, %d are free: free %d", e.Need, e.Volume, e.Free, max(0, e.Need-e.Free))
}

// Unwrap returns the error of the system.
func (e *SpaceError) Unwrap() error { return e.Err }

// NoNames reports whether the volume lacks inodes, or the user a quota, rather than bytes.
func (e *SpaceError) NoNames() bool { return e.Err != nil && e.Free >= e.Need }

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

// VanishedError reports that a file of the install has disappeared. The usual cause is a virus scanner.
type VanishedError struct {
	Path string
	Err  error // the error of the system; may be nil
}

func (e *VanishedError) Error() string {
	return fmt.Sprintf("file %q vanished after it was written, perhaps a virus scanner took it", e.Path)
}

// Unwrap returns the error of the system.
func (e *VanishedError) Unwrap() error { return e.Err }

// FaultOf converts a disk error to a *update.Fault with a cause that the player can act on, and names the file. missing is
// the number of bytes still to be fetched. Faults and context errors pass unchanged; nil stays nil.
func FaultOf(fsys platform.FS, missing int64, err error) error {
	var known *update.Fault
	var path *release.PathError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &path):
		return &update.Fault{Cause: update.Untrusted, Subject: path.Path, Err: err}
	case platform.IsDiskFull(err):
		return fullFault(fsys, missing, err)
	case platform.IsLocked(err), platform.MayBeLocked(err) && len(platform.Holders(subjectOf(fsys, err))) > 0:
		inUse := &InUseError{Path: subjectOf(fsys, err), Holders: platform.Holders(subjectOf(fsys, err)), Err: err}
		return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: inUse.Path, Err: inUse}
	case errors.Is(err, fs.ErrPermission), platform.IsReadOnly(err):
		return &update.Fault{Cause: update.NoPermission, Subject: subjectOf(fsys, err), Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return vanishedFault(subjectOf(fsys, err), err)
	default:
		return otherFault(fsys, err)
	}
}

// otherFault is a DiskFault. It distinguishes a file or folder in the way from other errors.
func otherFault(fsys platform.FS, err error) *update.Fault {
	subject := subjectOf(fsys, err)
	way := subject
	if !errors.Is(err, errNotEmpty) && !errors.Is(err, errFileInTheWay) {
		root := filepath.ToSlash(fsys.Path("."))
		name := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(subject), root), "/")
		way = platform.FindObstacle(fsys, name, err)
	}
	if way != "" {
		return &update.Fault{Cause: update.DiskFault, Subject: way, Err: &platform.ObstacleError{Path: way, Err: err}}
	}
	return &update.Fault{Cause: update.DiskFault, Subject: subject, Err: err}
}

func vanishedFault(full string, err error) *update.Fault {
	return &update.Fault{Cause: update.DiskFault, Subject: full, Err: &VanishedError{Path: full, Err: err}}
}

// fullFault is the fault of a volume without room for the missing bytes.
func fullFault(fsys platform.FS, missing int64, err error) *update.Fault {
	folder := fsys.Path(".")
	space := &SpaceError{Volume: platform.VolumeOf(folder), Need: missing + Reserve, Free: -1, Err: err}
	if free, freeErr := fsys.Free(); freeErr == nil {
		space.Free = int64(min(free, math.MaxInt64))
	}
	return &update.Fault{Cause: update.DiskFull, Subject: folder, Err: space}
}

// subjectOf is the absolute path of the file that an error is about. Of two names it is the one to be replaced, because that
// file may be locked. An error without a name is about the folder.
func subjectOf(fsys platform.FS, err error) string {
	var path *fs.PathError
	var link *os.LinkError
	name := "."
	switch {
	case errors.As(err, &path):
		name = path.Path
	case errors.As(err, &link):
		name = link.New
	}
	if filepath.IsAbs(name) {
		return name
	}
	return fsys.Path(filepath.ToSlash(name))
}

// Reserve is the free space in bytes that an update leaves on the volume for the journal, the cache, the log and the
// system.
const Reserve = 16 << 20
