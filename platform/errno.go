package platform

import (
	"errors"
	"io/fs"
	"syscall"
)

// Reason drops the operation and the path from an error of the file system, for texts that already name them.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// IsDiskFull reports whether err says that the volume or a quota is exhausted.
func IsDiskFull(err error) bool { return isDiskFull(err) || errors.Is(err, syscall.ENOSPC) }

// IsLocked reports whether err says that another process holds the file. It is not about ErrLocked.
func IsLocked(err error) bool { return isLocked(err) }

// IsReadOnly reports whether err says that the whole volume can't be written.
func IsReadOnly(err error) bool { return isReadOnly(err) }

// IsUnreadable reports whether err says that the disk can't give back what was written: a bad sector, not a file that is
// missing, held or forbidden.
func IsUnreadable(err error) bool { return isUnreadable(err) }

// IsCrossDevice reports whether err says that a rename would lead to another volume.
func IsCrossDevice(err error) bool { return isCrossDevice(err) }

// Passing is what an error that is not the system's own may implement; MayBeLocked asks it, too.
type Passing interface {
	// MayPass reports whether the call may succeed once another process let go of the file.
	MayPass() bool
}

// MayBeLocked reports whether err, of a rename, a removal or an opening, may go away when another process lets go of the
// file: IsLocked, and on Windows "access denied" (5), which is what an open or loaded file answers there to some calls.
func MayBeLocked(err error) bool {
	var own Passing
	return IsLocked(err) || mayBeLocked(err) || errors.As(err, &own) && own.MayPass()
}

// IsRefused reports whether err says that a machine was reached and takes no connections there.
func IsRefused(err error) bool { return isRefused(err) }

// IsNotProgram reports whether a file could not be started because it is no program for this system and processor.
func IsNotProgram(err error) bool { return isNotProgram(err) }
