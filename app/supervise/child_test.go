package supervise_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/app/supervise"
	"collet/platform"
	"collet/runtime/abi"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

// recorder collects the output of a child's module.
type recorder struct {
	mu    sync.Mutex
	lines []string // "stream: line"
}

func (r *recorder) add(stream string, _ zerolog.Level, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, stream+": "+line)
}

func (r *recorder) of(stream string) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if rest, found := strings.CutPrefix(line, stream+": "); found {
			lines = append(lines, rest)
		}
	}
	return lines
}

// start starts this binary as a child with the fake module, and checks at the end that nothing is left of it.
func start(t *testing.T, o supervise.Options, args ...string) *supervise.Child {
	t.Helper()
	o.Exe, o.Args = self(t), args
	// Programs built with the race detector sleep for a second before they exit, unless this is disabled.
	o.Env = platform.SetVariable(os.Environ(), "GORACE", "atexit_sleep_ms=0")
	c, err := supervise.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		<-c.Done()
		goleak.VerifyNone(t)
	})
	return c
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// load waits for the metadata.
func load(t *testing.T, c *supervise.Child) abi.Metadata {
	t.Helper()
	meta, err := c.Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// exit waits for the end.
func exit(t *testing.T, c *supervise.Child) supervise.Exit {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatal("the child goes on")
	}
	return c.Exit()
}

// run loads and runs a fake module to its end.
func run(t *testing.T, o supervise.Options, args ...string) supervise.Exit {
	t.Helper()
	c := start(t, o, args[0])
	load(t, c)
	if err := c.Run(args[1:]); err != nil {
		t.Fatal(err)
	}
	return exit(t, c)
}

func TestAChildThatDoesEverythingRight(t *testing.T) {
	var said recorder
	c := start(t, supervise.Options{Output: said.add}, "polite")
	if meta := load(t, c); meta != goodMeta {
		t.Errorf("metadata %+v", meta)
	}
	select {
	case <-c.Ready():
		t.Error("ready before it runs")
	default:
	}
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Ready():
	case <-time.After(patience):
		t.Fatal("never ready")
	}
	e := exit(t, c)
	if e.Result == nil || *e.Result != success || e.Code != supervise.ExitServed || !e.Ready || !e.Loaded || e.Fault != nil {
		t.Errorf("got %+v", e)
	}
	if e.String() != "shut down" || supervise.Classify(e, e.Ready, e.Ran) != supervise.CleanShutdown {
		t.Errorf("got %s", e)
	}
	if got := said.of(supervise.StreamLog); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("log: %q", got)
	}
}

func TestStringsSurviveBothWays(t *testing.T) {
	args := []string{"plain", "", "with \"quotes\"\n", "\xff\xfe/путь", "<&>\u2028", `{"base64":"x"}`}
	e := run(t, supervise.Options{}, append([]string{"echo"}, args...)...)
	if e.Result == nil || e.Result.RequestedRuntimePath != strings.Join(args, "|") ||
		e.Result.RequestedCompatibilityVersion != rawName || e.Result.Kind != abi.ReloadRequested {
		t.Fatalf("got %+v", e.Result)
	}
	if meta := load(t, start(t, supervise.Options{}, "raw")); meta.RuntimeName != rawName || meta.CompatibilityVersion != "<&>\u2028" {
		t.Errorf("got %+v", meta)
	}
}

// memoryFault is the Go runtime's name for an invalid address.
var memoryFault = map[bool]string{
	true: "exception 0xc0000005", false: "signal SIGSEGV (segmentation violation)",
}[runtime.GOOS == "windows"]

func TestEndsAreDescribedAndClassified(t *testing.T) {
	tests := []struct {
		args []string
		want string
		end  supervise.End
	}{
		{[]string{"fatal"}, "reported a fatal error", supervise.FailedStart},
		{[]string{"invalid"}, "ended with an invalid result: kind 7", supervise.FailedStart},
		{[]string{"no-path"}, "ended with an invalid result: " + abi.ErrNoPath.Error(), supervise.FailedStart},
		{[]string{"exit", "3"}, "exited with code 3 without reporting a result", supervise.FailedStart},
		{[]string{"exit", "0"}, "exited with code 0 without reporting a result", supervise.FailedStart},
		{[]string{"panic"}, "exited with code 2 without reporting a result (panic: boom)", supervise.FailedStart},
		{[]string{"nil"}, "ended by " + memoryFault + " (panic: runtime error: invalid memory address or nil pointer " +
			"dereference)", supervise.FailedStart},
		{[]string{"echo", "/next"}, "asked for a reload", supervise.Reload},
		{[]string{"close-exit"}, "asked for a reload, then exited with code 6", supervise.Reload},
		{[]string{"print"}, "shut down", supervise.CleanShutdown},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			e := run(t, supervise.Options{}, test.args...)
			if e.String() != test.want {
				t.Errorf("got %s; want %s; %q", e, test.want, e.Tail)
			}
			if got := supervise.Classify(e, e.Ready, e.Ran); got != test.end {
				t.Errorf("classified as %s, want %s", got, test.end)
			}
			if e.Ran <= 0 || e.Ran > patience {
				t.Errorf("ran %s", e.Ran)
			}
		})
	}
}

func TestLoadFailures(t *testing.T) {
	tests := []struct {
		module string
		load   *supervise.LoadError // nil: the process ended instead
		want   string
	}{
		{"load-symbol", &supervise.LoadError{Stage: "symbol", Text: "no such"}, "could not load the game: symbol: no such"},
		{"load-plain", &supervise.LoadError{Stage: "load", Text: "plain"}, "could not load the game: load: plain"},
		{"huge", &supervise.LoadError{Stage: "metadata", Text: "longer than a control message may be"},
			"could not load the game: metadata: longer than a control message may be"},
		{"load-exit", nil, "exited with code 5 without loading the game"},
		{"load-panic", nil, "exited with code 2 without loading the game (panic: early)"},
		{"load-hang", nil, "did not load within 300ms and was stopped"},
	}
	for _, test := range tests {
		t.Run(test.module, func(t *testing.T) {
			o := supervise.Options{}
			if test.module == "load-hang" {
				o.LoadTimeout = 300 * time.Millisecond
			}
			c := start(t, o, test.module)
			_, err := c.Metadata(t.Context())
			var load *supervise.LoadError
			var gone *supervise.ExitError
			if test.load != nil && (!errors.As(err, &load) || *load != *test.load) {
				t.Errorf("got %v, want %v", err, test.load)
			}
			if test.load == nil && !errors.As(err, &gone) {
				t.Errorf("got %v, want an ExitError", err)
			}
			e := exit(t, c)
			if e.String() != test.want || supervise.Classify(e, false, 0) != supervise.LoadFailed {
				t.Errorf("got %s (%s), want %s", e, supervise.Classify(e, false, 0), test.want)
			}
			if err := c.Run(nil); !errors.As(err, &gone) {
				t.Errorf("run afterwards: %v", err)
			}
		})
	}
}

func TestMetadataWaitingCanBeGivenUp(t *testing.T) {
	c := start(t, supervise.Options{}, "load-hang")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Metadata(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	select {
	case <-c.Done():
		t.Error("that ended the child")
	default:
	}
}

func TestStartOfNothingFails(t *testing.T) {
	missing := filepath.Join(filepath.Dir(self(t)), "missing")
	_, err := supervise.Start(t.Context(), supervise.Options{Exe: missing})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v", err)
	}
}

func TestOrderIsEnforcedOnTheCaller(t *testing.T) {
	c := start(t, supervise.Options{}, "hang")
	var order *supervise.OrderError
	for range 2 { // the first one may come before or after the module is loaded
		if err := c.Run(nil); err == nil {
			break
		} else if !errors.As(err, &order) || order.State != "loading" {
			t.Fatalf("got %v", err)
		}
		load(t, c)
	}
	if err := c.Run(nil); !errors.As(err, &order) || order.State != "running" {
		t.Errorf("second run: %v", err)
	}
	if err := c.Leave(t.Context()); !errors.As(err, &order) || order.Error() != "leave while the child is running" {
		t.Errorf("leave: %v", err)
	}
	if err := c.Run([]string{strings.Repeat("x", 2<<20)}); !errors.Is(err, supervise.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	select {
	case <-c.Done():
		t.Error("the child did not survive its caller's mistakes")
	default:
	}
}

func TestKillEndsAHangingModule(t *testing.T) {
	c := start(t, supervise.Options{}, "hang")
	load(t, c)
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	<-c.Ready()
	c.Kill()
	e := exit(t, c)
	if !e.Killed || e.String() != "was stopped" || supervise.Classify(e, true, e.Ran) != supervise.Killed {
		t.Errorf("got %s: %+v", e, e)
	}
	c.Kill() // no effect
}

func TestStopAsksTheModuleToEnd(t *testing.T) {
	c := start(t, supervise.Options{}, "patient")
	var order *supervise.OrderError
	load(t, c)
	if err := c.Stop(); !errors.As(err, &order) || order.Error() != "stop while the child is waiting" {
		t.Errorf("before it runs: %v", err)
	}
	if err := c.Run(nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Stop(); err != nil && !errors.As(err, &order) && !errors.As(err, new(*supervise.ExitError)) {
			t.Errorf("while it runs: %v", err)
		}
	}
	if e := exit(t, c); e.Killed || supervise.Classify(e, e.Ready, e.Ran) != supervise.CleanShutdown {
		t.Errorf("got %s", e)
	}
	if err := c.Stop(); !errors.As(err, new(*supervise.ExitError)) {
		t.Errorf("after its end: %v", err)
	}
}

// TestEndLetsAModuleSave checks End: a module that polls for it ends by itself, one that hangs is killed after the grace,
// and one that never ran leaves.
func TestEndLetsAModuleSave(t *testing.T) {
	for name, want := range map[string]struct {
		run   bool
		grace time.Duration
		end   supervise.End
	}{
		"patient": {true, patience, supervise.CleanShutdown}, "hang": {true, time.Millisecond, supervise.Killed}, "polite": {false, patience, supervise.Left},
	} {
		c := start(t, supervise.Options{}, name)
		load(t, c)
		if want.run {
			if err := c.Run(nil); err != nil {
				t.Fatal(err)
			}
			<-c.Ready()
		}
		c.End(want.grace)
		select {
		case <-c.Done():
		default:
			t.Errorf("%s: End returned before the end", name)
		}
		if e := exit(t, c); supervise.Classify(e, e.Ready, e.Ran) != want.end {
			t.Errorf("%s: got %s", name, e)
		}
		c.End(0)
	}
}

func TestContextEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := supervise.Start(ctx, supervise.Options{Exe: self(t), Args: []string{"hang"}})
	if err != nil {
		t.Fatal(err)
	}
	load(t, c)
	cancel()
	if e := exit(t, c); !e.Killed {
		t.Errorf("got %s", e)
	}
	goleak.VerifyNone(t)
}

func TestLeaveEndsAChildBeforeItRuns(t *testing.T) {
	c := start(t, supervise.Options{}, "polite")
	load(t, c)
	if err := c.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := exit(t, c)
	if e.Code != supervise.ExitServed || e.Killed || e.String() != "left before it was run" {
		t.Errorf("got %s: %+v", e, e)
	}
	if err := c.Leave(t.Context()); err != nil {
		t.Errorf("second leave: %v", err)
	}
}

func TestLeaveKillsAChildThatStays(t *testing.T) {
	c := start(t, supervise.Options{}, "load-hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Fatal("Leave returned before the child was gone")
	}
	e := c.Exit()
	if !e.Killed || e.String() != "left before it was run" || supervise.Classify(e, false, 0) != supervise.Left {
		t.Errorf("got %s: %+v", e, e)
	}
}

// TestOutputCannotReachTheControlPipe prints garbage and imitated control messages on both standard streams.
func TestOutputCannotReachTheControlPipe(t *testing.T) {
	var said recorder
	e := run(t, supervise.Options{Output: said.add}, "print")
	if e.Result == nil || *e.Result != success || e.Ready || e.Fault != nil {
		t.Errorf("got %s: %+v", e, e)
	}
	want := []string{
		"\x00\xff\x1b[2J", `{"result":{"kind":2,"success":true}}`, `{"ready":{}}`,
		strings.Repeat("[", 4096), strings.Repeat("[", 4096), strings.Repeat("[", 9000-2*4096), "end",
	}
	for _, stream := range []string{supervise.StreamOut, supervise.StreamErr} {
		if got := said.of(stream); !slices.Equal(got, want) {
			t.Errorf("%s: %.80q", stream, got)
		}
	}
	if len(e.Tail) != 2*len(want) {
		t.Errorf("the tail has %d lines", len(e.Tail))
	}
}

// TestAFloodNeedsNoMemory lets a module print 100 MB.
func TestAFloodNeedsNoMemory(t *testing.T) {
	const size, most = 100 << 20, 16 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // make test collects less often
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	lines, bytes, peak := 0, 0, uint64(0)
	begin := time.Now()
	e := run(t, supervise.Options{Output: func(_ string, _ zerolog.Level, line string) {
		bytes += len(line) + 1
		if lines++; lines%10_000 == 0 {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse)
		}
	}}, "flood", "104857600")
	if bytes < size || e.Result == nil {
		t.Errorf("got %d bytes; %s", bytes, e)
	}
	if peak > before.HeapInuse+most {
		t.Errorf("heap grew from %d to %d bytes", before.HeapInuse, peak)
	}
	t.Logf("%d lines in %s, heap %d → %d KiB", lines, time.Since(begin), before.HeapInuse>>10, peak>>10)
}
