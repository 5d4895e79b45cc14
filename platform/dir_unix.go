//go:build unix

package platform

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncDir makes the names of an open folder durable: fsync(2) on a folder. Some network file systems return EINVAL, which means that no
// sync is needed.
func syncDir(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// free returns the bytes of statfs(2) that an ordinary user may still use.
func free(path string) (uint64, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(path, &stat)
	if err == nil {
		err = sized(uint64(stat.Blocks))
	}
	if err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), nil
}

// freeFiles returns the free inodes of statfs(2). A total of 0 means that the file system does not count inodes.
func freeFiles(path string) (uint64, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(path, &stat)
	if err == nil {
		err = sized(uint64(stat.Files))
	}
	if err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return uint64(stat.Ffree), nil
}

// mayWrite is access(2). For root it fails nearly only on read-only volumes.
func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }
