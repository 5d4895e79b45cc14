//go:build unix

package platform

import (
	"os"
	"syscall"
)

// Relaunch replaces the program of this process by exe: execve(2). Process id, terminal and standard streams stay. args are without the
// name of the program; env nil is the environment of this process. It only returns after an error. Children of StartProcess, locks and
// open files end with the old program.
func Relaunch(exe string, args, env []string) error {
	if env == nil {
		env = os.Environ()
	}
	err := syscall.Exec(exe, append([]string{exe}, args...), env)
	return &os.PathError{Op: "exec", Path: exe, Err: err}
}

// sameVariable compares two names of environment variables.
func sameVariable(a, b string) bool { return a == b }
