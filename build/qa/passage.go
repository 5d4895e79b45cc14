package qa

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// passage is one connection through a Proxy: two sockets and two directions, each with a reading and a writing goroutine
// that run waits for.
type passage struct {
	number int
	client *net.TCPConn
	line   *line
	cancel context.CancelFunc // ends the context that run was given
	fault  Fault
	opened time.Time
	moved  [3]atomic.Int64 // bytes by Direction
	done   chan struct{}   // closed when run returns

	mu     sync.Mutex
	target *net.TCPConn // nil before it is reached
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
	if c.end != StillOpen { // cut while the target was being reached
		c.target.Close()
		return false
	}
	return true
}

// finish closes both sockets and ends ctx of run, once; it reports whether the connection was open. Errors of Close have
// no reader: the connection is gone.
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

// forward moves one direction until its end. An orderly end is passed on; any other end takes the whole connection down.
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

// fill reads from into q; it reports whether the end was an orderly one.
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

// drain writes what comes out of q when its time has come.
func (c *passage) drain(ctx context.Context, q *queue, d Direction, to io.Writer) error {
	if c.cutIfDue(d) {
		return errCut
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

// send writes one piece of data that entered the link at the given time.
func (c *passage) send(ctx context.Context, d Direction, to io.Writer, data []byte, at time.Time) (int, error) {
	link, err := c.line.open(ctx)
	if err != nil {
		return 0, err
	}
	if err := sleepUntil(ctx, at.Add(link.Delay)); err != nil {
		return 0, err
	}
	n := min(len(data), link.piece(), c.left(d))
	if err := c.line.pass(ctx, d, n); err != nil {
		return 0, err
	}
	if link, err = c.line.open(ctx); err != nil { // it may have stalled meanwhile
		return 0, err
	}
	n, err = to.Write(data[:n])
	c.moved[d].Add(int64(n))
	if err == nil && c.cutIfDue(d) {
		err = errCut
	}
	return n, err
}

// left is how many bytes of direction d may still pass before the cut.
func (c *passage) left(d Direction) int {
	if c.fault.Cut != d {
		return readSize
	}
	return int(min(c.fault.After-c.moved[d].Load(), readSize))
}

func (c *passage) cutIfDue(d Direction) bool {
	due := c.fault.Cut == d && c.moved[d].Load() >= c.fault.After
	if due {
		c.finish(WasCut, c.fault.Reset)
	}
	return due
}
