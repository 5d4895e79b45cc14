//go:build unix

package faultfs

import "syscall"

// home is the path of a disk that was given none.
const home = "/faultfs"

// What this system calls a fault. It has no locked regions of its own.
const (
	diskFull     = syscall.ENOSPC
	quota        = syscall.EDQUOT
	inputOutput  = syscall.EIO
	noAccess     = syscall.EACCES
	busy         = syscall.EBUSY
	regionLocked = syscall.EBUSY
	running      = syscall.ETXTBSY
	otherVolume  = syscall.EXDEV
	readOnly     = syscall.EROFS
)
