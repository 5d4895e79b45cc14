// Command collet-client is the host: the program that a player double-clicks, which keeps the game's module and packs
// current and runs the module in a process of its own.
//
// One executable plays three roles, chosen by --role and otherwise the same program:
//
//	host      locks the install, recovers it, shows the splash, updates, starts a child, decides what its end means
//	runtime   maps one native module, reports its metadata, runs it on the main thread when told to
//	embedded  the same with the client that is linked into this program
//	probe     says who it is and ends: so a newer version of the program is asked before it may replace this one
//
// A host with --trial is such a newer version, started by the one before it: see host_trial.go.
//
// With --remote-launcher the host is a device of a desk instead: it takes a working copy and runs its module in the same way.
//
// The host never loads native code itself, so a module can neither crash it nor keep an old copy of itself in memory:
// a new module is a new child under the same host process. When the game shows itself the host ends its window and stays
// as a plain supervisor; where it needs a window again it starts itself anew in place.
//
// Exit codes are those of update.Ends, and 2 for a command line that makes no sense.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"

	"collet/platform"
	"collet/platform/text"
)

// The main goroutine stays on the main thread: windows and modules insist on it.
func init() { runtime.LockOSThread() }

func main() {
	code, again := run(os.Args[1:], os.Stdout, os.Stderr)
	if again != nil {
		code = again.relaunch(os.Stderr)
	}
	os.Exit(code)
}

// run is the program without its exit. again is set when this program has to be started anew in this place. All output is made
// harmless on its way: much of it is foreign text.
func run(args []string, stdout, stderr io.Writer) (code int, again *relaunch) {
	stdout, stderr = text.NewWriter(stdout), text.NewWriter(stderr)
	f, err := parseFlags(args, stdout, stderr)
	var ended stop
	if errors.As(err, &ended) && ended.why == nil {
		return ended.code, nil
	}
	if err != nil && isUnattended(args) {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
		return exitUsage, nil
	}
	ctx, cancel := signal.NotifyContext(context.Background(), platform.EndSignals()...)
	defer cancel()
	if err != nil {
		return refuseUsage(ctx, err, stderr), nil
	}
	if f.Role != "host" {
		return runChild(ctx, f, stderr), nil
	}
	defer platform.OnSessionEnd(cancel)()
	var trial *sponsored
	if f.Trial != "" {
		if trial, ctx, err = joinTrial(ctx, f.Control); err != nil {
			fmt.Fprintf(stderr, "collet-client: %v\n", err)
			return exitUsage, nil
		}
	}
	code, again = runHost(ctx, f, args, trial, stdout, stderr)
	if trial != nil && again != nil { // who started this one is still there, and takes the place of both
		trial.say(trialWord{Again: &againWord{Args: again.args}})
		return 0, nil
	}
	return code, again
}

// runHost is a host from its beginning to its end.
func runHost(ctx context.Context, f flags, args []string, trial *sponsored, stdout, stderr io.Writer) (code int, again *relaunch) {
	defer startFast()()
	h, err := newHost(f)
	defer func() {
		if err := h.close(); err != nil {
			fmt.Fprintf(stderr, "collet-client: %v\n", err)
		}
	}()
	if err != nil {
		return h.refuse(ctx, err, stderr), nil
	}
	if err := h.logs.fault(); err != nil {
		fmt.Fprintf(stderr, "collet-client: the log %s can't be written: %v\nThe game starts without it, and the log goes on once it can be.\n", h.logs.path(), err)
	}
	h.renewal.sponsored = trial
	if f.RemoteLauncher != "" {
		return h.device(ctx, stdout, stderr), nil
	}
	if f.Headless {
		return h.headless(ctx, args, stdout, stderr)
	}
	return h.windowed(ctx, args, stderr)
}
