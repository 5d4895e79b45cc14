//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup makes the process the leader of a new process group (setpgid).
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// sendInterrupt asks the whole group to end (SIGTERM).
func sendInterrupt(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup ends what is left of the group (SIGKILL). An empty group is no error.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
