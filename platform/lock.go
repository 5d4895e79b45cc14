package platform

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Lock implements FS. It is flock(2) or LockFileEx, on one byte.
func (d *Dir) Lock(name string) (io.Closer, error) { return d.lock(name, true) }

// LockShared implements FS.
func (d *Dir) LockShared(name string) (io.Closer, error) { return d.lock(name, false) }

func (d *Dir) lock(name string, alone bool) (io.Closer, error) {
	f, err := d.openLock(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(f, alone)
	if needsWriting(err) { // NFS, where the lock is one of fcntl(2)
		_ = f.Close()
		if f, err = d.openLock(name, os.O_RDWR); err != nil {
			return nil, err
		}
		held, err = tryLock(f, alone)
	}
	switch {
	case err != nil:
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	case !held:
		return nil, errors.Join(ErrLocked, f.Close())
	default:
		return &heldLock{file: f}, nil
	}
}

// openLock opens the file of a lock beneath the root, and creates it if needed. A user that can open the file can hold the lock, so its
// permissions allow only users that may write to its folder. An existing file is opened without O_CREATE, which Linux refuses for other
// users' files in world-writable folders.
func (d *Dir) openLock(name string, flag int) (*os.File, error) {
	info, err := d.names.Lstat(filepath.FromSlash(name))
	made := errors.Is(err, fs.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrNoFile}
	}
	if made {
		flag |= os.O_CREATE
	}
	f, err := d.open(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if around, err := d.names.Stat(filepath.FromSlash(path.Dir(name))); err == nil {
		setLockPermissions(f, around.Mode().Perm(), made)
	}
	return f, nil
}

// setLockPermissions sets the permissions of a lock's file according to those of its folder. Only the owner can; another user's file is
// left unchanged.
func setLockPermissions(f *os.File, folder fs.FileMode, made bool) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	others := folder & 0o022
	others |= others << 1 // users that may write may also read
	mode := info.Mode().Perm() &^ (0o077 &^ others)
	if made {
		mode |= others
	}
	if mode != info.Mode().Perm() {
		_ = f.Chmod(mode) // a lock that others can open still works
	}
}

// heldLock is a held lock.
type heldLock struct {
	once sync.Once
	file *os.File
}

// Close releases the lock. A second call does nothing.
func (l *heldLock) Close() (err error) {
	l.once.Do(func() { err = errors.Join(unlock(l.file), l.file.Close()) })
	return err
}
