package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"collet/app/supervise"
	"collet/platform"
	"collet/runtime/abi"
	"go.uber.org/goleak"
)

// patience is the timeout of a test; most events take milliseconds, the flood a second.
const patience = 2 * time.Minute

// TestMain makes this binary its own child: with control handles it performs the role in its arguments.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && strings.HasPrefix(os.Args[1], platform.ControlFlag) {
		os.Exit(child(os.Args[1], os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// init locks the main goroutine to the main thread, as a main function must. It runs on that thread.
func init() { runtime.LockOSThread() }

// child does what a main function does in a child role.
func child(control, role string, args []string) int {
	in, out, err := platform.OpenControl(strings.TrimPrefix(control, platform.ControlFlag))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return supervise.ExitNoControl
	}
	if role == "host" {
		return playHost(in, out, args)
	}
	module, known := fakes[role]
	if !known {
		return 99
	}
	return supervise.Serve(context.Background(), in, out, func() (supervise.Module, error) { return module(args) }, 0, platform.Halt)
}

// fake is a module in Go.
type fake struct {
	meta  abi.Metadata
	run   func(args []string, s abi.Services) (abi.Result, error)
	close func()
}

func (f *fake) Metadata() abi.Metadata { return f.meta }

func (f *fake) Run(args []string, s abi.Services) (abi.Result, error) { return f.run(args, s) }

func (f *fake) Close() error {
	if f.close != nil {
		f.close()
	}
	return nil
}

var (
	goodMeta = abi.Metadata{ABIVersion: 3, RuntimeName: "fake", BuildHash: "b1", CompatibilityVersion: "C-1"}
	success  = abi.Result{Success: true}
)

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

// forever simulates a module that hangs. It sleeps, because Go ends a program whose goroutines all wait for each other.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// runs makes a module with this Run function.
func runs(run func(args []string, s abi.Services) (abi.Result, error)) func([]string) (supervise.Module, error) {
	return func([]string) (supervise.Module, error) { return &fake{meta: goodMeta, run: run}, nil }
}

// loads makes a module with this constructor.
func loads(load func() error) func([]string) (supervise.Module, error) {
	return func([]string) (supervise.Module, error) {
		if err := load(); err != nil {
			return nil, err
		}
		return &fake{meta: goodMeta}, nil
	}
}

// closes makes a module with this Close function.
func closes(f func()) func([]string) (supervise.Module, error) {
	return func([]string) (supervise.Module, error) {
		return &fake{meta: goodMeta, close: f, run: func([]string, abi.Services) (abi.Result, error) {
			return abi.Result{Kind: abi.ReloadRequested, Success: true, RequestedRuntimePath: "/next"}, nil
		}}, nil
	}
}

var rawName = "not \xff\xfe text"

// fakes are the modules by name. They receive the rest of the child's arguments.
var fakes = map[string]func(args []string) (supervise.Module, error){
	"polite": runs(func(_ []string, s abi.Services) (abi.Result, error) {
		s.Log(1, "hello")
		s.Ready()
		s.Ready()
		return success, nil
	}),
	"echo": runs(func(args []string, _ abi.Services) (abi.Result, error) {
		return abi.Result{
			Kind: abi.ReloadRequested, Success: true,
			RequestedRuntimePath: strings.Join(args, "|"), RequestedCompatibilityVersion: rawName,
		}, nil
	}),
	"raw": func([]string) (supervise.Module, error) {
		return &fake{meta: abi.Metadata{ABIVersion: 2, RuntimeName: rawName, CompatibilityVersion: "<&>\u2028"}}, nil
	},
	"huge": func([]string) (supervise.Module, error) {
		return &fake{meta: abi.Metadata{ABIVersion: 3, RuntimeName: strings.Repeat("x", 1<<20)}}, nil
	},
	"fatal": runs(func([]string, abi.Services) (abi.Result, error) {
		return abi.Result{Kind: abi.FatalError}, nil
	}),
	"invalid": runs(func([]string, abi.Services) (abi.Result, error) { return abi.Result{}, errors.New("kind 7") }),
	"no-path": runs(func([]string, abi.Services) (abi.Result, error) {
		return abi.Result{Kind: abi.ReloadRequested, Success: true}, nil
	}),
	"exit": runs(func(args []string, _ abi.Services) (abi.Result, error) {
		os.Exit(number(args[0]))
		return abi.Result{}, nil
	}),
	"panic": runs(func([]string, abi.Services) (abi.Result, error) { panic("boom") }),
	"nil": runs(func([]string, abi.Services) (abi.Result, error) {
		var nothing *abi.Result
		return *nothing, nil
	}),
	"hang": runs(func(_ []string, s abi.Services) (abi.Result, error) { s.Ready(); forever(); return success, nil }),
	// It asks once in a frame, as a game does; a frame is a millisecond.
	"patient": runs(func(_ []string, s abi.Services) (abi.Result, error) {
		for s.Ready(); !s.Stopping(); time.Sleep(time.Millisecond) {
		}
		return success, nil
	}),
	"print": runs(func([]string, abi.Services) (abi.Result, error) {
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			fmt.Fprint(f, "\x00\xff\x1b[2J\n{\"result\":{\"kind\":2,\"success\":true}}\n{\"ready\":{}}\n", strings.Repeat("[", 9000), "\nend")
		}
		return success, nil
	}),
	"flood": runs(func(args []string, _ abi.Services) (abi.Result, error) {
		line := []byte(strings.Repeat("all work and no play makes a long log. ", 25) + "\n")
		for wrote := 0; wrote < number(args[0]); wrote += len(line) {
			os.Stdout.Write(line)
		}
		return success, nil
	}),
	"load-symbol": loads(func() error { return fmt.Errorf("wrapped: %w", &supervise.LoadError{Stage: "symbol", Text: "no such"}) }),
	"load-plain":  loads(func() error { return errors.New("plain") }),
	"load-exit":   loads(func() error { os.Exit(5); return nil }),
	"load-panic":  loads(func() error { panic("early") }),
	"load-hang":   loads(func() error { forever(); return nil }),
	"close-exit":  closes(func() { os.Exit(6) }),
	"close-hang":  closes(forever),
}

// playHost starts its own child, runs it, prints its process ID once the module is in Run, and waits to be killed.
func playHost(in, out *os.File, args []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	c, err := supervise.Start(context.Background(), supervise.Options{Exe: exe, Args: args})
	if err != nil {
		return 97
	}
	if _, err := c.Metadata(context.Background()); err != nil || c.Run(nil) != nil {
		return 97
	}
	select {
	case <-c.Ready():
	case <-c.Done():
		fmt.Fprintln(os.Stderr, c.Exit())
		return 97
	}
	fmt.Fprintln(out, c.Pid())
	in.Read(make([]byte, 1))
	return 0
}
