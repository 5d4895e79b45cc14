package sample_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"collet/platform/testlevel"
	"collet/runtime/abi"
	"collet/runtime/host"
	"collet/runtime/sample"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = 60 * time.Second

// init keeps the main goroutine on the main thread, as a main that runs a module has to.
func init() { runtime.LockOSThread() }

// TestMain makes this binary its own child: started with "play" it runs a module on the main thread.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	var err error
	if madeFolder, err = os.MkdirTemp("", "collet-game-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(madeFolder)
		os.Exit(code)
	}))
}

// madeFolder is where made compiles. TestMain makes and removes it.
var madeFolder string

// madeOptions are those of made, but for where it goes.
var madeOptions = sample.Options{Release: 7, Compatibility: "test-7", BuildHash: "0123abcd"}

// made is the game, compiled once for all tests.
var made = sync.OnceValues(func() (module string, err error) {
	o := madeOptions
	o.Output = filepath.Join(madeFolder, "Lathe.module")
	return o.Output, sample.Build(context.Background(), o)
})

// mark begins the lines that the child itself writes to its standard error.
const mark = "host: "

// report is one line of the child.
type report struct {
	Ready  bool        `json:",omitempty"`
	Log    string      `json:",omitempty"`
	Result *abi.Result `json:",omitempty"`
	Fault  string      `json:",omitempty"`
}

// play runs a module and reports what it does.
func play(module string, args []string) int {
	var mu sync.Mutex
	say := func(r report) {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "%s%s\n", mark, line)
	}
	m, err := host.Load(module)
	if err != nil {
		say(report{Fault: err.Error()})
		return 3
	}
	result, err := m.Run(append([]string{"/games/Lathe.EXE"}, args...), abi.Services{
		Ready: func() { say(report{Ready: true}) },
		Log:   func(level int32, text string) { say(report{Log: fmt.Sprintf("%d %s", level, text)}) },
	})
	if err = errors.Join(err, m.Close()); err != nil {
		say(report{Fault: err.Error()})
		return 4
	}
	say(report{Result: &result})
	return 0
}

// outcome is what a child did.
type outcome struct {
	printed string // on standard output
	logs    []string
	ready   int
	result  *abi.Result
	fault   string
	code    int // -1: by a signal
}

// command prepares a child that plays.
func command(ctx context.Context, t *testing.T, module string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{"play", module}, args...)...)
	cmd.Env = quick(os.Environ())
	return cmd
}

// quick keeps the race detector from sleeping for a second when a child ends.
func quick(env []string) []string { return append(env, "GORACE=atexit_sleep_ms=0") }

// run plays without a display to its end, or for at most so long.
func run(t *testing.T, limit time.Duration, module string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := command(ctx, t, module, args...)
	cmd.Env = quick(withoutDisplay())
	var out, reports bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &reports
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{printed: out.String(), code: cmd.ProcessState.ExitCode()}
	o.take(t, reports.String())
	return o
}

// inside plays in this process, what can't do harm to it, and as fast as can be.
func inside(t *testing.T, m *host.Module, args ...string) (o outcome) {
	t.Helper()
	result, err := m.Run(append([]string{"/games/Lathe.EXE"}, args...), abi.Services{
		Ready: func() { o.ready++ },
		Log:   func(level int32, text string) { o.logs = append(o.logs, fmt.Sprintf("%d %s", level, text)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.result = &result
	return o
}

// load loads the game into this process.
func load(t *testing.T) *host.Module {
	t.Helper()
	m, err := host.Load(build(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// take reads the reports among what a child wrote.
func (o *outcome) take(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		said, is := strings.CutPrefix(line, mark)
		if !is {
			continue // a library has something to say
		}
		var r report
		if err := json.Unmarshal([]byte(said), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case r.Ready:
			o.ready++
		case r.Log != "":
			o.logs = append(o.logs, r.Log)
		case r.Result != nil:
			o.result = r.Result
		default:
			o.fault = r.Fault
		}
	}
}

// withoutDisplay is our environment without what leads to a display.
func withoutDisplay() (env []string) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "DISPLAY" && name != "WAYLAND_DISPLAY" && name != "SDL_VIDEODRIVER" {
			env = append(env, entry)
		}
	}
	return env
}

// build gives the test a game of its own, as two tests that load one file would share its variables. It skips where there is
// no compiler.
func build(t *testing.T) (module string) {
	t.Helper()
	testlevel.Slow(t)
	from, err := made()
	compiled(t, err)
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	module = filepath.Join(t.TempDir(), "Lathe.module")
	if err := os.WriteFile(module, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return module
}

func compiled(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
