// Package process runs programs under test.
//
// A Process has its own process group, so an interrupt typed at a terminal does not reach it, and Stop and Kill end its children too.
// StartServer starts an update server and waits for its address. Tail keeps the end of a program's output.
//
// After Stop, Kill or Done the process has ended and its output was read. A grandchild that holds the output open delays that by at most two
// seconds.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// outputDelay is how long the output of an ended process is still read, since a grandchild may hold the pipe open.
const outputDelay = 2 * time.Second

// Options configure Start. Path is required.
type Options struct {
	Path   string
	Args   []string
	Dir    string     // working directory; empty is the current one
	Env    []string   // the whole environment; nil is the current one
	Output io.Writer  // receives both streams, one write at a time; nil discards them
	Files  []*os.File // inherited as descriptors 3, 4, … (not on Windows)
}

// Process is a program under test. It runs in a process group of its own where the system has such groups, so that an
// interrupt typed at a terminal reaches only the program that owns it. All methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when Wait has returned
	err  error         // of Wait; written before done is closed
}

// Start starts a process. The caller calls Stop or waits for Done.
func Start(o Options) (*Process, error) {
	cmd := exec.Command(o.Path, o.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, o.Output, o.Output
	cmd.ExtraFiles, cmd.WaitDelay = o.Files, outputDelay
	OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(o.Path), err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() { // ends with the process; its owner waits by Stop and Done
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// PID returns the process id, also after the end.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended and its output was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Code returns the exit code: -1 for an end by a signal. It panics before Done is closed.
func (p *Process) Code() int {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	default:
		panic("process: internal error: exit code of a running process")
	}
}

// Wait returns when the process has ended: nil for exit code 0, otherwise an error that describes the end.
func (p *Process) Wait() error {
	<-p.done
	if p.err != nil && !errors.Is(p.err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w", filepath.Base(p.cmd.Path), p.err)
	}
	return nil
}

// Stop asks the process to end, and kills its group if it has not ended after grace. It returns when the process has ended. For an ended
// process it only kills the rest of its group.
func (p *Process) Stop(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	if sendInterrupt(p.cmd.Process) == nil {
		select {
		case <-p.done:
		case <-timer.C:
		}
	}
	p.Kill()
}

// Kill kills the process and its group, and returns when the process has ended.
func (p *Process) Kill() {
	killGroup(p.cmd.Process)
	<-p.done
}
