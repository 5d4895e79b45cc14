package host_test

import (
	"bytes"
	"context"
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

// TestMain makes this binary its own child: started with "child" it loads and runs a module on the main thread.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		os.Exit(child(os.Args[2], os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// child runs a module and tells each step in a line.
func child(path string, args []string) int {
	m, err := host.Load(path)
	if err != nil {
		fmt.Println("load:", err)
		return 3
	}
	fmt.Println("loaded")
	result, err := m.Run(args, abi.Services{Ready: func() { fmt.Println("ready") }})
	fmt.Println("ran:", result.Kind, err)
	fmt.Println("fault:", fault())
	return 0
}

// fault writes through a null pointer in Go. The panic can be recovered unless another signal handler was installed.
func fault() (recovered any) {
	defer func() { recovered = recover() }()
	var nowhere *int
	*nowhere = 1
	return nil
}

// end is how a child ended.
type end struct {
	said   string
	code   int  // -1: by a signal
	killed bool // by us, because it ran for longer than it was given
}

// start runs a module in a child process of this binary, for at most so long.
func start(t *testing.T, module string, limit time.Duration) end {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "child", module)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the race detector sleeps for a second otherwise
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		t.Fatal(err)
	}
	return end{out.String(), cmd.ProcessState.ExitCode(), ctx.Err() != nil}
}

// library is the file name of a module.
func library(name string) string {
	switch runtime.GOOS {
	case "windows":
		return name + ".dll"
	case "darwin":
		return name + ".dylib"
	default:
		return name + ".so"
	}
}

// fixtures compiles each faulty module once; what it gives are the bytes.
var fixtures = func() func(name string) ([]byte, error) {
	var made sync.Map
	return func(name string) ([]byte, error) {
		once, _ := made.LoadOrStore(name, sync.OnceValues(func() ([]byte, error) {
			dir, err := os.MkdirTemp("", "collet-fixture-")
			if err != nil {
				return nil, err
			}
			defer os.RemoveAll(dir)
			if err := sample.BuildFault(context.Background(), name, filepath.Join(dir, "module")); err != nil {
				return nil, err
			}
			return os.ReadFile(filepath.Join(dir, "module"))
		}))
		return once.(func() ([]byte, error))()
	}
}()

// fixture puts a faulty module into a folder of the test, or skips where there is no compiler.
func fixture(t *testing.T, name string) (path string) {
	t.Helper()
	testlevel.Slow(t)
	module, err := fixtures(name)
	compiled(t, err)
	path = filepath.Join(t.TempDir(), library(name))
	if err := os.WriteFile(path, module, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
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

// load loads a module that has to be loadable, and closes it when the test ends.
func load(t *testing.T, path string) *host.Module {
	t.Helper()
	m, err := host.Load(path)
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

// refused wants a module not to be loadable at a stage, and returns why.
func refused(t *testing.T, path string, stage host.Stage) error {
	t.Helper()
	m, err := host.Load(path)
	var failure *host.LoadError
	if m != nil || !errors.As(err, &failure) {
		t.Fatalf("loaded %v, error %v", m, err)
	}
	if failure.Stage != stage || failure.Path != path {
		t.Errorf("got %q of %q, want %q of %q: %v", failure.Stage, failure.Path, stage, path, err)
	}
	if !strings.Contains(err.Error(), ": "+string(stage)+": ") {
		t.Errorf("the stage is not in the text: %v", err)
	}
	return err
}
