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

// Streams of a module, as Options.Output and the log name them.
const (
	StreamOut = "stdout"
	StreamErr = "stderr"
	StreamLog = "log" // what the module said through the log service
)

// Options say which child to start and who hears it. Only Exe is needed.
type Options struct {
	Exe  string   // the host's own executable, absolute
	Args []string // role and module; the control handles are put before them
	Dir  string   // working folder; empty is that of the host
	Env  []string // nil is the environment of the host
	// Log gets every line of the module with the key "stream", and the steps of the child's life. The zero value is silent.
	Log zerolog.Logger
	// Output gets every line too, without its end and at most 4096 bytes long; longer ones come in pieces. What is printed has
	// the level info. Calls don't overlap. While it works, the module waits with its next line. nil is allowed.
	Output func(stream string, level zerolog.Level, line string)
	// LoadTimeout is how long the child may take until it reports metadata; 0 is DefaultLoadTimeout.
	LoadTimeout time.Duration
}

// Child is a child process as the host sees it. All methods are safe for concurrent use. It holds no resources once Done
// is closed, which happens whoever waits for it or not.
type Child struct {
	proc process
	to   io.WriteCloser
	log  zerolog.Logger
	said *transcript

	known    chan struct{} // closed when the module is loaded or could not be
	ready    chan struct{} // closed when the module said so
	finished chan struct{} // closed when the child has nothing more to say
	done     chan struct{} // closed last

	toMu sync.Mutex // held for a whole line

	mu    sync.Mutex
	state state
	left  bool // leave was sent
	asked bool // stop was sent
	meta  abi.Metadata
	began time.Time // when run was sent; zero before
	exit  Exit      // filled in bit by bit, complete when done is closed
}

// process is what Child needs of platform.Process.
type process interface {
	Pid() int
	Done() <-chan struct{}
	End() platform.ProcessEnd
	Kill()
}

// state is where a child is; the drawing is in the package comment. The words are those of errors.
type state string

const (
	loading  state = "loading"
	waiting  state = "waiting"
	running  state = "running"
	finished state = "finished"
	ended    state = "ended"
)

// Start starts a child that loads its module at once. When ctx ends, the child is killed. The error says why there is no
// process; all that happens later is told by Metadata and Exit.
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

// adopt watches over a process that runs Serve. It owns from and to.
func adopt(ctx context.Context, o Options, proc process, from io.ReadCloser, to io.WriteCloser, said *transcript) *Child {
	c := &Child{
		proc: proc, to: to, said: said, log: o.Log.With().Int("pid", proc.Pid()).Logger(), state: loading,
		known: make(chan struct{}), ready: make(chan struct{}), finished: make(chan struct{}), done: make(chan struct{}),
	}
	c.log.Info().Strs("args", o.Args).Msg("child started")
	if line, err := encode(message{Hello: &hello{protocol}}); err == nil {
		_ = c.write(line) // fails only if the child is gone, which watch notices; an empty pipe takes a line at once
	}
	timeout := o.LoadTimeout
	if timeout <= 0 {
		timeout = DefaultLoadTimeout
	}
	go c.watch(ctx, from, timeout)
	return c
}

// Pid is the number of the process.
func (c *Child) Pid() int { return c.proc.Pid() }

// Ready is closed when the module has said that its first picture is on the screen. A module need not say it.
func (c *Child) Ready() <-chan struct{} { return c.ready }

// Done is closed when the process is gone, its output was handed over and every goroutine of the Child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit tells how it ended. It waits for Done.
func (c *Child) Exit() Exit {
	<-c.done
	return c.exit
}

// Metadata waits until the module is loaded. The error is a *LoadError if it could not be, an *ExitError if the process
// ended before it said so, or that of ctx, which ends the waiting only.
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

// Run lets the loaded module run with args. The error is an *OrderError unless the child is waiting, ErrTooLong, or an
// *ExitError if the child is gone; how the run ended is told by Exit.
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
	if err := c.write(line); err != nil {
		c.fail(&ControlError{Fault: Closed, Err: err})
		return &ExitError{c.Exit()}
	}
	c.log.Info().Int("args", len(args)).Msg("module runs")
	return nil
}

// Leave ends a child that is not wanted, before Run. It returns when the child is gone: by itself, or killed if that takes
// longer than two seconds or ctx ends, whose error it then returns. After Run it is an *OrderError and does nothing.
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
		_ = c.write(line) // a broken pipe means that it is leaving already
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

// Stop asks a running module to end and returns at once; whether and when it does is the module's business. A second call does
// nothing. The error is an *OrderError unless the module runs, or an *ExitError if the child is gone.
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
		_ = c.write(line) // a broken pipe means that it is ending already
		c.log.Info().Msg("module is asked to end")
	}
	return nil
}

// End ends the child, whatever it is doing, and returns when it is gone. One that has not run leaves. A module that runs is asked
// to stop, and is killed when grace is over; 0 is no grace.
func (c *Child) End(grace time.Duration) {
	late := time.NewTimer(grace)
	defer late.Stop()
	if err := c.Leave(context.Background()); !errors.As(err, new(*OrderError)) {
		return // it is gone
	}
	_ = c.Stop() // one that can't be asked any more is ending
	select {
	case <-c.done:
	case <-late.C:
		c.log.Warn().Stringer("grace", grace).Msg("the module did not end in time and is killed")
		c.proc.Kill()
		<-c.done
	}
}

// Kill ends the child at once, with what it started as far as that can be found. It does not wait; Done follows.
func (c *Child) Kill() { c.proc.Kill() }

// write sends a line. A child that does not read for writeGrace is as good as gone.
func (c *Child) write(line []byte) error {
	c.toMu.Lock()
	defer c.toMu.Unlock()
	if pipe, can := c.to.(interface{ SetWriteDeadline(time.Time) error }); can {
		_ = pipe.SetWriteDeadline(time.Now().Add(writeGrace)) // not every system can; then the kill ends the writing
	}
	_, err := c.to.Write(line)
	return err
}

// OrderError says that a method was called at the wrong time. It is a fault of the caller.
type OrderError struct {
	Op    string // "run", "leave", "stop"
	State string // what the child was doing: "loading", "waiting", "running", "finished"
}

func (e *OrderError) Error() string { return e.Op + " while the child is " + e.State }

// ExitError says that the child was gone when it was needed.
type ExitError struct{ Exit Exit }

func (e *ExitError) Error() string { return "module process " + e.Exit.String() }
