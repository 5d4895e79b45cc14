package platform

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"
)

// isOneOf compares an error with numbers of winerror.h.
func isOneOf(err error, numbers ...syscall.Errno) bool {
	var number syscall.Errno
	return errors.As(err, &number) && slices.Contains(numbers, number)
}

// isDiskFull: 112, 39 (a write that fits in part), 1295 (a quota).
func isDiskFull(err error) bool {
	return isOneOf(err, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// isRefused: 10061. errors.Is also finds it in joined errors: of attempts at several addresses, or with and without a proxy.
func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// isLocked: 32 sharing violation, 33 lock violation, 170 and 148 in use, 303 removed but still open somewhere, 1224 mapped
// into a process.
func isLocked(err error) bool {
	return isOneOf(err, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION, windows.ERROR_BUSY, windows.ERROR_PATH_BUSY,
		windows.ERROR_DELETE_PENDING, windows.ERROR_USER_MAPPED_FILE)
}

// mayBeLocked: 5 is returned for replacing or removing a loaded module, and for a name whose removal is pending. It is also returned
// for missing permissions; only repeated attempts distinguish the two.
func mayBeLocked(err error) bool { return isOneOf(err, windows.ERROR_ACCESS_DENIED) }

// isReadOnly: 19, write protect.
func isReadOnly(err error) bool { return isOneOf(err, windows.ERROR_WRITE_PROTECT) }

// isUnreadable: 23 a checksum of the disk, 1117 an error of the device, 1392 a damaged file.
func isUnreadable(err error) bool {
	return isOneOf(err, windows.ERROR_CRC, windows.ERROR_IO_DEVICE, windows.ERROR_FILE_CORRUPT)
}

// isCrossDevice: 17, not same device.
func isCrossDevice(err error) bool { return isOneOf(err, windows.ERROR_NOT_SAME_DEVICE) }

func isNotProgram(err error) bool {
	return isOneOf(err, windows.ERROR_BAD_EXE_FORMAT, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH)
}
