package platform

import (
	"io/fs"
	"os"
	"path"
	"runtime"

	"golang.org/x/sys/unix"
)

// beneath looks names up with openat2(2), which resolves a name in one system call and refuses to leave the folder. os.Root opens and
// closes every folder on the way: 60,000 calls for 500 files five folders deep.
//
// Results other than success and absence are requested again from os.Root, whose answer counts.
type beneath struct {
	*os.Root
	dir *os.File // the root
}

// within resolves names inside the folder only. Links inside it are followed, as by os.Root.
const within = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS

// openRootNames is the fastest lookup that the system has. Kernels before 5.6 and some sandboxes have no openat2.
func openRootNames(root *os.Root) names {
	dir, err := root.Open(".")
	if err != nil {
		return root
	}
	b := &beneath{Root: root, dir: dir}
	probe, err := b.openBeneath(".", unix.O_PATH, 0)
	if err != nil {
		_ = dir.Close()
		return root
	}
	_ = unix.Close(probe)
	return b
}

// Close closes the root.
func (b *beneath) Close() error {
	err := b.dir.Close()
	if closed := b.Root.Close(); err == nil {
		err = closed
	}
	return err
}

// openBeneath is openat2(2) from the root. The caller closes fd.
func (b *beneath) openBeneath(name string, flag int, perm fs.FileMode) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flag) | unix.O_CLOEXEC | unix.O_LARGEFILE, Resolve: within}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm.Perm())
	}
	for {
		fd, err = unix.Openat2(int(b.dir.Fd()), name, &how)
		runtime.KeepAlive(b.dir)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// plain reports whether the kernel and os.Root resolve a name in the same way.
func plain(name string) bool { return name != "." && fs.ValidPath(name) }

// OpenFile implements names.
func (b *beneath) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if !plain(name) || perm != perm.Perm() {
		return b.Root.OpenFile(name, flag, perm)
	}
	fd, err := b.openBeneath(name, flag, perm)
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), path.Join(b.Root.Name(), name)), nil
	case unix.ENOENT, unix.EEXIST:
		return nil, &fs.PathError{Op: "openat", Path: name, Err: err}
	default:
		return b.Root.OpenFile(name, flag, perm)
	}
}

// Lstat implements names.
func (b *beneath) Lstat(name string) (fs.FileInfo, error) {
	return b.statBeneath(name, unix.O_NOFOLLOW, b.Root.Lstat)
}

// Stat implements names.
func (b *beneath) Stat(name string) (fs.FileInfo, error) { return b.statBeneath(name, 0, b.Root.Stat) }

func (b *beneath) statBeneath(name string, flag int, otherwise func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	if !plain(name) {
		return otherwise(name)
	}
	fd, err := b.openBeneath(name, unix.O_PATH|flag, 0)
	switch err {
	case nil:
		f := os.NewFile(uintptr(fd), name)
		defer f.Close()
		return f.Stat()
	case unix.ENOENT:
		return nil, &fs.PathError{Op: "statat", Path: name, Err: err}
	default:
		return otherwise(name)
	}
}

// Rename implements names.
func (b *beneath) Rename(oldName, newName string) error {
	if !plain(oldName) || !plain(newName) {
		return b.Root.Rename(oldName, newName)
	}
	err := b.inFolders(oldName, newName, func(from, to int) error {
		var there unix.Stat_t
		if unix.Fstatat(to, path.Base(newName), &there, unix.AT_SYMLINK_NOFOLLOW) == nil && there.Mode&unix.S_IFMT == unix.S_IFDIR {
			return unix.EEXIST // renameat(2) would replace an empty one
		}
		return unix.Renameat(from, path.Base(oldName), to, path.Base(newName))
	})
	if err != nil {
		return b.Root.Rename(oldName, newName)
	}
	return nil
}

// Remove implements names.
func (b *beneath) Remove(name string) error {
	if !plain(name) {
		return b.Root.Remove(name)
	}
	err := b.inFolders(name, name, func(in, _ int) error { return unix.Unlinkat(in, path.Base(name), 0) })
	switch err {
	case nil:
		return nil
	case unix.ENOENT:
		return &fs.PathError{Op: "unlinkat", Path: name, Err: err}
	default:
		return b.Root.Remove(name) // a folder, above all
	}
}

// inFolders opens the folders of two names and calls do with them.
func (b *beneath) inFolders(x, y string, do func(inX, inY int) error) error {
	folder, other := path.Dir(x), path.Dir(y)
	inX, err := b.openBeneath(folder, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(inX)
	if folder == other {
		return do(inX, inX)
	}
	inY, err := b.openBeneath(other, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(inY)
	return do(inX, inY)
}
