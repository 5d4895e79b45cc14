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

// connection is one connection through a Proxy: two sockets and two directions, each with a reading and a writing goroutine that run waits
// for.
type connection struct {
	number    int
	client    *net.TCPConn
	link      *sharedLink
	cancel    context.CancelFunc // ends the context of run
	faults    []Fault
	schedules [3]*schedule  // by Direction
	silenced  chan struct{} // closed when both directions stop passing bytes
	silence   sync.Once
	opened    time.Time
	moved     [3]atomic.Int64 // bytes by Direction
	done      chan struct{}   // closed when run returns

	mu     sync.Mutex
	target *net.TCPConn // nil before the connection to the target
	end    End
	closed time.Time
}

func (c *connection) record() Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Record{
		Number: c.number, Up: c.moved[Up].Load(), Down: c.moved[Down].Load(),
		End: c.end, Opened: c.opened, Closed: c.closed,
	}
}

// relay forwards until both directions have ended or the connection was finished.
func (c *connection) relay(ctx context.Context, target string) {
	defer close(c.done)
	if hole, is := blackHole(c.faults); is {
		wait(ctx, hole.For)
		c.close(WasCut, true)
		return
	}
	if !c.connect(ctx, target) {
		c.close(NoTarget, true)
		return
	}
	var directions sync.WaitGroup
	directions.Go(func() { c.forward(ctx, Up, c.client, c.target) })
	directions.Go(func() { c.forward(ctx, Down, c.target, c.client) })
	directions.Wait()
	c.close(ClosedByPeer, false)
}

func (c *connection) connect(ctx context.Context, target string) bool {
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

// close closes both sockets and ends the context of run, once; it reports whether the connection was open. Errors of Close are ignored.
func (c *connection) close(end End, reset bool) bool {
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
func (c *connection) forward(ctx context.Context, d Direction, from, to *net.TCPConn) {
	q := newQueue()
	var reader sync.WaitGroup
	reader.Go(func() {
		if !c.fillQueue(ctx, q, from) {
			c.close(ClosedByPeer, true)
		}
	})
	err := c.drain(ctx, q, d, to)
	if err == nil && !c.schedules[d].truncated { // a second end fails, where the peer has ended meanwhile
		err = to.CloseWrite()
	}
	if err != nil {
		c.close(ClosedByPeer, false)
	}
	reader.Wait()
}

// fillQueue reads from into q; it reports whether the end was orderly.
func (c *connection) fillQueue(ctx context.Context, q *queue, from io.Reader) bool {
	defer q.closeInput()
	for {
		data := make([]byte, readSize)
		n, err := from.Read(data)
		if n > 0 {
			link, _ := c.link.currentLink()
			if q.putPacket(ctx, packet{data[:n], time.Now()}, link.queueLimit()) != nil {
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

// drain writes the packets of q when they are due, and injects the faults.
func (c *connection) drain(ctx context.Context, q *queue, d Direction, to *net.TCPConn) error {
	if err := c.inject(ctx, d, to); err != nil {
		return err
	}
	for {
		p, more, err := q.nextPacket(ctx)
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
func (c *connection) send(ctx context.Context, d Direction, to *net.TCPConn, data []byte, at time.Time) (int, error) {
	link, err := c.link.untilOpen(ctx)
	if err != nil {
		return 0, err
	}
	if err := interrupt.Sleep(ctx, time.Until(at.Add(link.Delay))); err != nil {
		return 0, err
	}
	n := c.schedules[d].room(min(len(data), link.piece()))
	if err := c.link.waitTurn(ctx, d, n); err != nil {
		return 0, err
	}
	if _, err = c.link.untilOpen(ctx); err != nil { // it may have stalled in the meantime
		return 0, err
	}
	if err := c.untilSilenced(ctx); err != nil {
		return 0, err
	}
	if out := c.schedules[d].apply(data[:n]); len(out) > 0 {
		wrote, err := to.Write(out)
		c.moved[d].Add(int64(wrote))
		if err != nil {
			return n, err
		}
	}
	return n, c.inject(ctx, d, to)
}

// untilSilenced returns at once unless the connection is half-open; then it waits until ctx ends.
func (c *connection) untilSilenced(ctx context.Context) error {
	select {
	case <-c.silenced:
		<-ctx.Done()
	default:
	}
	return ctx.Err()
}

// inject executes all faults of the schedule at the current position of direction d.
func (c *connection) inject(ctx context.Context, d Direction, to *net.TCPConn) error {
	for {
		fault, is := c.schedules[d].nextFault()
		if !is {
			return ctx.Err()
		}
		switch fault.Kind {
		case Cut, Reset:
			c.close(WasCut, fault.Kind == Reset)
			return errCut
		case Truncate:
			if err := to.CloseWrite(); err != nil {
				return err
			}
		case Stall:
			if err := wait(ctx, fault.For); err != nil {
				return err
			}
		case HalfOpen:
			c.silence.Do(func() { close(c.silenced) })
			if err := wait(ctx, fault.For); err != nil {
				return err
			}
			c.close(WasCut, true)
			return errCut
		}
	}
}
