//go:build unix

package supervise_test

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/app/supervise"
	"collet/platform"
	"collet/platform/testwait"
	"collet/runtime/abi"
)

// More fakes; the table is complete before TestMain runs.
var _ = func() bool {
	fakes["signal"] = runs(func(args []string, _ abi.Services) (abi.Result, error) {
		// A shell replaces the Go runtime, so that the signal has its default effect.
		return abi.Result{}, platform.Relaunch("/bin/sh", []string{"-c", "kill -" + args[0] + " $$"}, nil)
	})
	fakes["meddle"] = runs(func(args []string, s abi.Services) (abi.Result, error) {
		s.Ready()
		for left := number(args[1]); left > 0; {
			if _, err := syscall.Write(4, []byte(args[0])); err != syscall.EAGAIN {
				left--
			}
		}
		forever()
		return success, nil
	})
	fakes["close-all"] = runs(func([]string, abi.Services) (abi.Result, error) {
		for fd := 3; fd < 256; fd++ {
			syscall.Close(fd)
		}
		forever()
		return success, nil
	})
	return true
}()

func TestSignalsAreDescribed(t *testing.T) {
	tests := []struct {
		signal, want string
		end          supervise.End
	}{
		{"SEGV", "ended by signal SIGSEGV (segmentation fault)", supervise.FailedStart},
		{"KILL", "ended by signal SIGKILL (killed)", supervise.FailedStart},
		{"TERM", "ended by signal SIGTERM (terminated)", supervise.Killed},
	}
	for _, test := range tests {
		t.Run(test.signal, func(t *testing.T) {
			e := run(t, supervise.Options{}, "signal", test.signal)
			if got, _, _ := strings.Cut(e.String(), ", core written"); got != test.want || e.Fault != nil {
				t.Errorf("got %s: %+v, want %s", e, e, test.want)
			}
			if got := supervise.Classify(e, e.Ready, e.Ran); got != test.end {
				t.Errorf("classified as %s, want %s", got, test.end)
			}
		})
	}
}

// TestControlGarbageEndsTheChild has the module write into the control pipe.
func TestControlGarbageEndsTheChild(t *testing.T) {
	tests := []struct {
		name, garbage string
		times         string
		fault         supervise.ControlFault
	}{
		{"no JSON", "hello\n", "1", supervise.Malformed},
		{"empty line", "\n", "1", supervise.Malformed},
		{"nothing in it", "{}\n", "1", supervise.Malformed},
		{"two in it", `{"ready":{},"result":{"kind":0,"success":true}}` + "\n", "1", supervise.Malformed},
		{"two in a line", `{"log":{"level":1,"text":"a"}} {"log":{"level":1,"text":"a"}}` + "\n", "1", supervise.Malformed},
		{"unknown", `{"shutdown":{}}` + "\n", "1", supervise.Malformed},
		{"unknown member", `{"ready":{"now":true}}` + "\n", "1", supervise.Malformed},
		{"unknown kind", `{"result":{"kind":3,"success":true}}` + "\n", "1", supervise.Malformed},
		{"wrong type", `{"log":{"level":"x","text":"a"}}` + "\n", "1", supervise.Malformed},
		{"bad raw text", `{"log":{"level":1,"text":{"base64":"*"}}}` + "\n", "1", supervise.Malformed},
		{"second metadata", `{"metadata":{"abi":3,"name":"","build":"","compatibility":""}}` + "\n", "1", supervise.OutOfOrder},
		{"second ready", `{"ready":{}}` + "\n", "1", supervise.OutOfOrder},
		{"a host's word", `{"run":{"args":[]}}` + "\n", "1", supervise.OutOfOrder},
		{"endless", strings.Repeat("[", 4096), "400", supervise.TooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := start(t, supervise.Options{}, "meddle")
			load(t, c)
			if err := c.Run([]string{test.garbage, test.times}); err != nil {
				t.Fatal(err)
			}
			e := exit(t, c)
			var broken *supervise.ControlError
			if !errors.As(e.Fault, &broken) || broken.Fault != test.fault {
				t.Fatalf("got %v: %s", e.Fault, e)
			}
			if got := supervise.Classify(e, false, e.Ran); got != supervise.FailedStart {
				t.Errorf("classified as %s", got)
			}
			if !strings.HasPrefix(e.String(), "broke the control protocol and was stopped: "+string(test.fault)) {
				t.Errorf("described as %s", e)
			}
		})
	}
}

// TestAModuleThatClosesAllHandlesIsACrash closes the control pipe and the handles of the Go runtime.
func TestAModuleThatClosesAllHandlesIsACrash(t *testing.T) {
	begin := time.Now()
	e := run(t, supervise.Options{}, "close-all")
	if got := supervise.Classify(e, false, e.Ran); got != supervise.FailedStart || e.Result != nil {
		t.Errorf("got %s: %s", got, e)
	}
	t.Logf("after %s: %s", time.Since(begin), e)
}

// testHostKilled kills a host whose child is inside the module, and waits for the child's end.
func testHostKilled(t *testing.T, module string) {
	host, err := platform.StartProcess(platform.Command{Exe: self(t), Args: []string{"host", module}, Stderr: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		host.Kill()
		<-host.Done()
		host.From.Close()
		host.To.Close()
	}()
	var child int
	if _, err := fmt.Fscanln(bufio.NewReader(host.From), &child); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	if !testwait.Alive(child) {
		t.Fatal("the child does not run")
	}
	begin := time.Now()
	host.Kill()
	testwait.Until(t, func() bool { return !testwait.Alive(child) }, "the child ends with its host")
	t.Logf("gone after %s", time.Since(begin))
}

func TestChildDiesWithItsHost(t *testing.T) { testHostKilled(t, "hang") }
