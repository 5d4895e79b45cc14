package platform

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// InTheWayError says that something else stands where a file or a folder belongs: a folder, a file, a link or a pipe. A person has
// to move it away.
type InTheWayError struct {
	Path string // absolute
	Err  error  // what the system said
}

func (e *InTheWayError) Error() string { return e.Err.Error() }

// Unwrap gives what the system said.
func (e *InTheWayError) Unwrap() error { return e.Err }

// InTheWay finds what stands in the way of a file that could not be used with err: a link, a pipe or a file where a folder of its name
// belongs, or something at its own place that the error speaks of. name is relative to the folder, with slashes. It is empty if
// nothing does; it only looks.
func InTheWay(fsys FS, name string, err error) string {
	if name = path.Clean(name); name == "." || !fs.ValidPath(name) {
		return ""
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, lookErr := fsys.Lstat(at)
		if lookErr != nil {
			return ""
		}
		folder, last := info.IsDir(), i == len(parts)-1
		switch {
		case !last && !folder, last && !folder && !info.Mode().IsRegular():
			return fsys.Path(at)
		case last && folder && (errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY)),
			last && !folder && (errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist)):
			return fsys.Path(at)
		}
	}
	return ""
}
