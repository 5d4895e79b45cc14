package platform

import "syscall"

// childAttributes asks prctl(2) with PR_SET_PDEATHSIG for a kill when the thread that starts the child ends. The Go
// runtime checks in the child that the parent was still alive when it asked.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Halt ends this process at once, without running exit handlers of loaded libraries: exit_group(2). Deferred functions
// don't run either. Only a main passes it on.
func Halt(code int) { syscall.Exit(code) }
