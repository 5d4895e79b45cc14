package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// SpaceError says that a volume has too little room, in bytes.
type SpaceError struct {
	Volume string // a path on it
	Need   int64
	Free   int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("need %d bytes on the volume of %q, %d are free", e.Need, e.Volume, e.Free)
}

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
		return &update.Fault{Cause: update.DiskFull, Subject: d.subject(err), Err: err}
	case errors.Is(err, fs.ErrPermission), platform.IsReadOnly(err):
		return &update.Fault{Cause: update.NoPermission, Subject: d.subject(err), Err: err}
	case platform.IsLocked(err):
		return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: d.subject(err), Err: err}
	default:
		return &update.Fault{Cause: update.DiskFault, Subject: d.subject(err), Err: err}
	}
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
