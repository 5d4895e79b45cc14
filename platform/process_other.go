//go:build unix && !linux

package platform

import (
	"os"
	"syscall"
)

// childAttributes can't tie the child to this process here; the child notices that its control pipe breaks.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Halt ends this process at once, without exit handlers of loaded libraries and without deferred functions: kill(2) with SIGKILL to
// itself, because exit(3), which the Go runtime uses here, runs the handlers. code is lost. Only a main function passes it on.
func Halt(code int) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	syscall.Exit(code)
}
