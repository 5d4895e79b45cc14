package install

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"

	"collet/platform"
)

// exists reports whether the name exists.
func exists(fsys platform.FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if IsAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// retryWhileLocked retries for a moment while another program, such as a virus scanner, holds a file.
func retryWhileLocked(try func() error) error {
	return platform.RetryWhileLocked(context.Background(), try)
}

// exchangeNames exchanges two names. Across volumes it returns errors.ErrUnsupported, as on systems without that operation.
func exchangeNames(fsys platform.FS, a, b string) error {
	err := retryWhileLocked(func() error { return fsys.Exchange(a, b) })
	if platform.IsCrossDevice(err) {
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}

// moveFile renames a file. Across volumes it copies the file and then removes the original.
func moveFile(fsys platform.FS, from, to string) error {
	err := retryWhileLocked(func() error { return fsys.Rename(from, to) })
	if !platform.IsCrossDevice(err) {
		return err
	}
	copied := copyOf(to)
	if err := copyFile(fsys, from, copied); err != nil {
		return errors.Join(err, platform.RemoveIfThere(fsys, copied))
	}
	if err := fsys.Rename(copied, to); err != nil {
		return errors.Join(err, platform.RemoveIfThere(fsys, copied))
	}
	if err := fsys.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return platform.RemoveIfThere(fsys, from)
}

// copySuffix marks a file that is being copied to another volume.
const copySuffix = ".copy"

// copyOf is the temporary name of a copy, reserved by its prefix and suffix.
func copyOf(name string) string {
	dir, base := path.Split(name)
	return dir + PartPrefix + base + copySuffix
}

func copyFile(fsys platform.FS, from, to string) error {
	in, err := fsys.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	return platform.WriteFrom(fsys, to, in, 0o644)
}

// errNotEmpty tells the player what to do about a folder that is in the way.
var errNotEmpty = errors.New("a folder with other files stands where a file of the game belongs; move it away")

// clearFolder removes a folder that contains only empty folders. A missing folder is no error.
func clearFolder(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return &fs.PathError{Op: "clear", Path: path.Join(folder, e.Name()), Err: errNotEmpty}
		}
		if err := clearFolder(fsys, path.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(folder)
}

// isNotFolder reports whether a component of a path is a file instead of a folder.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// syncDirs makes the names in folders durable and empties the map. It skips missing folders.
func syncDirs(fsys platform.FS, folders map[string]bool) error {
	err := platform.SyncDirs(fsys, slices.Sorted(maps.Keys(folders)), IsAbsent) // sorted, so that crash tests are repeatable
	if err == nil {
		clear(folders)
	}
	return err
}

// syncFile syncs a file of an earlier process. It ignores a missing file, and one without write permission: no later
// write relies on it.
func syncFile(fsys platform.FS, name string) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// addTree adds a folder, its subfolders and its parents. It skips a folder that can't be listed: it holds no file of this
// program.
func addTree(fsys platform.FS, folders map[string]bool, folder string) {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return
	}
	addFolders(folders, path.Join(folder, "x"))
	for _, e := range entries {
		if e.IsDir() {
			addTree(fsys, folders, path.Join(folder, e.Name()))
		}
	}
}

// addFolders adds the folders of names and their parents.
func addFolders(folders map[string]bool, names ...string) {
	for _, name := range names {
		for folder := path.Dir(name); !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
}

// IsAbsent reports whether err means that a name does not exist, also because one of its folders is a file.
func IsAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotFolder(err) }

// programMode is the permission of a new program: that of the replaced one, plus all rights of the owner.
func programMode(fsys platform.FS, live string) fs.FileMode {
	mode := fs.FileMode(0o755)
	if info, err := fsys.Lstat(live); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm() | 0o700
	}
	return mode
}

var errFileInTheWay = errors.New("a file stands where a folder of the game belongs; move it away")
