package faultfs

import "syscall"

// home is the path of a disk that was given none.
const home = `C:\faultfs`

// What this system calls a fault (winerror.h).
const (
	diskFull     = syscall.Errno(112)  // ERROR_DISK_FULL
	quota        = syscall.Errno(1295) // ERROR_DISK_QUOTA_EXCEEDED
	inputOutput  = syscall.Errno(1117) // ERROR_IO_DEVICE
	noAccess     = syscall.Errno(5)    // ERROR_ACCESS_DENIED
	busy         = syscall.Errno(32)   // ERROR_SHARING_VIOLATION
	regionLocked = syscall.Errno(33)   // ERROR_LOCK_VIOLATION
	running      = syscall.Errno(1224) // ERROR_USER_MAPPED_FILE
	otherVolume  = syscall.Errno(17)   // ERROR_NOT_SAME_DEVICE
	readOnly     = syscall.Errno(19)   // ERROR_WRITE_PROTECT
)
