package platform

import (
	"os"
	"strings"
)

// Relaunch starts exe beside this process, with the same standard streams: Windows can't replace a running program. args
// are without the name of the program; env nil is the environment of this process. When it returns nil the caller gives
// up its locks and exits at once; the new process has to wait for those locks.
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
