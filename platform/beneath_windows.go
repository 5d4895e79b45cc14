package platform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// openRootNames is os.Root with errors that distinguish a missing folder from a file in the place of a folder. Windows reports
// ERROR_PATH_NOT_FOUND for both, and Go maps that to syscall.ENOTDIR.
func openRootNames(root *os.Root) names { return plainNames{root} }

// plainNames are names below a root. ERROR_FILE_NOT_FOUND means a missing file or folder, ERROR_PATH_NOT_FOUND a file in the place of
// a folder.
type plainNames struct{ *os.Root }

// OpenFile rejects creating a file with a folder's name before it calls os.Root, which would create the file and then fail.
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

// Rename is os.Root's. It uses POSIX semantics (FileRenameInformationEx), which replace an open file that is shared for deletion, or
// the older call if the volume does not support them. Neither replaces a running program or a loaded library: these have to be renamed
// first.
func (n plainNames) Rename(oldName, newName string) error {
	return n.plain(n.Root.Rename(oldName, newName), oldName, newName)
}

// Remove is os.Root's, with POSIX semantics if the volume supports them: the name of an open file that is shared for deletion is removed
// at once.
func (n plainNames) Remove(name string) error { return n.plain(n.Root.Remove(name), name) }

// plain replaces ERROR_PATH_NOT_FOUND by ERROR_FILE_NOT_FOUND, unless a file is in the place of a folder.
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

// fileAbove reports whether a file is in the place of one of the folders of a name.
func (n plainNames) fileAbove(name string) bool {
	for dir := filepath.Dir(name); dir != "." && dir != `\`; dir = filepath.Dir(dir) {
		if info, err := n.Root.Stat(dir); err == nil {
			return !info.IsDir()
		}
	}
	return false
}
