//go:build unix

package platform

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noWait opens the end of a pipe without waiting for the other one. It means nothing to files and folders.
const noWait = unix.O_NONBLOCK

// isNoPeer reports whether err says that a pipe without a reader, or a socket, was to be opened.
func isNoPeer(err error) bool { return errors.Is(err, unix.ENXIO) }

// tryLock is flock(2). held is false where another one has the lock.
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

// unlock gives a lock back also where a process that is being started still has the file open.
func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// needsWriting reports whether a lock may be had on a file that is open for writing.
func needsWriting(err error) bool { return errors.Is(err, unix.EBADF) || errors.Is(err, unix.EIO) }
