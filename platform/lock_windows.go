package platform

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noWait means nothing on Windows, where pipes don't lie in folders.
const noWait = 0

func isNoPeer(error) bool { return false }

// tryLock is LockFileEx on the first byte. held is false where another one has the lock.
func tryLock(f *os.File, alone bool) (held bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// unlock gives a lock back at once: the system does so some time after the file was closed.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
}

func needsWriting(error) bool { return false }
