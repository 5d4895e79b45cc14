//go:build unix && !linux

package platform

import (
	"os"
	"syscall"
)

// childAttributes has no way to tie the child to this process; the child notices that its control pipe breaks.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Halt ends this process at once, without running exit handlers of loaded libraries: kill(2) with SIGKILL to itself,
// because exit(3), which the Go runtime uses here, runs them. code is lost. Deferred functions don't run either. Only a
// main passes it on.
func Halt(code int) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	syscall.Exit(code)
}
