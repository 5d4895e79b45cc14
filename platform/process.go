package platform

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ControlFlag is the first argument of every process that StartProcess starts. What follows it goes to OpenControl.
const ControlFlag = "--control="

// outputGrace is how long the output of a process is read after its end. Usually the pipes are closed by then; only a process that the
// child started and left running keeps them open.
const outputGrace = time.Second

// Command is the process to start. Only Exe is required.
type Command struct {
	Exe  string   // absolute path
	Args []string // without the name of the program; ControlFlag is put before them
	Env  []string // "name=value"; nil is the environment of this process
	Dir  string   // working folder; empty is that of this process
	// Stdout and Stderr are called with the output of the process, line by line without the end of line, each on its own goroutine.
	// A line over 4096 bytes arrives in pieces; a last line without an end arrives when the process has ended. Output is not
	// queued: while they run, the process may block. nil discards the output.
	Stdout, Stderr func(line string)
	// Streams gives the process the standard streams of this process; Stdout and Stderr are not used then.
	Streams bool
}

// Process is a running child with a private pair of pipes, its control handles, beside its standard streams. Its standard input is
// empty, unless it has the streams of this process.
//
// It ends with this process: Linux kills it, Windows ends its job, and on every system From and To break, which the child has to notice
// by reading. It has its own process group, so that Ctrl-C in a terminal reaches this process and not the child.
//
// All methods are safe for concurrent use. Done is closed when the process has ended and its output was delivered. The caller closes
// the control handles.
type Process struct {
	From *os.File // what the child writes
	To   *os.File // what the child reads

	pid  int
	done chan struct{}
	end  ProcessEnd // written before done is closed

	mu     sync.Mutex
	tree   tree
	over   bool // tree was released
	killed bool // Kill ended a running process
}

// StartProcess starts c. The error is an *os.PathError or *os.SyscallError of the failed call.
func StartProcess(c Command) (*Process, error) {
	pipes, err := newControlPipes()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: c.Exe, Env: c.Env, Dir: c.Dir, WaitDelay: outputGrace}
	numbers, err := attach(cmd, pipes)
	if err != nil {
		pipes.closeAll()
		return nil, err
	}
	cmd.Args = append([]string{c.Exe, ControlFlag + numbers}, c.Args...)
	stdout, stderr := &lineWriter{emit: c.Stdout}, &lineWriter{emit: c.Stderr}
	if c.Stdout != nil {
		cmd.Stdout = stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = stderr
	}
	if c.Streams {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	p := &Process{From: pipes.from, To: pipes.to, done: make(chan struct{})}
	started := make(chan error)
	go p.own(cmd, started, stdout.finish, stderr.finish)
	if err := <-started; err != nil {
		pipes.closeAll()
		return nil, err
	}
	pipes.closeChilds()
	return p, nil
}

// own starts cmd and waits for its end on a dedicated thread: Linux kills the child when the thread that started it ends, not when the
// process does. At the end the goroutine closes p.done.
func (p *Process) own(cmd *exec.Cmd, started chan<- error, finish ...func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) { // the error of os/exec on Windows for a missing file
			err = &os.PathError{Op: "start", Path: cmd.Path, Err: os.ErrNotExist}
		}
		started <- err
		return
	}
	p.pid, p.tree = cmd.Process.Pid, newTree(cmd.Process)
	started <- nil

	err := cmd.Wait()
	for _, f := range finish {
		f()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.tree.release()
	p.end = endOfWait(err, cmd.ProcessState, p.killed)
	close(p.done)
}

// endOfWait converts the result of Wait.
func endOfWait(err error, state *os.ProcessState, killed bool) ProcessEnd {
	if state == nil {
		return ProcessEnd{Code: -1, Err: err}
	}
	end := endOf(state)
	end.Killed = killed && isKill(end)
	return end
}

// Pid is the id of the process.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has ended and its output was delivered.
func (p *Process) Done() <-chan struct{} { return p.done }

// End waits for Done and returns how the process ended.
func (p *Process) End() ProcessEnd {
	<-p.done
	return p.end
}

// Kill ends the process and its descendants in its process group (Unix) or job (Windows). It does not wait; Done follows. After the end
// it does nothing. If the process ends without Kill, its descendants survive.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over && p.tree.kill() {
		p.killed = true
	}
}

// ProcessEnd is how a process ended.
type ProcessEnd struct {
	Code    int    // exit code, -1 if a signal ended it or the end is unknown; on Windows an exception is its own code
	Signal  string // name of the signal ("SIG…") or exception that ended it; empty if it exited by itself
	Meaning string // description of the signal or exception, "segmentation fault"
	Core    bool   // the system wrote a core file
	Asked   bool   // the program was asked to end: by the session, the terminal or SIGTERM
	Killed  bool   // Process.Kill ended it
	Err     error  // why the end is unknown; nil otherwise
}

// String describes the end as a predicate: "exited with code 3", "ended by signal SIGSEGV (segmentation fault)".
func (e ProcessEnd) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("ended in an unknown way (%v)", e.Err)
	case e.Killed:
		return "was stopped"
	case e.Signal == "" && e.Code > math.MaxInt32: // of Windows, where programs exit with negative numbers, too
		return fmt.Sprintf("exited with code %d (%d)", e.Code, int32(uint32(e.Code)))
	case e.Signal == "":
		return "exited with code " + strconv.Itoa(e.Code)
	}
	text := "ended by exception " + e.Signal
	if strings.HasPrefix(e.Signal, "SIG") {
		text = "ended by signal " + e.Signal
	}
	if e.Meaning != "" {
		text += " (" + e.Meaning + ")"
	}
	if e.Core {
		text += ", core written"
	}
	return text
}

// controlPipes are both ends of both pipes.
type controlPipes struct{ from, childTo, childFrom, to *os.File }

func newControlPipes() (*controlPipes, error) {
	from, childTo, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	childFrom, to, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, from.Close(), childTo.Close())
	}
	return &controlPipes{from, childTo, childFrom, to}, nil
}

func (p *controlPipes) closeChilds() {
	p.childTo.Close()
	p.childFrom.Close()
}

func (p *controlPipes) closeAll() {
	p.closeChilds()
	p.from.Close()
	p.to.Close()
}

// OpenControl opens the control handles in the child. numbers is the value of ControlFlag: "R,W", the handle to read and the one to
// write. After the call no started process inherits them, so call it before starting any. Numbers that are not two pipes of the right
// direction are an error, and their handles are not changed.
func OpenControl(numbers string) (in, out *os.File, err error) {
	r, w, both := strings.Cut(numbers, ",")
	read, errR := strconv.ParseUint(r, 10, 32)
	write, errW := strconv.ParseUint(w, 10, 32)
	if !both || errR != nil || errW != nil {
		return nil, nil, fmt.Errorf("control handles %q are not two numbers", numbers)
	}
	if err = errors.Join(checkControl(uintptr(read), false), checkControl(uintptr(write), true)); err != nil {
		return nil, nil, fmt.Errorf("control handles %q: %w", numbers, err)
	}
	if in, err = openControl(uintptr(read), "control (read)"); err != nil {
		return nil, nil, err
	}
	if out, err = openControl(uintptr(write), "control (write)"); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

var (
	errNoPipe    = errors.New("not a pipe")
	errDirection = errors.New("a pipe of the wrong direction")
)
