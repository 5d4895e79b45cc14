package platform

import "syscall"

// childAttributes requests a kill when the thread that starts the child ends, by prctl(2) with PR_SET_PDEATHSIG. The Go runtime checks
// in the child that the parent was still alive at that call.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Halt ends this process at once, without exit handlers of loaded libraries and without deferred functions: exit_group(2). Only a main
// function passes it on.
func Halt(code int) { syscall.Exit(code) }
