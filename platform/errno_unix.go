//go:build unix

package platform

import (
	"errors"
	"runtime"
	"syscall"
)

// isDiskFull: ENOSPC is told for bytes and for inodes. EFBIG is not among them: it is the limit of one file (4 GiB on FAT,
// ulimit -f), which no free space helps.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isLocked: EBUSY is told for mount points and swap files, ETXTBSY for a running program that is opened for writing. A
// file that is merely open can be renamed and removed.
func isLocked(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ETXTBSY)
}

// mayBeLocked adds nothing here: EACCES and EPERM are about permissions.
func mayBeLocked(error) bool { return false }

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isUnreadable(err error) bool { return errors.Is(err, syscall.EIO) }

// isCrossDevice: EXDEV is told for two volumes, and by bind mounts and overlays of one.
func isCrossDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }

// isNotProgram: macOS has a number of its own for a program of another processor, EBADARCH in sys/errno.h.
func isNotProgram(err error) bool {
	return errors.Is(err, syscall.ENOEXEC) || runtime.GOOS == "darwin" && errors.Is(err, syscall.Errno(86))
}
