//go:build unix

package platform

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs returns an error if another user owns a file.
func ownedByUs(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to another user (number %d)", stat.Uid)
	}
	return nil
}

// othersMay are the permissions of all users except the owner.
func othersMay(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() & 0o077 }
