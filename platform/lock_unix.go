//go:build unix

package platform

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noWait opens a pipe without waiting for its other end. It has no effect on files and folders.
const noWait = unix.O_NONBLOCK

// isNoPeer reports whether err means that the opened name is a pipe without a reader, or a socket.
func isNoPeer(err error) bool { return errors.Is(err, unix.ENXIO) }

// tryLock is flock(2). held is false if the lock is held already.
func tryLock(f *os.File, alone bool) (held bool, err error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	switch err := flock(f, how|unix.LOCK_NB); err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	default:
		return false, err
	}
}

// unlock releases a lock even if a process that is being started still has the file open.
func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// needsWriting reports whether err means that the file must be open for writing.
func needsWriting(err error) bool { return errors.Is(err, unix.EBADF) || errors.Is(err, unix.EIO) }
