package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"collet/runtime/abi"
)

// OverdueError reports that a child exceeded a time limit and was killed.
type OverdueError struct {
	What  string // "load", "end"
	Limit time.Duration
}

func (e *OverdueError) Error() string { return fmt.Sprintf("did not %s within %s", e.What, e.Limit) }

// watch is the goroutine that supervises the child. It owns the reader and the pipes, enforces the time limits, and closes
// done.
func (c *Child) watch(ctx context.Context, from io.ReadCloser, loadTimeout time.Duration) {
	reader := make(chan error, 1)
	go func() { reader <- c.readMessages(from) }()
	if read := c.oversee(ctx, reader, loadTimeout); !read {
		select { // the pipe holds the last messages of the process
		case err := <-reader:
			c.noteFault(err)
		case <-time.After(drainGrace): // another process holds the pipe open
			from.Close()
			<-reader
		}
	}
	from.Close()
	c.to.Close()
	c.conclude()
	close(c.done)
}

// oversee waits for the end of the process and enforces it. It reports whether it received the reader's result.
func (c *Child) oversee(ctx context.Context, reader <-chan error, loadTimeout time.Duration) (read bool) {
	known, finished, stop, closed := c.known, c.finished, ctx.Done(), reader
	limit := &OverdueError{"load", loadTimeout}
	timer := time.NewTimer(loadTimeout)
	defer timer.Stop()
	for {
		select {
		case <-c.proc.Done():
			return read
		case <-stop:
			stop = nil
			c.proc.Kill()
		case <-known:
			// A later event may have been handled first, so the timer may already be that of the end.
			if known = nil; limit.What == "load" {
				timer.Stop()
			}
		case <-finished:
			// The same applies here: a broken pipe is the last event and has the shorter limit.
			if finished = nil; !read {
				limit = &OverdueError{"end", endGrace}
				timer.Reset(endGrace)
			}
		case err := <-closed:
			closed, read = nil, true
			limit = &OverdueError{"end", closeGrace}
			timer.Reset(closeGrace)
			if c.noteFault(err) {
				c.proc.Kill()
			}
		case <-timer.C:
			c.overdue(limit, read)
		}
	}
}

// overdue ends a child that exceeded a limit. If the pipe broke before the child's last message, that is the fault.
func (c *Child) overdue(limit *OverdueError, closed bool) {
	c.mu.Lock()
	silent := c.state == loading || c.state == waiting || c.state == running
	c.mu.Unlock()
	if closed && silent {
		c.fail(&ControlError{Fault: Closed, Err: limit})
		return
	}
	c.fail(limit)
}

// fail records err and kills the child.
func (c *Child) fail(err error) {
	c.setFault(err)
	c.proc.Kill()
}

// noteFault records a protocol violation, if it is the first fault. It reports whether err is one.
func (c *Child) noteFault(err error) bool {
	var fault *ControlError
	if !errors.As(err, &fault) {
		return false
	}
	c.setFault(fault)
	return true
}

func (c *Child) setFault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit.Fault == nil && c.state != ended {
		c.exit.Fault = err
		c.log.Warn().Err(err).Msg("child stopped")
	}
}

// readMessages receives the child's messages until the pipe breaks (io.EOF) or a message violates the protocol.
func (c *Child) readMessages(from io.Reader) error {
	for lines := newLines(from); ; {
		m, err := lines.nextMessage()
		if err != nil {
			return err
		}
		if m.Log != nil && c.is(running) {
			c.said.module(m.Log.Level, string(m.Log.Text)) // outside the lock: the caller's Output may be slow
			continue
		}
		if err := c.handleMessage(m); err != nil {
			return err
		}
	}
}

func (c *Child) is(s state) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == s
}

// handleMessage handles one message. It is the only place where a message changes the state.
func (c *Child) handleMessage(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Metadata != nil && c.state == loading:
		c.state, c.exit.Loaded = waiting, true
		c.meta = abi.Metadata{
			ABIVersion: m.Metadata.ABI, RuntimeName: string(m.Metadata.Name),
			BuildHash: string(m.Metadata.Build), CompatibilityVersion: string(m.Metadata.Compatibility),
			Components: m.Metadata.Components.abi(),
		}
		close(c.known)
	case m.LoadFailed != nil && c.state == loading:
		c.state, c.exit.Load = finished, &LoadError{string(m.LoadFailed.Stage), string(m.LoadFailed.Text)}
		close(c.known)
		close(c.finished)
	case m.Progress != nil && c.state == running:
		select {
		case <-c.progress:
		default:
		}
		c.progress <- string(m.Progress.Text)
	case m.Ready != nil && c.state == running && !c.exit.Ready:
		c.exit.Ready = true
		close(c.ready)
	case m.Result != nil && c.state == running:
		c.state = finished
		c.takeResult(*m.Result)
		close(c.finished)
	default:
		return outOfOrder(m)
	}
	return nil
}

// takeResult records the result. The caller holds mu.
func (c *Child) takeResult(r result) {
	c.exit.Ran = time.Since(c.began)
	if r.Fault != "" {
		c.exit.ModuleFault = string(r.Fault)
		return
	}
	reported := r.abi()
	c.exit.Result = &reported
}

// conclude completes the Exit.
func (c *Child) conclude() {
	end := c.proc.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exit.ProcessEnd = end
	c.exit.Left = c.left
	if c.exit.Ran == 0 && !c.began.IsZero() {
		c.exit.Ran = time.Since(c.began)
	}
	c.said.logFindings(&c.exit)
	c.state = ended
	c.log.Info().Int("code", c.exit.Code).Str("signal", c.exit.Signal).Msg("child " + c.exit.String())
}
