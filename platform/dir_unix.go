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
