package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"collet/platform/interrupt"
)

// passage is one connection through a Proxy: two sockets and two directions, each with a reading and a writing goroutine that run waits
// for.
type passage struct {
	number int
	client *net.TCPConn
	line   *line
	cancel context.CancelFunc // ends the context of run
	fault  Fault
	plans  [3]*plan      // by Direction
	muted  chan struct{} // closed when both directions stop passing bytes
	mute   sync.Once
	opened time.Time
	moved  [3]atomic.Int64 // bytes by Direction
	done   chan struct{}   // closed when run returns

	mu     sync.Mutex
	target *net.TCPConn // nil before the connection to the target
	end    End
	closed time.Time
}

func (c *passage) record() Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Record{
		Number: c.number, Up: c.moved[Up].Load(), Down: c.moved[Down].Load(),
		End: c.end, Opened: c.opened, Closed: c.closed,
	}
}

// run forwards until both directions have ended or the connection was finished.
func (c *passage) run(ctx context.Context, target string) {
	defer close(c.done)
	if hole, is := c.fault.hole(); is {
		linger(ctx, hole.For)
		c.finish(WasCut, true)
		return
	}
	if !c.reach(ctx, target) {
		c.finish(NoTarget, true)
		return
	}
	var directions sync.WaitGroup
	directions.Go(func() { c.forward(ctx, Up, c.client, c.target) })
	directions.Go(func() { c.forward(ctx, Down, c.target, c.client) })
	directions.Wait()
	c.finish(ClosedByPeer, false)
}

func (c *passage) reach(ctx context.Context, target string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = conn.(*net.TCPConn)
	if c.end != StillOpen { // cut while connecting to the target
		c.target.Close()
		return false
	}
	return true
}

// finish closes both sockets and ends the context of run, once; it reports whether the connection was open. Errors of Close are ignored.
func (c *passage) finish(end End, reset bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != StillOpen {
		return false
	}
	c.end, c.closed = end, time.Now()
	c.cancel()
	for _, conn := range []*net.TCPConn{c.client, c.target} {
		if conn == nil {
			continue
		}
		if reset {
			conn.SetLinger(0) // the system then sends a reset
		}
		conn.Close()
	}
	return true
}

// forward copies one direction until its end. An orderly end is passed on; any other end closes the whole connection.
func (c *passage) forward(ctx context.Context, d Direction, from, to *net.TCPConn) {
	q := newQueue()
	var reader sync.WaitGroup
	reader.Go(func() {
		if !c.fill(ctx, q, from) {
			c.finish(ClosedByPeer, true)
		}
	})
	if c.drain(ctx, q, d, to) != nil || to.CloseWrite() != nil {
		c.finish(ClosedByPeer, false)
	}
	reader.Wait()
}

// fill reads from into q; it reports whether the end was orderly.
func (c *passage) fill(ctx context.Context, q *queue, from io.Reader) bool {
	defer q.end()
	for {
		data := make([]byte, readSize)
		n, err := from.Read(data)
		if n > 0 {
			link, _ := c.line.get()
			if q.put(ctx, parcel{data[:n], time.Now()}, link.queueLimit()) != nil {
				return false
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// errCut says that drain has cut the connection.
var errCut = errors.New("cut")

// drain writes the parcels of q when they are due, and executes the plan.
func (c *passage) drain(ctx context.Context, q *queue, d Direction, to *net.TCPConn) error {
	if err := c.due(ctx, d, to); err != nil {
		return err
	}
	for {
		p, more, err := q.get(ctx)
		if err != nil || !more {
			return err
		}
		for data := p.data; len(data) > 0; {
			n, err := c.send(ctx, d, to, data, p.at)
			if err != nil {
				return err
			}
			q.done(n)
			data = data[n:]
		}
	}
}

// send processes one piece of data that entered the link at the given time, and returns the number of finished bytes.
func (c *passage) send(ctx context.Context, d Direction, to *net.TCPConn, data []byte, at time.Time) (int, error) {
	link, err := c.line.open(ctx)
	if err != nil {
		return 0, err
	}
	if err := interrupt.Sleep(ctx, time.Until(at.Add(link.Delay))); err != nil {
		return 0, err
	}
	n := c.plans[d].room(min(len(data), link.piece()))
	if err := c.line.pass(ctx, d, n); err != nil {
		return 0, err
	}
	if _, err = c.line.open(ctx); err != nil { // it may have stalled in the meantime
		return 0, err
	}
	if err := c.whileHeard(ctx); err != nil {
		return 0, err
	}
	if out := c.plans[d].pass(data[:n]); len(out) > 0 {
		wrote, err := to.Write(out)
		c.moved[d].Add(int64(wrote))
		if err != nil {
			return n, err
		}
	}
	return n, c.due(ctx, d, to)
}

// whileHeard returns at once unless the connection is half-open; then it waits until ctx ends.
func (c *passage) whileHeard(ctx context.Context) error {
	select {
	case <-c.muted:
		<-ctx.Done()
	default:
	}
	return ctx.Err()
}

// due executes all deeds of the plan at the current position of direction d.
func (c *passage) due(ctx context.Context, d Direction, to *net.TCPConn) error {
	for {
		deed, is := c.plans[d].take()
		if !is {
			return ctx.Err()
		}
		switch deed.Kind {
		case Cut, Reset:
			c.finish(WasCut, deed.Kind == Reset)
			return errCut
		case Truncate:
			if err := to.CloseWrite(); err != nil {
				return err
			}
		case Stall:
			if err := linger(ctx, deed.For); err != nil {
				return err
			}
		case HalfOpen:
			c.mute.Do(func() { close(c.muted) })
			if err := linger(ctx, deed.For); err != nil {
				return err
			}
			c.finish(WasCut, true)
			return errCut
		}
	}
}
