package platform

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// ObstacleError says that the place of a file or a folder is taken by another kind: a folder, a file, a link or a pipe. The user has to
// move it away.
type ObstacleError struct {
	Path string // absolute
	Err  error  // the system's error
}

func (e *ObstacleError) Error() string { return e.Err.Error() }

// Unwrap returns the system's error.
func (e *ObstacleError) Unwrap() error { return e.Err }

// FindObstacle finds the obstacle for a file that could not be used with err: a link, a pipe or a file in the place of a folder of its name,
// or another kind in its own place, if err means that. name is relative to the folder, with slashes. The result is an absolute path;
// empty if not found. It changes nothing.
func FindObstacle(fsys FS, name string, err error) string {
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
