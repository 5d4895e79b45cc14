package host_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/abi"
	"collet/runtime/host"
	"collet/runtime/sample"
)

// heard collects what a module says. It is safe for concurrent use.
type heard struct {
	mu    sync.Mutex
	lines []string
	ready int
}

func (h *heard) services() abi.Services {
	return abi.Services{
		Ready: func() { h.mu.Lock(); defer h.mu.Unlock(); h.ready++ },
		Log: func(level int32, text string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.lines = append(h.lines, fmt.Sprintf("%d %s", level, text))
		},
	}
}

// TestRun says of every fixture that runs what its Run gives.
func TestRun(t *testing.T) {
	success := abi.Result{Kind: abi.Shutdown, Success: true}
	tests := []struct {
		name string
		want abi.Result
		err  error
	}{
		{"echo", success, nil},
		{"old_abi", success, nil},
		{"writes_beyond", success, nil},
		{"bad_kind", abi.Result{}, abi.ErrUnknownKind},
		{"reload_without_path", abi.Result{}, abi.ErrNoPath},
		{"resized_result", abi.Result{}, abi.ErrStructSize},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := load(t, fixture(t, test.name))
			for range 3 {
				got, err := m.Run([]string{"host"}, abi.Services{})
				if got != test.want || !errors.Is(err, test.err) {
					t.Errorf("got %+v, %v; want %+v, %v", got, err, test.want, test.err)
				}
				runtime.GC() // finds what was written where it does not belong
			}
		})
	}
}

func TestArgumentsAndCallbacks(t *testing.T) {
	m := load(t, fixture(t, "echo"))
	args := []string{"/games/Lathe", "", "two words", "--x=\"quoted\"", "Привет 游戏", strings.Repeat("long ", 20_000), "/next.so"}
	var h heard
	got, err := m.Run(args, h.services())
	if err != nil {
		t.Fatal(err)
	}
	want := abi.Result{
		Kind: abi.ReloadRequested, Success: true, RequestedRuntimePath: "/next.so", RequestedCompatibilityVersion: "fixture-2",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var lines []string
	for _, arg := range args {
		lines = append(lines, "1 "+arg)
	}
	if !slices.Equal(h.lines, lines) || h.ready != 1 {
		t.Errorf("heard %d times ready and %.300q", h.ready, h.lines)
	}
}

// TestServicesMayBeMissing: a module calls them all the same.
func TestServicesMayBeMissing(t *testing.T) {
	m := load(t, fixture(t, "echo"))
	if _, err := m.Run([]string{"a", "b"}, abi.Services{}); err != nil {
		t.Error(err)
	}
}

func TestNoArgumentsAtAll(t *testing.T) {
	var h heard
	got, err := load(t, fixture(t, "echo")).Run(nil, h.services())
	if err != nil || got.Kind != abi.Shutdown || len(h.lines) != 0 || h.ready != 1 {
		t.Errorf("got %+v, %v; heard %q", got, err, h.lines)
	}
}

func TestLongMessageIsDroppedAndSaid(t *testing.T) {
	m := load(t, fixture(t, "echo"))
	var h heard
	if _, err := m.Run([]string{"host", strings.Repeat("x", abi.MaxString), "/next"}, h.services()); err != nil {
		t.Fatal(err)
	}
	if len(h.lines) != 3 || !strings.HasPrefix(h.lines[1], "3 a message of the module was dropped: ") {
		t.Errorf("heard %.300q", h.lines)
	}
}

func TestZeroByteInArgument(t *testing.T) {
	m := load(t, fixture(t, "crash_in_run"))
	if _, err := m.Run([]string{"host", "a\x00b"}, abi.Services{}); !errors.Is(err, abi.ErrZeroByte) {
		t.Errorf("got %v", err)
	}
}

// TestStringsOutliveTheModule: they are copies.
func TestStringsOutliveTheModule(t *testing.T) {
	m := load(t, fixture(t, "echo"))
	result, err := m.Run([]string{"host", "/next.so"}, abi.Services{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m.Metadata().RuntimeName != "fixture" || result.RequestedRuntimePath != "/next.so" {
		t.Errorf("after Close: %+v, %+v", m.Metadata(), result)
	}
}

func TestClosedModule(t *testing.T) {
	m := load(t, fixture(t, "echo"))
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Run(nil, abi.Services{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

// TestRunningModule: a callback can neither pull the code away from under itself nor start it a second time.
func TestRunningModule(t *testing.T) {
	m := load(t, direct(t))
	var closing, running error
	if _, err := m.Run([]string{"host"}, abi.Services{Ready: func() {
		closing = m.Close()
		_, running = m.Run(nil, abi.Services{})
	}}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(closing, host.ErrRunning) || !errors.Is(running, host.ErrRunning) {
		t.Errorf("Close: %v, Run: %v", closing, running)
	}
	if _, err := m.Run([]string{"host"}, abi.Services{}); err != nil {
		t.Errorf("Run after that: %v", err)
	}
}

// directModule says ready from the thread that called Run.
const directModule = `#include <stddef.h>
#include "client_runtime.h"
static const ColletHostServices* services;
bool Collet_SetHostServices(const ColletHostServices* offered) { services = offered; return true; }
static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    result->Success = argc == 1 && argv[1] == NULL && services->Ready(services->Context) == 1;
}
bool FO_QueryClientRuntimeExports(uint32_t version, ClientRuntimeExports* exports) {
    exports->Metadata.AbiVersion = version;
    exports->Metadata.RuntimeName = exports->Metadata.BuildHash = exports->Metadata.CompatibilityVersion = "direct";
    exports->Run = run;
    return true;
}
`

func direct(t *testing.T) (path string) {
	t.Helper()
	testlevel.Slow(t)
	path = filepath.Join(t.TempDir(), library("direct"))
	compiled(t, sample.BuildText(t.Context(), directModule, path))
	return path
}

// TestThreadOfAnEarlierRun: what it says goes nowhere, neither between the runs nor to the run that is on. The second run ends when it
// has said everything.
func TestThreadOfAnEarlierRun(t *testing.T) {
	m := load(t, fixture(t, "leaves_thread"))
	var first, second heard
	for _, h := range []*heard{&first, &second} {
		if got, err := m.Run([]string{"host"}, h.services()); err != nil || !got.Success {
			t.Fatalf("the thread was not told that its run is over: %+v, %v", got, err)
		}
	}
	if slices.Contains(first.lines, "1 from a run that is over") || first.ready != 0 {
		t.Errorf("the run that is over heard %d times ready and %q", first.ready, first.lines)
	}
	if !slices.Equal(second.lines, []string{"1 from the run that is on"}) || second.ready != 0 {
		t.Errorf("the run that is on heard %d times ready and %q", second.ready, second.lines)
	}
}

// TestTwoModules: each keeps to its own.
func TestTwoModules(t *testing.T) {
	a, b := load(t, fixture(t, "echo")), load(t, fixture(t, "echo"))
	for i, m := range []*host.Module{a, b, a} {
		var h heard
		got, err := m.Run([]string{"host", fmt.Sprint(i)}, h.services())
		if err != nil || got.RequestedRuntimePath != fmt.Sprint(i) || len(h.lines) != 2 {
			t.Errorf("run %d: %+v, %v, %q", i, got, err, h.lines)
		}
	}
}

// TestManyRuns: callbacks are made once per process; the system has a limited number.
func TestManyRuns(t *testing.T) {
	m := load(t, direct(t))
	for i := range 3000 {
		if got, err := m.Run([]string{"host"}, abi.Services{}); err != nil || !got.Success {
			t.Fatalf("run %d: %+v, %v", i, got, err)
		}
	}
}

// TestAModuleHearsThatItShouldStop asks the host in a loop, as a game does every frame.
func TestAModuleHearsThatItShouldStop(t *testing.T) {
	testlevel.Slow(t)
	path := filepath.Join(t.TempDir(), library("asking"))
	module := strings.Replace(directModule, "services->Ready(services->Context) == 1",
		"services->Version == 2; while (!services->Stopping(services->Context)) {}", 1)
	compiled(t, sample.BuildText(t.Context(), module, path))
	asked := 0
	got, err := load(t, path).Run([]string{"host"}, abi.Services{Stopping: func() bool { asked++; return asked > 9 }})
	if err != nil || !got.Success || asked != 10 {
		t.Errorf("got %+v, %v after it asked %d times", got, err, asked)
	}
}
