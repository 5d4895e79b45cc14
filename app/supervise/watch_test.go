package supervise

// These tests are inside the package because they replace the process by a puppet, so that synctest controls the time.

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/platform"
	"github.com/rs/zerolog"
)

// puppet is a process controlled by the test.
type puppet struct {
	says  *io.PipeWriter // to the host
	hears *io.PipeReader // from the host
	done  chan struct{}
	once  sync.Once
	end   platform.ProcessEnd
	heard chan string // lines of the host
	holds bool        // its pipes stay open after its end
}

func (p *puppet) Pid() int                 { return 7 }
func (p *puppet) Done() <-chan struct{}    { return p.done }
func (p *puppet) End() platform.ProcessEnd { <-p.done; return p.end }

func (p *puppet) Kill() { p.exit(platform.ProcessEnd{Code: -1, Signal: "SIGKILL", Killed: true}) }

func (p *puppet) exit(end platform.ProcessEnd) {
	p.once.Do(func() {
		p.end = end
		if !p.holds {
			p.says.Close()
			p.hears.Close()
		}
		close(p.done)
	})
}

// listen collects the host's messages until its pipe closes.
func (p *puppet) listen() {
	defer close(p.heard)
	for data := make([]byte, maxLine); ; {
		n, err := p.hears.Read(data)
		if err != nil {
			return
		}
		p.heard <- string(data[:n])
	}
}

const (
	sayMetadata = `{"metadata":{"abi":3,"name":"n","build":"b","compatibility":"c"}}` + "\n"
	sayResult   = `{"result":{"kind":0,"success":true}}` + "\n"
	sayReady    = `{"ready":{}}` + "\n"
	sayLog      = `{"log":{"level":2,"text":"t"}}` + "\n"
	sayFailed   = `{"load-failed":{"stage":"open","text":"t"}}` + "\n"
)

// staged runs a test with a puppet in its own bubble.
func staged(t *testing.T, holds bool, f func(t *testing.T, c *Child, p *puppet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		from, says := io.Pipe()
		hears, to := io.Pipe()
		p := &puppet{says: says, hears: hears, done: make(chan struct{}), heard: make(chan string, 10), holds: holds}
		go p.listen()
		c := adopt(t.Context(), Options{}, p, from, to, &transcript{log: zerolog.Nop()})
		if got := <-p.heard; got != `{"hello":{"protocol":5}}`+"\n" {
			t.Errorf("the host's first words: %s", got)
		}
		f(t, c, p)
		p.exit(platform.ProcessEnd{})
		<-c.Done()
		p.says.Close()
		p.hears.Close()
	})
}

// say sends lines from the puppet.
func (p *puppet) say(t *testing.T, lines string) {
	t.Helper()
	if _, err := io.WriteString(p.says, lines); err != nil {
		t.Errorf("say %q: %v", lines, err)
	}
}

// run brings the puppet to the state in which its module runs.
func (p *puppet) run(t *testing.T, c *Child) {
	t.Helper()
	p.say(t, sayMetadata)
	if _, err := c.Metadata(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Run([]string{"a", "\xff"}); err != nil {
		t.Error(err)
	}
	if got := <-p.heard; got != `{"run":{"args":["a",{"base64":"/w=="}]}}`+"\n" {
		t.Errorf("the host said %s", got)
	}
}

func TestTimesAreEnforced(t *testing.T) {
	tests := []struct {
		name  string
		limit time.Duration
		act   func(t *testing.T, c *Child, p *puppet)
		check func(e Exit) bool
	}{
		{"load", DefaultLoadTimeout, func(*testing.T, *Child, *puppet) {},
			func(e Exit) bool { return isOverdue(e.Fault, "load") }},
		{"end after the result", endGrace, func(t *testing.T, c *Child, p *puppet) { p.run(t, c); p.say(t, sayResult) },
			func(e Exit) bool { return isOverdue(e.Fault, "end") && e.Result != nil }},
		{"end after the load failure", endGrace, func(t *testing.T, _ *Child, p *puppet) { p.say(t, sayFailed) },
			func(e Exit) bool { return isOverdue(e.Fault, "end") && e.Load != nil }},
		{"end after the pipe broke while running", closeGrace, func(t *testing.T, c *Child, p *puppet) { p.run(t, c); p.says.Close() },
			func(e Exit) bool { return isClosed(e.Fault) }},
		{"end after the pipe broke while loading", closeGrace, func(_ *testing.T, _ *Child, p *puppet) { p.says.Close() },
			func(e Exit) bool { return isClosed(e.Fault) }},
		{"end after the result and the pipe", closeGrace, func(t *testing.T, c *Child, p *puppet) { p.run(t, c); p.say(t, sayResult); p.says.Close() },
			func(e Exit) bool { return isOverdue(e.Fault, "end") && e.Result != nil }},
		{"leave", leaveGrace, func(t *testing.T, c *Child, _ *puppet) {
			if err := c.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		}, func(e Exit) bool { return e.Fault == nil && e.Left }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			staged(t, false, func(t *testing.T, c *Child, p *puppet) {
				begin := time.Now()
				test.act(t, c, p)
				e := c.Exit()
				if took := time.Since(begin); took != test.limit {
					t.Errorf("ended after %s, want %s", took, test.limit)
				}
				if !e.Killed || !test.check(e) {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
}

func isOverdue(err error, what string) bool {
	var overdue *OverdueError
	return errors.As(err, &overdue) && overdue.What == what
}

func isClosed(err error) bool {
	var broken *ControlError
	return errors.As(err, &broken) && broken.Fault == Closed
}

func TestRunningHasNoLimit(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.run(t, c)
		time.Sleep(1000 * time.Hour)
		p.say(t, sayReady+sayLog+sayResult)
		p.exit(platform.ProcessEnd{Code: ExitServed})
		if e := c.Exit(); e.Fault != nil || !e.Ready || e.Ran != 1000*time.Hour || e.String() != "shut down" {
			t.Errorf("got %+v: %s", e, e)
		}
	})
}

// TestAWaitingChildHasNoLimit: the whole download happens between metadata and run.
func TestAWaitingChildHasNoLimit(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.say(t, sayMetadata)
		time.Sleep(1000 * time.Hour)
		select {
		case <-c.Done():
			t.Errorf("ended: %s", c.Exit())
		default:
		}
	})
}

// TestTheLastWordCounts checks that messages sent before the end of the process are read, even if another process holds the
// pipe open.
func TestTheLastWordCounts(t *testing.T) {
	staged(t, true, func(t *testing.T, c *Child, p *puppet) {
		p.run(t, c)
		begin := time.Now()
		p.exit(platform.ProcessEnd{Code: ExitServed})
		p.say(t, sayResult)
		if e := c.Exit(); e.Result == nil || e.Fault != nil || time.Since(begin) != drainGrace {
			t.Errorf("after %s: %+v", time.Since(begin), e)
		}
	})
}

// TestHalfALineIsNothing checks that a process that dies while it writes a line violates no rule.
func TestHalfALineIsNothing(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.run(t, c)
		p.say(t, sayResult[:10])
		p.exit(platform.ProcessEnd{Code: -1, Signal: "SIGSEGV"})
		if e := c.Exit(); e.Fault != nil || e.String() != "ended by signal SIGSEGV" {
			t.Errorf("got %+v: %s", e, e)
		}
	})
}

func TestEveryMessageHasItsTime(t *testing.T) {
	all := map[string]string{
		"metadata": sayMetadata, "failed": sayFailed, "ready": sayReady, "log": sayLog, "result": sayResult,
		"progress": `{"progress":{"text":"t"}}` + "\n",
		"hello":    `{"hello":{"protocol":5}}` + "\n", "run": `{"run":{"args":[]}}` + "\n", "leave": `{"leave":{}}` + "\n",
	}
	phases := []struct {
		name    string
		before  func(t *testing.T, c *Child, p *puppet)
		allowed string
	}{
		{"loading", func(*testing.T, *Child, *puppet) {}, "metadata failed"},
		{"waiting", func(t *testing.T, _ *Child, p *puppet) { p.say(t, sayMetadata) }, ""},
		{"failed", func(t *testing.T, _ *Child, p *puppet) { p.say(t, sayFailed) }, ""},
		{"running", func(t *testing.T, c *Child, p *puppet) { p.run(t, c) }, "progress ready log result"},
		{"ready", func(t *testing.T, c *Child, p *puppet) { p.run(t, c); p.say(t, sayReady) }, "progress log result"},
		{"finished", func(t *testing.T, c *Child, p *puppet) { p.run(t, c); p.say(t, sayResult) }, ""},
	}
	for _, phase := range phases {
		for name, line := range all {
			t.Run(phase.name+" "+name, func(t *testing.T) {
				staged(t, false, func(t *testing.T, c *Child, p *puppet) {
					phase.before(t, c, p)
					p.say(t, line)
					synctest.Wait()
					p.exit(platform.ProcessEnd{Code: ExitServed})
					var broken *ControlError
					refused := errors.As(c.Exit().Fault, &broken) && broken.Fault == OutOfOrder
					if allowed := strings.Contains(phase.allowed, name); refused == allowed {
						t.Errorf("refused: %t; %v", refused, c.Exit().Fault)
					}
				})
			})
		}
	}
}

// TestProgress: a text that nothing received is replaced by the next one, and the reader never waits.
func TestProgress(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.run(t, c)
		for _, text := range []string{"one", "two", "three"} {
			p.say(t, `{"progress":{"text":"`+text+`"}}`+"\n")
		}
		p.say(t, sayReady)
		<-c.Ready()
		if got := <-c.Progress(); got != "three" || len(c.Progress()) != 0 {
			t.Errorf("got %q, and %d more", got, len(c.Progress()))
		}
	})
}

func TestLeaveIsSaidOnce(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.say(t, sayMetadata)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := c.Leave(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		if got := <-p.heard; got != `{"leave":{}}`+"\n" {
			t.Errorf("heard %s", got)
		}
		synctest.Wait()
		var order *OrderError
		if err := c.Run(nil); !errors.As(err, &order) {
			t.Errorf("run: %v", err)
		}
		p.exit(platform.ProcessEnd{Code: ExitServed})
		both.Wait()
		if more := <-p.heard; more != "" {
			t.Errorf("then %s", more)
		}
	})
}

func TestRunOnABrokenPipe(t *testing.T) {
	staged(t, false, func(t *testing.T, c *Child, p *puppet) {
		p.say(t, sayMetadata)
		if _, err := c.Metadata(t.Context()); err != nil {
			t.Error(err)
		}
		p.hears.Close()
		var gone *ExitError
		if err := c.Run(nil); !errors.As(err, &gone) || !gone.Exit.Killed || !isClosed(gone.Exit.Fault) {
			t.Errorf("got %v", err)
		}
	})
}

// stuck is a pipe to a child that does not read. Like a pipe of the system it supports deadlines.
type stuck struct{ deadline time.Time }

func (s *stuck) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

func (s *stuck) Write([]byte) (int, error) {
	time.Sleep(time.Until(s.deadline))
	return 0, os.ErrDeadlineExceeded
}

func (s *stuck) Close() error { return nil }

func TestAChildThatDoesNotReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, says := io.Pipe()
		hears, _ := io.Pipe()
		p := &puppet{says: says, hears: hears, done: make(chan struct{})}
		c := adopt(context.Background(), Options{}, p, from, &stuck{}, &transcript{log: zerolog.Nop()})
		p.say(t, sayMetadata)
		if _, err := c.Metadata(t.Context()); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		var gone *ExitError
		if err := c.Run(nil); !errors.As(err, &gone) || time.Since(begin) != writeGrace {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}
