package host

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"collet/platform"
)

// Relaunch is the command line with which this program is started anew, because a window loop can run only once in a process.
type Relaunch struct {
	exe  string
	args []string
}

// Start replaces this process. It returns the exit code if that fails, or if the system starts a second process and this one has to
// end.
func (r *Relaunch) Start(stderr io.Writer) int {
	if err := platform.Relaunch(r.exe, r.args, nil); err != nil {
		fmt.Fprintf(stderr, "collet-client: relaunch: %v\n", err)
		return 1
	}
	return 0
}

// relaunchFlags are the flags that a relaunch removes and sets again. ClientLibPath is one of them because a game that asks for a reload names the next
// module.
var relaunchFlags = []string{"--relaunched", "--show-crash", "--went-back", "--keep-host", "--trial", "--control", "--ClientLibPath", "--adopt"}

// oneStartFlags are the switches of one start only; relaunches drop them.
var oneStartFlags = []string{"--unblock", "--verify"}

// relaunchState is the state that a relaunch passes to the next start.
type relaunchState struct {
	count  int    // of relaunches in a row
	crash  string // how the game ended; empty for a reload
	back   bool   // the last proven set was put back
	module string // the next module; empty for the live one
	keep   bool   // do not update this program
}

// relaunchArgs is the next start's arguments: this start's, those of next, and the game's.
func relaunchArgs(args []string, next relaunchState) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	var kept []string
	for i := 0; i < end; i++ {
		name, _, joined := strings.Cut(args[i], "=")
		if slices.Contains(oneStartFlags, name) {
			continue
		}
		if !slices.Contains(relaunchFlags, name) {
			kept = append(kept, args[i])
		} else if !joined {
			i++ // its value stands in the next argument
		}
	}
	kept = append(kept, "--relaunched="+strconv.Itoa(next.count))
	if next.crash != "" {
		kept = append(kept, "--show-crash="+next.crash)
	}
	if next.back {
		kept = append(kept, "--went-back=true")
	}
	if next.keep {
		kept = append(kept, "--keep-host=true")
	}
	if next.module != "" {
		kept = append(kept, "--ClientLibPath="+next.module)
	}
	return append(kept, args[end:]...)
}
