//go:build unix

package platform

import (
	"os"
	"syscall"
)

// Relaunch replaces this process by exe, which keeps its number, its terminal and its standard streams: execve(2). args
// are without the name of the program; env nil is the environment of this process. It returns only an error. Children
// that StartProcess started, locks and open files end with the old program.
func Relaunch(exe string, args, env []string) error {
	if env == nil {
		env = os.Environ()
	}
	err := syscall.Exec(exe, append([]string{exe}, args...), env)
	return &os.PathError{Op: "exec", Path: exe, Err: err}
}

// sameVariable compares two names of environment variables.
func sameVariable(a, b string) bool { return a == b }
