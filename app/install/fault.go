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

// SpaceError says that a volume has too little room, in bytes.
type SpaceError struct {
	Volume string // where it is mounted, or its drive
	Need   int64  // what has to be free for the rest of the update
	Free   int64  // what is; below 0: unknown
	Err    error  // what the system said; nil where nothing was tried
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

// Unwrap gives what the system said.
func (e *SpaceError) Unwrap() error { return e.Err }

// NoNames reports whether it is not bytes that are missing: the volume has no inodes left, or the user no quota.
func (e *SpaceError) NoNames() bool { return e.Err != nil && e.Free >= e.Need }

// HeldError says that other programs hold a file, and which ones, as far as the system can tell.
type HeldError struct {
	Path    string
	Holders []platform.Holder
	Err     error
}

func (e *HeldError) Error() string {
	if len(e.Holders) == 0 {
		return e.Err.Error()
	}
	return e.Err.Error() + "; it is used by " + e.Names()
}

// Unwrap gives what the system said.
func (e *HeldError) Unwrap() error { return e.Err }

// Names lists the holders for a person; empty where nobody is known.
func (e *HeldError) Names() string {
	names := make([]string, len(e.Holders))
	for i, h := range e.Holders {
		names[i] = fmt.Sprintf("%s (process %d)", h.Name, h.PID)
	}
	return strings.Join(names, ", ")
}

// VanishedError says that a file of ours was there, and is gone: hardly anything but a virus scanner does that.
type VanishedError struct {
	Path string
	Err  error // what the system said; may be nil
}

func (e *VanishedError) Error() string {
	return fmt.Sprintf("file %q vanished after it was written, perhaps a virus scanner took it", e.Path)
}

// Unwrap gives what the system said.
func (e *VanishedError) Unwrap() error { return e.Err }

// fault turns what the disk said into a cause that a person can do something about, and names the file. Faults and
// context errors pass unchanged; nil stays nil.
func (d *Dir) fault(err error) error {
	var known *update.Fault
	var path *release.PathError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &path):
		return &update.Fault{Cause: update.Untrusted, Subject: path.Path, Err: err}
	case platform.IsDiskFull(err):
		return d.full(d.missing(), err)
	case platform.IsLocked(err), platform.MayBeLocked(err) && len(platform.Holders(d.subject(err))) > 0:
		held := &HeldError{Path: d.subject(err), Holders: platform.Holders(d.subject(err)), Err: err}
		return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: held.Path, Err: held}
	case errors.Is(err, fs.ErrPermission), platform.IsReadOnly(err):
		return &update.Fault{Cause: update.NoPermission, Subject: d.subject(err), Err: err}
	case errors.Is(err, fs.ErrNotExist):
		return d.vanishedFault(d.subject(err), err)
	default:
		return d.otherFault(err)
	}
}

// otherFault is what the disk says where nothing is wrong with it, above all that something is in the way, or else with it.
func (d *Dir) otherFault(err error) *update.Fault {
	subject := d.subject(err)
	way := subject
	if !errors.Is(err, errNotEmpty) && !errors.Is(err, errFileInTheWay) {
		root := filepath.ToSlash(d.fs.Path("."))
		name := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(subject), root), "/")
		way = platform.InTheWay(d.fs, name, err)
	}
	if way != "" {
		return &update.Fault{Cause: update.DiskFault, Subject: way, Err: &platform.InTheWayError{Path: way, Err: err}}
	}
	return &update.Fault{Cause: update.DiskFault, Subject: subject, Err: err}
}

func (d *Dir) vanishedFault(full string, err error) *update.Fault {
	return &update.Fault{Cause: update.DiskFault, Subject: full, Err: &VanishedError{Path: full, Err: err}}
}

// full is the fault of a volume without room for what is still missing, in bytes.
func (d *Dir) full(missing int64, err error) *update.Fault {
	folder := d.fs.Path(".")
	space := &SpaceError{Volume: platform.VolumeOf(folder), Need: missing + reserve, Free: -1, Err: err}
	if free, freeErr := d.fs.Free(); freeErr == nil {
		space.Free = int64(min(free, math.MaxInt64))
	}
	return &update.Fault{Cause: update.DiskFull, Subject: folder, Err: space}
}

// subject is the absolute path of the file that an error is about: of two names the one that was to be replaced, because
// that is the one that somebody holds. An error that names none is about the folder.
func (d *Dir) subject(err error) string {
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
	return d.fs.Path(filepath.ToSlash(name))
}
