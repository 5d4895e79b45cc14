package supervise_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"collet/app/supervise"
	"collet/platform"
	"collet/runtime/abi"
)

func TestClassify(t *testing.T) {
	signal := platform.ProcessEnd{Code: -1, Signal: "SIGSEGV", Meaning: "segmentation fault"}
	asked := platform.ProcessEnd{Code: -1, Signal: "SIGTERM", Meaning: "terminated", Asked: true}
	killed := platform.ProcessEnd{Code: -1, Signal: "SIGKILL", Meaning: "killed", Killed: true}
	code := func(n int) platform.ProcessEnd { return platform.ProcessEnd{Code: n} }
	served := code(supervise.ExitServed)
	result := func(kind abi.ResultKind, success bool) *abi.Result { return &abi.Result{Kind: kind, Success: success} }
	overdue := &supervise.OverdueError{What: "end", Limit: 5 * time.Second}
	broken := &supervise.ControlError{Fault: supervise.Malformed, Line: `"x"`, Err: errors.New("no")}

	tests := []struct {
		name string
		exit supervise.Exit
		// The expected end of an unproven module, and of one proven by its run time or by ready.
		early, proven supervise.End
		want          string
	}{
		{"shutdown", supervise.Exit{ProcessEnd: served, Loaded: true, Result: result(abi.Shutdown, true)},
			supervise.CleanShutdown, supervise.CleanShutdown, "shut down"},
		{"shutdown without success", supervise.Exit{ProcessEnd: served, Loaded: true, Result: result(abi.Shutdown, false)},
			supervise.Unsuccessful, supervise.Unsuccessful, "shut down without success"},
		{"reload", supervise.Exit{ProcessEnd: served, Loaded: true, Result: result(abi.ReloadRequested, false)},
			supervise.Reload, supervise.Reload, "asked for a reload"},
		{"fatal", supervise.Exit{ProcessEnd: served, Loaded: true, Result: result(abi.FatalError, false)},
			supervise.FailedStart, supervise.Fatal, "reported a fatal error"},
		{"crash while unloading", supervise.Exit{ProcessEnd: signal, Loaded: true, Result: result(abi.Shutdown, true)},
			supervise.CleanShutdown, supervise.CleanShutdown, "shut down, then ended by signal SIGSEGV (segmentation fault)"},
		{"hang while unloading", supervise.Exit{ProcessEnd: killed, Loaded: true, Result: result(abi.ReloadRequested, true), Fault: overdue},
			supervise.Reload, supervise.Reload, "asked for a reload, then did not end within 5s and was stopped"},
		{"signal", supervise.Exit{ProcessEnd: signal, Loaded: true},
			supervise.FailedStart, supervise.Crash, "ended by signal SIGSEGV (segmentation fault)"},
		{"code", supervise.Exit{ProcessEnd: code(3), Loaded: true},
			supervise.FailedStart, supervise.Crash, "exited with code 3 without reporting a result"},
		{"exit(0) by the module", supervise.Exit{ProcessEnd: code(0), Loaded: true},
			supervise.FailedStart, supervise.Crash, "exited with code 0 without reporting a result"},
		{"unknown end", supervise.Exit{ProcessEnd: platform.ProcessEnd{Code: -1, Err: errors.New("no child")}, Loaded: true},
			supervise.FailedStart, supervise.Crash, "ended in an unknown way (no child)"},
		{"invalid result", supervise.Exit{ProcessEnd: served, Loaded: true, ModuleFault: "kind 7"},
			supervise.FailedStart, supervise.Crash, "ended with an invalid result: kind 7"},
		{"invalid result, then killed", supervise.Exit{ProcessEnd: killed, Loaded: true, ModuleFault: "kind 7"},
			supervise.FailedStart, supervise.Crash, "ended with an invalid result: kind 7"},
		{"broken protocol", supervise.Exit{ProcessEnd: killed, Loaded: true, Fault: broken},
			supervise.FailedStart, supervise.Crash, `broke the control protocol and was stopped: malformed message "x": no`},
		{"load failed", supervise.Exit{ProcessEnd: code(supervise.ExitLoadFailed), Load: &supervise.LoadError{Stage: "open", Text: "gone"}},
			supervise.LoadFailed, supervise.LoadFailed, "could not load the game: open: gone"},
		{"load failed, then a crash", supervise.Exit{ProcessEnd: signal, Load: &supervise.LoadError{Stage: "open", Text: "gone"}},
			supervise.LoadFailed, supervise.LoadFailed,
			"could not load the game: open: gone, then ended by signal SIGSEGV (segmentation fault)"},
		{"crash while loading", supervise.Exit{ProcessEnd: signal},
			supervise.LoadFailed, supervise.LoadFailed, "ended by signal SIGSEGV (segmentation fault) while it loaded the game"},
		{"hang while loading", supervise.Exit{ProcessEnd: killed, Fault: &supervise.OverdueError{What: "load", Limit: time.Second}},
			supervise.LoadFailed, supervise.LoadFailed, "did not load within 1s and was stopped"},
		{"killed while loading", supervise.Exit{ProcessEnd: killed}, supervise.Killed, supervise.Killed, "was stopped"},
		{"killed while running", supervise.Exit{ProcessEnd: killed, Loaded: true}, supervise.Killed, supervise.Killed, "was stopped"},
		{"asked to end", supervise.Exit{ProcessEnd: asked, Loaded: true},
			supervise.Killed, supervise.Killed, "ended by signal SIGTERM (terminated)"},
		{"left", supervise.Exit{ProcessEnd: served, Loaded: true, Left: true},
			supervise.Left, supervise.Left, "left before it was run"},
		{"left by force", supervise.Exit{ProcessEnd: killed, Left: true},
			supervise.Left, supervise.Left, "left before it was run"},
		{"left with a crash", supervise.Exit{ProcessEnd: signal, Loaded: true, Left: true},
			supervise.Left, supervise.Left, "ended by signal SIGSEGV (segmentation fault)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, is := range []struct {
				ready bool
				ran   time.Duration
				want  supervise.End
			}{
				{false, 0, test.early},
				{false, supervise.ProvenAfter - 1, test.early},
				{false, supervise.ProvenAfter, test.proven},
				{true, 0, test.proven},
			} {
				if got := supervise.Classify(test.exit, is.ready, is.ran); got != is.want {
					t.Errorf("ready %t, ran %s: %s, want %s", is.ready, is.ran, got, is.want)
				}
			}
			if got := test.exit.String(); got != test.want {
				t.Errorf("described as %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatEndsMean(t *testing.T) {
	tests := []struct {
		end            supervise.End
		number         int
		counts, proves bool
	}{
		{0, 0, false, false},
		{supervise.CleanShutdown, 1, false, true},
		{supervise.Reload, 2, false, false},
		{supervise.Fatal, 3, false, false},
		{supervise.Crash, 4, false, false},
		{supervise.FailedStart, 5, true, false},
		{supervise.LoadFailed, 6, true, false},
		{supervise.Killed, 7, false, false},
		{supervise.Left, 8, false, false},
		{supervise.Unsuccessful, 9, false, false},
	}
	names := map[string]bool{}
	for _, test := range tests {
		if int(test.end) != test.number || test.end.Counts() != test.counts || supervise.Proven(test.end, false, 0) != test.proves {
			t.Errorf("%d %s: counts %t, proves %t", test.end, test.end, test.end.Counts(), supervise.Proven(test.end, false, 0))
		}
		if !supervise.Proven(test.end, true, 0) || !supervise.Proven(test.end, false, supervise.ProvenAfter) {
			t.Errorf("%s: ready or 30 s do not prove", test.end)
		}
		names[test.end.String()] = true
	}
	if len(names) != len(tests) || supervise.End(200).String() != "unknown" {
		t.Errorf("names: %v", names)
	}
}

// TestExitCodesAreTheirOwn checks that the children's codes differ from those of the host, of the Go runtime, and of
// shells.
func TestExitCodesAreTheirOwn(t *testing.T) {
	seen := map[int]bool{}
	for _, code := range []int{
		supervise.ExitServed, supervise.ExitLoadFailed, supervise.ExitHostGone, supervise.ExitProtocol,
		supervise.ExitNoControl, supervise.ExitCancelled,
	} {
		if code <= 40 || code >= 126 || seen[code] {
			t.Errorf("code %d", code)
		}
		seen[code] = true
	}
}

func TestErrorsSayWhatToDoWith(t *testing.T) {
	cause := errors.New("cause")
	broken := &supervise.ControlError{Fault: supervise.Closed, Err: cause}
	if !errors.Is(broken, cause) || broken.Error() != "control pipe closed: cause" {
		t.Errorf("got %v", broken)
	}
	gone := &supervise.ExitError{Exit: supervise.Exit{ProcessEnd: platform.ProcessEnd{Code: 3}, Loaded: true}}
	if !strings.HasPrefix(gone.Error(), "game process exited with code 3") {
		t.Errorf("got %v", gone)
	}
}
