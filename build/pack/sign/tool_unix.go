//go:build unix

package sign

import (
	"os/exec"
	"syscall"
)

// contain takes the terminal from a tool, so that it can't ask there and wait (setsid(2)), and has its end be that of everything
// in its process group.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
