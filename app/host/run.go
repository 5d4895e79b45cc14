package host

import (
	"context"
	"fmt"
	"io"
	"os"

	"collet/app/memory"
)

// exitUsage is the exit code of a start that could not begin, as in most programs for an invalid command line.
const exitUsage = 2

// Options are the options of one start. A zero value means the value of the settings, else the default. The help texts of the flags
// of the same names describe each.
type Options struct {
	Server           string
	Tls              bool
	TlsCa            string
	TlsName          string
	Proxy            string
	ProxyOnly        bool
	Release          []string
	Channel          string
	TrustedRoot      string
	Bandwidth        string
	Beacon           string
	Dir              string
	UserWritablePath string
	Verify           bool
	Offline          bool
	PlayIncomplete   bool
	Unblock          bool

	Generation  string // auto, c1, g1, g2a or g2b
	Trust       string
	Compat      string
	Target      string
	Kind        string // module or program
	RuntimeName string

	ClientLibPath                 string
	ClientLibCompatibilityVersion string
	ForceEmbeddedRuntime          bool
	DeepLinkUri                   string

	RemoteLauncher string // not empty: no start of a game; this program becomes a device of the controller at this address
	DeviceName     string
	Dialect        string

	Headless bool
	JSON     bool
	Run      bool

	Lang     string
	LogLevel string // debug, info, warn or error

	Adopt string // not empty: no start of a game; this folder, which holds the game already, becomes an install
	Yes   bool   // with Adopt: do not ask

	Control    string // with Trial: the control pipe of the sponsor, the program that tries this one
	Relaunched int    // number of relaunches in a row before this start
	ShowCrash  string // how the game ended in the process before this one
	WentBack   bool   // the process before this one put the last proven set back
	KeepHost   bool   // the process before this one tried a newer version of this program, which failed
	Trial      string // the path that this program will have after a successful trial; not empty: this is its trial

	Command []string // this start's own command line, for relaunches and trials

	Args []string // of the game
}

// Run is one complete start. code is the exit code: one of update.Ends, or 2. again is set when the caller has to start it in place of
// exiting with code. The end of ctx is the system's request to end.
func Run(ctx context.Context, opt Options, stdout, stderr io.Writer) (code int, again *Relaunch) {
	if opt.Trial == "" {
		return runStart(ctx, opt, nil, stdout, stderr)
	}
	trial, ctx, err := joinTrial(ctx, opt.Control)
	if err != nil {
		fmt.Fprintf(stderr, "collet-client: %v\n", err)
		return exitUsage, nil
	}
	if code, again = runStart(ctx, opt, trial, stdout, stderr); again != nil { // the sponsor relaunches for both processes
		trial.send(trialWord{Again: &againWord{Args: again.args}})
		return 0, nil
	}
	return code, nil
}

// runStart is Run; trial is the connection to the sponsor, or nil.
func runStart(ctx context.Context, opt Options, trial *sponsored, stdout, stderr io.Writer) (code int, again *Relaunch) {
	collector := memory.Pause()
	defer collector.Close()
	h, err := newHost(opt)
	h.collector = collector
	defer func() {
		if err := h.close(); err != nil {
			fmt.Fprintf(stderr, "collet-client: %v\n", err)
		}
	}()
	if err != nil {
		return h.refuse(ctx, err, stderr), nil
	}
	if err := h.logs.Err(); err != nil {
		fmt.Fprintf(stderr, "collet-client: the log %s can't be written: %v\nThe game starts without it, and the log goes on once it can be.\n", h.logs.Path(), err)
	}
	h.renewal.sponsored = trial
	if opt.RemoteLauncher != "" {
		return h.device(ctx, stdout, stderr), nil
	}
	if opt.Adopt != "" {
		return h.adopt(ctx, os.Stdin, stdout, stderr)
	}
	if opt.Headless {
		return h.startHeadless(ctx, stdout, stderr)
	}
	return h.startWindowed(ctx, stderr)
}
