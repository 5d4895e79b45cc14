package faultfs

import "errors"

// ErrStopped is returned by every call of an ended process: one that was killed, or reached a stop.
var ErrStopped = errors.New("the process has ended")

// Errno is an error number of one system. On that system it wraps the system's own error. On others it wraps the corresponding error,
// so that platform.IsDiskFull, IsLocked, MayBeLocked, IsReadOnly, IsCrossDevice and errors.Is with fs.ErrPermission have the same result
// everywhere.
type Errno struct {
	Name string // as the system's documentation calls it
	here error
}

func (e *Errno) Error() string { return e.Name + ": " + e.here.Error() }

func (e *Errno) Unwrap() error { return e.here }

// MayPass implements platform.Passing: on Windows access is also denied to files that other processes have open.
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
