package faultfs

import "errors"

// ErrStopped is what every call returns when the process has come to its end: it was killed, or it reached a stop.
var ErrStopped = errors.New("the process has ended")

// Errno is a fault of a disk as one system numbers it. On that system it wraps the system's own error. On others it wraps
// the one by which they tell the same, so that platform.IsDiskFull, IsLocked, MayBeLocked, IsReadOnly,
// IsCrossDevice and errors.Is with fs.ErrPermission give one answer everywhere.
type Errno struct {
	Name string // as the system's documentation calls it
	here error
}

func (e *Errno) Error() string { return e.Name + ": " + e.here.Error() }

func (e *Errno) Unwrap() error { return e.here }

// MayPass implements platform.Passing: Windows denies access to what others have open, too.
func (e *Errno) MayPass() bool { return e == ErrorAccessDenied }

// What disks and systems answer. On Unix the first group is the system's own, on Windows the second.
var (
	ENOSPC  = &Errno{"ENOSPC", diskFull}
	EDQUOT  = &Errno{"EDQUOT", quota}
	EIO     = &Errno{"EIO", inputOutput}
	EACCES  = &Errno{"EACCES", noAccess}
	EBUSY   = &Errno{"EBUSY", busy}
	ETXTBSY = &Errno{"ETXTBSY", running}
	EXDEV   = &Errno{"EXDEV", otherVolume}
	EROFS   = &Errno{"EROFS", readOnly}

	ErrorAccessDenied     = &Errno{"ERROR_ACCESS_DENIED (5)", noAccess}
	ErrorWriteProtect     = &Errno{"ERROR_WRITE_PROTECT (19)", readOnly}
	ErrorSharingViolation = &Errno{"ERROR_SHARING_VIOLATION (32)", busy}
	ErrorLockViolation    = &Errno{"ERROR_LOCK_VIOLATION (33)", regionLocked}
	ErrorDiskFull         = &Errno{"ERROR_DISK_FULL (112)", diskFull}
	ErrorUserMappedFile   = &Errno{"ERROR_USER_MAPPED_FILE (1224)", running}
)
