//go:build unix

package platform

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncDir makes the names of an open folder durable: fsync(2) on a folder. Some network file systems refuse it with
// EINVAL, which says that there is nothing to do.
func syncDir(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// free asks statfs(2) for the blocks that an ordinary user may still take.
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

// freeFiles asks statfs(2) for the inodes that are left. Of 0 inodes nothing is left nor used: the file system does not count them.
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

// mayWrite is access(2). Root may nearly always, but not on a volume that is read-only.
func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }
