//go:build unix

package platform

import (
	"errors"
	"runtime"
	"syscall"
)

// isDiskFull: ENOSPC means missing bytes or inodes. EFBIG does not count: it is the size limit of one file (4 GiB on FAT, ulimit -f),
// independent of free space.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isLocked: EBUSY is returned for mount points and swap files, ETXTBSY for opening a running program for writing. Other open files can
// be renamed and removed.
func isLocked(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ETXTBSY)
}

// mayBeLocked is false: EACCES and EPERM mean permissions here.
func mayBeLocked(error) bool { return false }

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isUnreadable(err error) bool { return errors.Is(err, syscall.EIO) }

// isCrossDevice: EXDEV is returned for two volumes, and for bind mounts and overlays of one volume.
func isCrossDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }

// isNotProgram: macOS has a separate number for a program of another processor, EBADARCH in sys/errno.h.
func isNotProgram(err error) bool {
	return errors.Is(err, syscall.ENOEXEC) || runtime.GOOS == "darwin" && errors.Is(err, syscall.Errno(86))
}
