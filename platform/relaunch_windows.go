package platform

import (
	"os"
	"strings"
)

// Relaunch starts exe as a second process with the same standard streams: Windows can't replace the program of a process. args are
// without the name of the program; env nil is the environment of this process. After nil the caller releases its locks and exits at
// once; the new process has to wait for those locks.
func Relaunch(exe string, args, env []string) error {
	process, err := os.StartProcess(exe, append([]string{exe}, args...), &os.ProcAttr{
		Env:   env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	return process.Release()
}

// sameVariable compares two names of environment variables, in which Windows ignores case.
func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }
