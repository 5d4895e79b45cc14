package platform

import (
	"errors"
	"io/fs"
	"syscall"
)

// Reason returns an error of the file system without operation and path, for texts that already name them.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// IsDiskFull reports whether err means that the volume is full or a quota is used up.
func IsDiskFull(err error) bool { return isDiskFull(err) || errors.Is(err, syscall.ENOSPC) }

// IsLocked reports whether err means that another process holds the file. ErrLocked is not such an error.
func IsLocked(err error) bool { return isLocked(err) }

// IsReadOnly reports whether err means that the volume is read-only.
func IsReadOnly(err error) bool { return isReadOnly(err) }

// IsUnreadable reports whether err means that the disk can't read its data, such as a bad sector. Missing, locked or forbidden files
// are not meant.
func IsUnreadable(err error) bool { return isUnreadable(err) }

// IsCrossDevice reports whether err means that a rename would lead to another volume.
func IsCrossDevice(err error) bool { return isCrossDevice(err) }

// Passing may be implemented by errors that don't come from the system, for MayBeLocked.
type Passing interface {
	// MayPass reports whether the call may succeed after another process has closed the file.
	MayPass() bool
}

// MayBeLocked reports whether a rename, a removal or an open that failed with err may succeed after another process has closed the
// file: IsLocked, and on Windows "access denied" (5), which some calls return for an open or loaded file.
func MayBeLocked(err error) bool {
	var own Passing
	return IsLocked(err) || mayBeLocked(err) || errors.As(err, &own) && own.MayPass()
}

// IsRefused reports whether err means that a machine was reached and refused the connection.
func IsRefused(err error) bool { return isRefused(err) }

// IsNotProgram reports whether err means that a file is not a program for this system and processor.
func IsNotProgram(err error) bool { return isNotProgram(err) }
