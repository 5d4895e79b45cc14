package process

import (
	"errors"
	"os"
	"os/exec"
)

// OwnGroup does nothing: a console interrupt reaches only the programs of that console.
func OwnGroup(*exec.Cmd) {}

// sendInterrupt has no counterpart here: Windows cannot ask an arbitrary program to end.
func sendInterrupt(*os.Process) error { return errors.ErrUnsupported }

// killGroup ends the process. An ended process is no error.
func killGroup(p *os.Process) { p.Kill() }
