package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/platform"
	"collet/runtime/abi"
)

// Streams of a module, as named in Options.Output and the log.
const (
	StreamOut = "stdout"
	StreamErr = "stderr"
	StreamLog = "log" // messages of the module to the log service
)

// Options select the child to start and the receivers of its output. Only Exe is required.
type Options struct {
	Exe  string   // the host's own executable, absolute
	Args []string // role and module; the control handles are inserted before them
	Dir  string   // working folder; empty is the host's
	Env  []string // nil is the host's environment
	// Log receives every line of the module with the key "stream", and the state changes of the child. The zero value is
	// silent.
	Log zerolog.Logger
	// Output also receives every line, without its end, in pieces of at most 4096 bytes. Lines of the standard streams have
	// the level info. Calls don't overlap. The module blocks on its next line until the call returns. Output may be nil.
	Output func(stream string, level zerolog.Level, line string)
	// LoadTimeout is the limit for the child to report metadata; 0 is DefaultLoadTimeout.
	LoadTimeout time.Duration
}

// Child is the host's view of a child process. All methods are safe for concurrent use. It holds no resources once Done is
// closed, which does not depend on any call.
type Child struct {
	proc process
	to   io.WriteCloser
	log  zerolog.Logger
	said *transcript

	known    chan struct{} // closed when the module is loaded or loading has failed
	progress chan string   // the last text of the module that was not received; it holds one
	ready    chan struct{} // closed when the module has reported ready
	finished chan struct{} // closed when the child has sent its last message
	done     chan struct{} // closed last

	toMu sync.Mutex // held while a line is written

	mu    sync.Mutex
	state state
	left  bool // leave was sent
	asked bool // stop was sent
	meta  abi.Metadata
	began time.Time // time of run; zero before
	exit  Exit      // complete when done is closed
}

// process is the part of platform.Process that Child uses.
type process interface {
	Pid() int
	Done() <-chan struct{}
	End() platform.ProcessEnd
	Kill()
}

// state is the state of a child; the package comment has the diagram. Errors contain these words.
type state string

const (
	loading  state = "loading"
	waiting  state = "waiting"
	running  state = "running"
	finished state = "finished"
	ended    state = "ended"
)

// Start starts a child that loads its module at once. When ctx ends, the child is killed. The error is the reason why no
// process was started; Metadata and Exit report everything later.
func Start(ctx context.Context, o Options) (*Child, error) {
	said := &transcript{log: o.Log, output: o.Output}
	proc, err := platform.StartProcess(platform.Command{
		Exe: o.Exe, Args: o.Args, Dir: o.Dir, Env: o.Env, Stdout: said.stdout, Stderr: said.stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", o.Exe, err)
	}
	return adopt(ctx, o, proc, proc.From, proc.To, said), nil
}

// adopt supervises a process that runs Serve. It owns from and to.
func adopt(ctx context.Context, o Options, proc process, from io.ReadCloser, to io.WriteCloser, said *transcript) *Child {
	c := &Child{
		proc: proc, to: to, said: said, log: o.Log.With().Int("pid", proc.Pid()).Logger(), state: loading,
		known: make(chan struct{}), progress: make(chan string, 1), ready: make(chan struct{}), finished: make(chan struct{}), done: make(chan struct{}),
	}
	c.log.Info().Strs("args", o.Args).Msg("child started")
	if line, err := encode(message{Hello: &hello{protocol}}); err == nil {
		_ = c.sendLine(line) // fails only if the child is gone, which watch detects; an empty pipe accepts a line at once
	}
	timeout := o.LoadTimeout
	if timeout <= 0 {
		timeout = DefaultLoadTimeout
	}
	go c.watch(ctx, from, timeout)
	return c
}

// Pid is the process ID.
func (c *Child) Pid() int { return c.proc.Pid() }

// Progress has the newest text of what the module does before it is ready. It may be foreign text. A text that is not received in time is
// replaced by the next one. This report is optional. The channel is never closed.
func (c *Child) Progress() <-chan string { return c.progress }

// Ready is closed when the module has reported that its first picture is on the screen. This report is optional.
func (c *Child) Ready() <-chan struct{} { return c.ready }

// Done is closed when the process has ended, its output was delivered and every goroutine of the Child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how the child ended. It waits for Done.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}

// Metadata waits until the module is loaded. The error is a *LoadError if loading failed, an *ExitError if the process
// ended before its report, or that of ctx, which only ends the wait.
func (c *Child) Metadata(ctx context.Context) (abi.Metadata, error) {
	select {
	case <-c.known:
	case <-c.done:
	case <-ctx.Done():
		return abi.Metadata{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.exit.Load != nil:
		return abi.Metadata{}, c.exit.Load
	case !c.exit.Loaded:
		return abi.Metadata{}, &ExitError{c.exit}
	}
	return c.meta, nil
}

// Run starts the loaded module with args. The error is an *OrderError unless the child is waiting, ErrTooLong, or an
// *ExitError if the child is gone. Exit reports how the run ended.
func (c *Child) Run(args []string) error {
	line, err := encode(message{Run: &run{texts(args)}})
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.state == ended {
		defer c.mu.Unlock()
		return &ExitError{c.exit}
	}
	if c.state != waiting || c.left {
		defer c.mu.Unlock()
		return &OrderError{Op: "run", State: string(c.state)}
	}
	c.state, c.began = running, time.Now()
	c.mu.Unlock()
	if err := c.sendLine(line); err != nil {
		c.fail(&ControlError{Fault: Closed, Err: err})
		return &ExitError{c.Exit()}
	}
	c.log.Info().Int("args", len(args)).Msg("module runs")
	return nil
}

// Leave ends a child before Run. It returns when the process is gone. It kills the process after two seconds, or when ctx
// ends; in the latter case it returns the error of ctx. After Run it does nothing and returns an *OrderError.
func (c *Child) Leave(ctx context.Context) error {
	c.mu.Lock()
	if c.state == running {
		defer c.mu.Unlock()
		return &OrderError{Op: "leave", State: string(c.state)}
	}
	first := !c.left && (c.state == loading || c.state == waiting)
	c.left = c.left || first
	c.mu.Unlock()
	if line, err := encode(message{Leave: &struct{}{}}); first && err == nil {
		_ = c.sendLine(line) // after a broken pipe the child is leaving already
	}
	grace := time.NewTimer(leaveGrace)
	defer grace.Stop()
	select {
	case <-c.done:
		return nil
	case <-grace.C:
		c.proc.Kill()
		<-c.done
		return nil
	case <-ctx.Done():
		c.proc.Kill()
		<-c.done
		return ctx.Err()
	}
}

// Stop asks a running module to end and returns at once; the module decides whether and when. A second call does nothing.
// The error is an *OrderError unless the module runs, or an *ExitError if the child is gone.
func (c *Child) Stop() error {
	line, err := encode(message{Stop: &struct{}{}})
	if err != nil {
		return err
	}
	c.mu.Lock()
	state, first := c.state, !c.asked
	c.asked = c.asked || state == running
	c.mu.Unlock()
	switch {
	case state == ended:
		return &ExitError{c.Exit()}
	case state != running:
		return &OrderError{Op: "stop", State: string(state)}
	case first:
		_ = c.sendLine(line) // after a broken pipe the child is ending already
		c.log.Info().Msg("module is asked to end")
	}
	return nil
}

// TellUpdate tells a running module that a release with this version will be used by the next start. A module may ignore it. The error
// is an *OrderError unless the module runs, ErrTooLong, or that of the pipe.
func (c *Child) TellUpdate(version string) error {
	line, err := encode(message{Update: &newer{rawString(version)}})
	if err != nil {
		return err
	}
	c.mu.Lock()
	state := c.state
	c.mu.Unlock()
	if state != running {
		return &OrderError{Op: "update", State: string(state)}
	}
	return c.sendLine(line)
}

// End ends the child in any state and returns when it is gone. A child that has not run leaves. A running module is asked
// to stop and is killed after grace, which may be 0.
func (c *Child) End(grace time.Duration) {
	late := time.NewTimer(grace)
	defer late.Stop()
	if err := c.Leave(context.Background()); !errors.As(err, new(*OrderError)) {
		return // the process is gone
	}
	_ = c.Stop() // after an error the child is ending already
	select {
	case <-c.done:
	case <-late.C:
		c.log.Warn().Stringer("grace", grace).Msg("the game did not end in time and is killed")
		c.proc.Kill()
		<-c.done
	}
}

// Kill kills the child at once, and its child processes as far as they can be found. It does not wait; Done follows.
func (c *Child) Kill() { c.proc.Kill() }

// sendLine sends a line. It fails if the child does not read for writeGrace.
func (c *Child) sendLine(line []byte) error {
	c.toMu.Lock()
	defer c.toMu.Unlock()
	if pipe, can := c.to.(interface{ SetWriteDeadline(time.Time) error }); can {
		_ = pipe.SetWriteDeadline(time.Now().Add(writeGrace)) // not supported on every system; there a kill ends the write
	}
	_, err := c.to.Write(line)
	return err
}

// OrderError reports a call at the wrong time, which is a bug of the caller.
type OrderError struct {
	Op    string // "run", "leave", "stop", "update"
	State string // state of the child: "loading", "waiting", "running", "finished"
}

func (e *OrderError) Error() string { return e.Op + " while the child is " + e.State }

// ExitError reports that the child had ended before the call.
type ExitError struct{ Exit Exit }

func (e *ExitError) Error() string { return "game process " + e.Exit.String() }
