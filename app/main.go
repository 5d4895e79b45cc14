// Command collet-client is the host: the program that a player double-clicks, which keeps the game's module and packs
// current and runs the module in a process of its own.
//
// One executable has four roles, which --role chooses:
//
//	host      locks the install, recovers it, shows the splash, updates, starts a child, decides what its end means
//	runtime   maps one native module, reports its metadata, runs it on the main thread when told to
//	embedded  the same with the client that is linked into this program
//	probe     reports its version, target and name, and ends; a newer version is probed before it may replace this one
//
// The host is package app/host. It never loads native code itself, so a module can neither crash it nor keep an old copy of itself
// in memory. This package reads the command line, chooses the role and ends with the exit code.
//
// Exit codes are those of update.Ends, and 2 for an invalid command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"collet/app/host"
	"collet/platform"
	"collet/platform/text"
)

// The main goroutine stays on the main thread: windows and modules require it.
func init() { runtime.LockOSThread() }

func main() {
	code, again := run(os.Args[1:], os.Stdout, os.Stderr)
	if again != nil {
		code = again.Start(os.Stderr)
	}
	os.Exit(code)
}

// run is the program without its exit. again is set when the caller has to start this program anew. All output is sanitized, because
// much of it is foreign text.
func run(args []string, stdout, stderr io.Writer) (code int, again *host.Relaunch) {
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
		return host.Refuse(ctx, err, stderr), nil
	}
	if f.Role != "host" {
		return runChild(ctx, f, stderr), nil
	}
	defer platform.OnSessionEnd(cancel)()
	f.Command = args
	return host.Run(ctx, host.Options(f.start), stdout, stderr)
}

// isUnattended reports whether an invalid command line belongs to a start without a person: --headless or a child's role.
func isUnattended(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "--headless" || name == "--role"
	})
}
