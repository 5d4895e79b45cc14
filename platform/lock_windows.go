package platform

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noWait is 0 on Windows, where pipes are not files of a folder.
const noWait = 0

func isNoPeer(error) bool { return false }

// tryLock is LockFileEx on the first byte. held is false if the lock is held already.
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

// unlock releases a lock at once: after closing the file, the system releases it with a delay.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
}

func needsWriting(error) bool { return false }
