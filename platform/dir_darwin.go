package platform

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exchange is renameatx_np(2) with RENAME_SWAP. File systems without it answer ENOTSUP.
func exchange(dirA *os.File, a string, dirB *os.File, b string) error {
	err := unix.RenameatxNp(int(dirA.Fd()), a, int(dirB.Fd()), b, unix.RENAME_SWAP)
	if err == unix.ENOTSUP || err == unix.EINVAL {
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
	return stat.Ino, time.Unix(stat.Ctimespec.Unix())
}
