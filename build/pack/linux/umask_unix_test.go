//go:build unix

package linux_test

import "syscall"

// setUmask sets what new files are not allowed, and gives what that was.
func setUmask(mask int) int { return syscall.Umask(mask) }
