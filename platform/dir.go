package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Dir is an FS on the disk. Use OpenDir to make one.
type Dir struct {
	root  *os.Root
	names names  // for operations on many files
	path  string // absolute

	volume *volume // nil if it can't be synced as a whole
}

// names looks names up below a folder and never leaves it. *os.Root implements it.
type names interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Rename(oldName, newName string) error
	Remove(name string) error
	Close() error
}

var _ FS = (*Dir)(nil)

// OpenDir opens an existing folder. The folder may be renamed while it is open; Path then returns the old name.
func OpenDir(name string) (*Dir, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, names: openRootNames(root), path: abs, volume: openVolume(root)}, nil
}

// OpenFile implements FS. It opens regular files and folders only: it never waits for the other end of a pipe, and never opens a
// device. For writing it does not follow links, even to another file of the folder.
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// writes are the flags that allow changing a file. With O_CREATE and O_EXCL no link is followed anyway.
const writes = os.O_WRONLY | os.O_RDWR | os.O_CREATE | os.O_TRUNC

func (d *Dir) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	local := filepath.FromSlash(name)
	if flag&writes != 0 && flag&(os.O_CREATE|os.O_EXCL) != os.O_CREATE|os.O_EXCL {
		if info, err := d.names.Lstat(local); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNoFile}
		}
	}
	f, err := d.names.OpenFile(local, flag|noWait, perm)
	if isNoPeer(err) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNoFile}
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: ErrNoFile}, f.Close())
	}
	return f, nil
}

// Rename implements FS.
func (d *Dir) Rename(oldName, newName string) error {
	return d.names.Rename(filepath.FromSlash(oldName), filepath.FromSlash(newName))
}

// Link implements FS.
func (d *Dir) Link(oldName, newName string) error {
	return d.root.Link(filepath.FromSlash(oldName), filepath.FromSlash(newName))
}

// Exchange implements FS. Both folders are opened through the root, and the system call gets file names in them, so it can't leave the
// root.
func (d *Dir) Exchange(a, b string) error {
	if err := exchangeBeneath(d, a, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// exchangeBeneath exchanges two files through their folders.
func exchangeBeneath(d *Dir, a, b string) error {
	if !isFile(a) || !isFile(b) {
		return fs.ErrInvalid
	}
	dirA, err := d.open(path.Dir(a), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer dirA.Close()
	dirB, err := d.open(path.Dir(b), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer dirB.Close()
	return exchange(dirA, path.Base(a), dirB, path.Base(b))
}

// isFile reports whether a name ends in a real element. "x/.." would bypass the checks of the root.
func isFile(name string) bool { return path.Base(name) != "." && path.Base(name) != ".." }

// Remove implements FS.
func (d *Dir) Remove(name string) error { return d.names.Remove(filepath.FromSlash(name)) }

// MkdirAll implements FS.
func (d *Dir) MkdirAll(name string, perm fs.FileMode) error {
	return d.root.MkdirAll(filepath.FromSlash(name), perm)
}

// ReadDir implements FS.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|noWait, 0) // through os.Root, so that entries resolve their Info
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Stat implements FS.
func (d *Dir) Stat(name string) (fs.FileInfo, error) { return d.names.Stat(filepath.FromSlash(name)) }

// Lstat implements FS.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.names.Lstat(filepath.FromSlash(name)) }

// Chmod implements FS.
func (d *Dir) Chmod(name string, mode fs.FileMode) error {
	return d.root.Chmod(filepath.FromSlash(name), mode)
}

// SyncDir implements FS.
func (d *Dir) SyncDir(name string) error {
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(f), f.Close())
}

// Free implements FS.
func (d *Dir) Free() (uint64, error) { return free(d.path) }

// FreeFiles implements FS.
func (d *Dir) FreeFiles() (uint64, error) { return freeFiles(d.path) }

// MayWrite implements FS.
func (d *Dir) MayWrite(name string) error {
	if err := mayWrite(d.Path(name)); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// sized rejects the numbers of a file system without a total size: ramfs and some FUSE file systems don't count their space.
func sized(total uint64) error {
	if total == 0 {
		return fmt.Errorf("the file system does not count its room: %w", errors.ErrUnsupported)
	}
	return nil
}

// Path implements FS.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// Close implements FS.
func (d *Dir) Close() error { return errors.Join(d.volume.close(), d.names.Close()) }
