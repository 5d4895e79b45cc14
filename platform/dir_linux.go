package platform

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exchange is renameat2(2) with RENAME_EXCHANGE. Old kernels answer ENOSYS and some file systems EINVAL; both become
// errors.ErrUnsupported.
func exchange(dirA *os.File, a string, dirB *os.File, b string) error {
	err := unix.Renameat2(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_EXCHANGE)
	if err == unix.ENOSYS || err == unix.EINVAL {
		return unsupported(err)
	}
	return err
}

// inode reads the inode number and change time of stat(2).
func inode(info fs.FileInfo) (number uint64, changed time.Time) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, time.Time{}
	}
	return stat.Ino, time.Unix(stat.Ctim.Unix())
}
