package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/supervise"
	"collet/runtime/abi"
)

const (
	sayHello = `{"hello":{"protocol":5}}` + "\n"
	sayRun   = `{"run":{"args":["a"]}}` + "\n"
	sayLeave = `{"leave":{}}` + "\n"
	sayStop  = `{"stop":{}}` + "\n"
	grace    = 5 * time.Second // for a running module when the context ends
	metaLine = `{"metadata":{"abi":3,"name":"fake","build":"b1","compatibility":"C-1"}}`
	doneLine = `{"result":{"kind":0,"success":true}}`
)

// served is one call of Serve with the test as the host.
type served struct {
	host   *io.PipeWriter // messages of the host
	lines  chan string    // messages of the child; closed at the end
	code   chan int
	cancel context.CancelFunc

	mu         sync.Mutex
	terminated []int
	stuck      chan struct{} // closed by terminate; releases hang
	steps      []string      // "load", "run", "close"
	unload     func()        // Close waits for it; may be nil
}

func (s *served) step(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, name)
}

// hang waits until Serve gives up.
func (s *served) hang() { <-s.stuck }

// serve starts Serve. A nil load or run uses the default.
func serve(t *testing.T, load func(*served) error, run func(*served, abi.Services)) *served {
	in, host := io.Pipe()
	child, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{
		host: host, lines: make(chan string, 1000), code: make(chan int, 1), cancel: cancel, stuck: make(chan struct{}),
	}
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(child); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	module := &fake{meta: goodMeta, close: func() {
		s.step("close")
		if s.unload != nil {
			s.unload()
		}
	}}
	module.run = func(args []string, services abi.Services) (abi.Result, error) {
		s.step(fmt.Sprint("run", args))
		if run != nil {
			run(s, services)
		}
		return success, nil
	}
	go func() {
		defer out.Close()
		s.code <- supervise.Serve(ctx, in, out, func() (supervise.Module, error) {
			s.step("load")
			if load != nil {
				if err := load(s); err != nil {
					return nil, err
				}
			}
			return module, nil
		}, grace, func(code int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.terminated = append(s.terminated, code)
			close(s.stuck)
		})
	}()
	return s
}

func TestServe(t *testing.T) {
	hangLoad := func(s *served) error { s.hang(); return nil }
	hangRun := func(s *served, _ abi.Services) { s.hang() }
	untilStopped := func(_ *served, services abi.Services) {
		for !services.Stopping() {
			time.Sleep(time.Millisecond)
		}
	}
	const eof, cancel = "EOF", "cancel"
	tests := []struct {
		name       string
		load       func(*served) error
		run        func(*served, abi.Services)
		host       []string // messages and actions of the host, each after the child is idle
		says       []string
		steps      string
		code       int
		terminated int // exit code; 0: not terminated
	}{
		{name: "run", host: []string{sayHello, sayRun}, says: []string{metaLine, doneLine},
			steps: "load run[a] close", code: supervise.ExitServed},
		{name: "leave", host: []string{sayHello, sayLeave}, says: []string{metaLine},
			steps: "load close", code: supervise.ExitServed},
		{name: "stop", run: untilStopped, host: []string{sayHello, sayRun, sayStop}, says: []string{metaLine, doneLine},
			steps: "load run[a] close", code: supervise.ExitServed},
		{name: "stop twice", run: hangRun, host: []string{sayHello, sayRun, sayStop, sayStop}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitProtocol, terminated: supervise.ExitProtocol},
		{name: "update", run: func(_ *served, services abi.Services) {
			for services.Update() != "1.3" {
				time.Sleep(time.Millisecond)
			}
		}, host: []string{sayHello, sayRun, `{"update":{"version":"1.2"}}` + "\n", `{"update":{"version":"1.3"}}` + "\n"},
			says: []string{metaLine, doneLine}, steps: "load run[a] close", code: supervise.ExitServed},
		{name: "progress", run: func(_ *served, services abi.Services) {
			services.Progress("shaders")
			services.Ready()
			services.Progress("too late")
		}, host: []string{sayHello, sayRun}, says: []string{metaLine, `{"progress":{"text":"shaders"}}`, `{"ready":{}}`, doneLine},
			steps: "load run[a] close", code: supervise.ExitServed},
		{name: "update and stop", run: untilStopped, host: []string{sayHello, sayRun, `{"update":{"version":"1.2"}}` + "\n", sayStop},
			says: []string{metaLine, doneLine}, steps: "load run[a] close", code: supervise.ExitServed},
		{name: "update before run", host: []string{sayHello, `{"update":{"version":"1.2"}}` + "\n"}, says: []string{metaLine},
			steps: "load", code: supervise.ExitProtocol},
		{name: "stop before run", host: []string{sayHello, sayStop}, says: []string{metaLine},
			steps: "load", code: supervise.ExitProtocol},
		{name: "leave while loading", host: []string{sayHello + sayLeave}, says: []string{metaLine},
			steps: "load close", code: supervise.ExitServed},
		{name: "load failure", load: func(*served) error { return &supervise.LoadError{Stage: "ABI", Text: "4"} },
			host: []string{sayHello}, says: []string{`{"load-failed":{"stage":"ABI","text":"4"}}`},
			steps: "load", code: supervise.ExitLoadFailed},
		{name: "another version", host: []string{`{"hello":{"protocol":6}}` + "\n"},
			says: []string{`{"load-failed":{"stage":"protocol","text":"the host speaks version 6 of the control protocol, this program version 5"}}`},
			code: supervise.ExitLoadFailed},
		{name: "host gone at once", host: []string{eof}, code: supervise.ExitHostGone},
		{name: "host gone in the middle of a word", host: []string{sayHello[:5], eof}, code: supervise.ExitHostGone},
		{name: "host gone while waiting", host: []string{sayHello, eof}, says: []string{metaLine},
			steps: "load", code: supervise.ExitHostGone},
		{name: "host gone while loading", load: hangLoad, host: []string{sayHello, eof},
			steps: "load", code: supervise.ExitHostGone, terminated: supervise.ExitHostGone},
		{name: "host gone while running", run: hangRun, host: []string{sayHello, sayRun, eof}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitHostGone, terminated: supervise.ExitHostGone},
		{name: "cancelled before hello", host: []string{cancel}, code: supervise.ExitCancelled},
		{name: "cancelled while waiting", host: []string{sayHello, cancel}, says: []string{metaLine},
			steps: "load", code: supervise.ExitCancelled},
		{name: "cancelled while running, and it ends", run: untilStopped, host: []string{sayHello, sayRun, cancel},
			says: []string{metaLine, doneLine}, steps: "load run[a] close", code: supervise.ExitServed},
		{name: "cancelled before it runs", host: []string{sayHello, cancel, sayRun}, says: []string{metaLine},
			steps: "load", code: supervise.ExitCancelled},
		{name: "cancelled while running", run: hangRun, host: []string{sayHello, sayRun, cancel}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitCancelled, terminated: supervise.ExitCancelled},
		{name: "garbage", host: []string{"x\n"}, code: supervise.ExitProtocol},
		{name: "run first", host: []string{sayRun}, code: supervise.ExitProtocol},
		{name: "leave first", host: []string{sayLeave}, code: supervise.ExitProtocol},
		{name: "hello twice", host: []string{sayHello, sayHello}, says: []string{metaLine},
			steps: "load", code: supervise.ExitProtocol},
		{name: "a child's word", host: []string{sayHello, doneLine + "\n"}, says: []string{metaLine},
			steps: "load", code: supervise.ExitProtocol},
		{name: "run before metadata", load: hangLoad, host: []string{sayHello, sayRun},
			steps: "load", code: supervise.ExitProtocol, terminated: supervise.ExitProtocol},
		{name: "run twice", run: hangRun, host: []string{sayHello, sayRun, sayRun}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitProtocol, terminated: supervise.ExitProtocol},
		{name: "leave while running", run: hangRun, host: []string{sayHello, sayRun, sayLeave}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitProtocol, terminated: supervise.ExitProtocol},
		{name: "garbage while running", run: hangRun, host: []string{sayHello, sayRun, "{}\n"}, says: []string{metaLine},
			steps: "load run[a]", code: supervise.ExitProtocol, terminated: supervise.ExitProtocol},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, test.load, test.run)
				for _, act := range test.host {
					switch act {
					case eof:
						s.host.Close()
					case cancel:
						s.cancel()
					default:
						io.WriteString(s.host, act)
					}
					synctest.Wait()
				}
				if code := <-s.code; code != test.code {
					t.Errorf("code %d, want %d", code, test.code)
				}
				var says []string
				for line := range s.lines {
					says = append(says, line)
				}
				if !slices.Equal(says, test.says) {
					t.Errorf("the child said %q, want %q", says, test.says)
				}
				if got := strings.Join(s.steps, " "); got != test.steps {
					t.Errorf("steps %s, want %s", got, test.steps)
				}
				if want := test.terminated; (want == 0) != (len(s.terminated) == 0) || want != 0 && s.terminated[0] != want {
					t.Errorf("terminated with %v, want %d", s.terminated, want)
				}
			})
		})
	}
}

// TestServicesFromManyThreads uses the services from threads that outlive Run. Every line is complete, ready comes once,
// and the result is the last message.
func TestServicesFromManyThreads(t *testing.T) {
	const threads, each = 8, 50
	late := make(chan struct{})
	var talking, latecomers sync.WaitGroup
	s := serve(t, nil, func(s *served, services abi.Services) {
		for i := range threads {
			talking.Go(func() {
				services.Ready()
				for n := range each {
					services.Log(int32(i), fmt.Sprintf("%d/%d %s", i, n, strings.Repeat("é", 3000)))
				}
			})
		}
		talking.Wait()
		latecomers.Go(func() { <-late; services.Log(0, "late"); services.Ready() })
		s.unload = latecomers.Wait // so that they send before the pipe closes
	})
	io.WriteString(s.host, sayHello)
	if <-s.lines != metaLine {
		t.Error("no metadata")
	}
	io.WriteString(s.host, sayRun)
	ready, logs, last := 0, 0, ""
	for line := range s.lines {
		switch last = line; {
		case line == `{"ready":{}}`:
			ready++
		case strings.HasPrefix(line, `{"log":{"level":`) && strings.HasSuffix(line, `é…"}}`) && len(line) < 4096+100:
			logs++
		case line == doneLine:
			close(late)
		default:
			t.Errorf("said %.100q", line)
		}
	}
	if code := <-s.code; code != supervise.ExitServed || ready != 1 || logs != threads*each || last != doneLine {
		t.Errorf("code %d, ready %d, logs %d, last %.100q", code, ready, logs, last)
	}
}

// TestServeWithoutAListener breaks only the pipe to the host.
func TestServeWithoutAListener(t *testing.T) {
	for _, module := range []func() (supervise.Module, error){
		func() (supervise.Module, error) { return &fake{meta: goodMeta}, nil },
		func() (supervise.Module, error) { return nil, errors.New("no") },
	} {
		in, host := io.Pipe()
		child, out := io.Pipe()
		child.Close()
		code := make(chan int)
		go func() { code <- supervise.Serve(t.Context(), in, out, module, grace, func(int) {}) }()
		io.WriteString(host, sayHello)
		if got := <-code; got != supervise.ExitHostGone {
			t.Errorf("code %d", got)
		}
	}
}
