package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// quickNames is os.Root, whose errors are made to tell a missing folder from a file that stands where a folder should be.
// Windows answers ERROR_PATH_NOT_FOUND to both, and Go calls that syscall.ENOTDIR.
func quickNames(root *os.Root) names { return plainNames{root} }

// plainNames are names below a root. What is missing is ERROR_FILE_NOT_FOUND, and ERROR_PATH_NOT_FOUND is left for files in
// the way.
type plainNames struct{ *os.Root }

// OpenFile makes no file of a name that ends like a folder's: os.Root makes it first and complains then.
func (n plainNames) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE != 0 && strings.HasSuffix(name, `\`) {
		return nil, &fs.PathError{Op: "openat", Path: name, Err: windows.ERROR_DIRECTORY}
	}
	f, err := n.Root.OpenFile(name, flag, perm)
	return f, n.plain(err, name)
}

// Lstat is os.Root's.
func (n plainNames) Lstat(name string) (fs.FileInfo, error) {
	info, err := n.Root.Lstat(name)
	return info, n.plain(err, name)
}

// Stat is os.Root's.
func (n plainNames) Stat(name string) (fs.FileInfo, error) {
	info, err := n.Root.Stat(name)
	return info, n.plain(err, name)
}

// Rename is os.Root's: it asks for POSIX semantics (FileRenameInformationEx), by which a file that somebody has open and
// shares for deletion is replaced, and for the older call where a volume does not know those. Neither replaces a program or
// a library that runs: that is renamed aside first.
func (n plainNames) Rename(oldName, newName string) error {
	return n.plain(n.Root.Rename(oldName, newName), oldName, newName)
}

// Remove is os.Root's, with POSIX semantics where the volume has them: the name is gone although somebody has the file open
// and shares it for deletion.
func (n plainNames) Remove(name string) error { return n.plain(n.Root.Remove(name), name) }

// plain looks which of the two it was.
func (n plainNames) plain(err error, names ...string) error {
	if !errors.Is(err, windows.ERROR_PATH_NOT_FOUND) {
		return err
	}
	for _, name := range names {
		if n.fileAbove(name) {
			return err
		}
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return &fs.PathError{Op: path.Op, Path: path.Path, Err: windows.ERROR_FILE_NOT_FOUND}
	case errors.As(err, &link):
		return &os.LinkError{Op: link.Op, Old: link.Old, New: link.New, Err: windows.ERROR_FILE_NOT_FOUND}
	default:
		return err
	}
}

// fileAbove reports whether a file stands where one of the folders of a name should be.
func (n plainNames) fileAbove(name string) bool {
	for dir := filepath.Dir(name); dir != "." && dir != `\`; dir = filepath.Dir(dir) {
		if info, err := n.Root.Stat(dir); err == nil {
			return !info.IsDir()
		}
	}
	return false
}
