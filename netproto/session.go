package netproto

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// idleConn is a network connection with an idle timeout. A Read must receive something in time. A Write may take longer
// while bytes arrive: a busy peer on a slow link may send its answers before it reads.
type idleConn struct {
	net.Conn
	idle time.Duration

	mu    sync.Mutex
	until time.Time // latest end of a read, if set
	moved time.Time // when data last arrived
}

func (w *idleConn) Read(p []byte) (int, error) {
	w.mu.Lock()
	deadline := time.Now().Add(w.idle)
	if !w.until.IsZero() && w.until.Before(deadline) {
		deadline = w.until
	}
	err := w.SetReadDeadline(deadline)
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.moved = time.Now()
		w.mu.Unlock()
	}
	return n, err
}

func (w *idleConn) Write(p []byte) (done int, err error) {
	for {
		if err := w.SetWriteDeadline(time.Now().Add(w.idle)); err != nil {
			return done, err
		}
		n, err := w.Conn.Write(p[done:])
		done += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 && w.silent() {
			return done, err
		}
	}
}

// silent reports whether nothing has arrived for the idle timeout.
func (w *idleConn) silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.moved) >= w.idle
}

// expire limits reading to d from now. If it fails, the connection is already closed.
func (w *idleConn) expire(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(d)
	_ = w.SetReadDeadline(w.until)
}

// start runs the two goroutines of the session.
func (c *Client) start() {
	c.work.Go(c.receive)
	c.work.Go(c.send)
}

// end stops the session once, with the given reason.
func (c *Client) end(reason error) {
	c.once.Do(func() {
		c.err = c.explain(reason)
		close(c.done)
		if err := c.conn.Close(); err != nil {
			c.opt.Log.Debug().Err(err).Str("peer", c.opt.Addr).Msg("close connection")
		}
	})
}

// explain converts an error of the stream to its type. A reason or fault of the peer has precedence over an error of sending.
func (c *Client) explain(err error) error {
	var format *FormatError
	var refused *RefusedError
	if errors.As(err, &format) || errors.As(err, &refused) {
		return err
	}
	if sending := c.out.failure(); sending != nil && !errors.Is(err, net.ErrClosed) {
		err = sending
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("nothing moved for %v: %w", c.opt.IdleTimeout, err)
	}
	return &ClosedError{Answered: c.ledger.answered(), Err: err}
}

// await returns the next arrival from ch. Messages that arrived before the session's end are still returned.
func (c *Client) await(ctx context.Context, ch <-chan arrival) (arrival, error) {
	if ctx.Err() != nil {
		c.end(ctx.Err())
		return arrival{}, ctx.Err()
	}
	select {
	case got := <-ch:
		return got, nil
	case <-ctx.Done():
		c.end(ctx.Err())
		return arrival{}, ctx.Err()
	case <-c.done:
	}
	select {
	case got := <-ch:
		return got, nil
	default:
		return arrival{}, c.err
	}
}

// receive reads until the session ends. It never blocks on the caller: only requested messages go into the channels,
// which have room for all of them.
func (c *Client) receive() {
	for {
		m, frame, err := c.conn.readFrame()
		if err == nil {
			err = c.take(m, frame)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

var (
	errGoodbye = errors.New("the server said goodbye")
	errStalled = errors.New("the server answers pings and nothing else")
	errIdle    = errors.New("more comes that was not asked for than a session has use for")
)

// take handles one message.
func (c *Client) take(m Message, frame []byte) error {
	switch m := m.(type) {
	case *Ping:
		c.out.ping(m.Answer)
	case *Refuse:
		return &RefusedError{Reason: m.Reason, Request: m.Request, Text: m.Text}
	case *Disconnect:
		return errGoodbye
	case *AskHello:
		return c.introduce(m, len(frame))
	case *TimeSync:
	case *InfoMessage:
		c.opt.Log.Info().Str("peer", c.opt.Addr).Uint16("code", m.Code).Str("text", m.Text).Msg("message from the server")
	case *Unknown:
		c.opt.Log.Debug().Str("peer", c.opt.Addr).Stringer("message", m.Number).Int("size", m.Size).Msg("passed over")
	default:
		return c.settle(m, frame)
	}
	if err := c.idle(m, len(frame)); err != nil {
		return err
	}
	if c.ledger.stalled(c.opt.AnswerTimeout) {
		return fmt.Errorf("%w for %v", errStalled, c.opt.AnswerTimeout)
	}
	return nil
}

const (
	// maxIdle is how many bytes of unsolicited messages a client accepts at once, and idleRate how many more each
	// second. A compressed stream can expand a thousandfold, and would otherwise only cost time.
	maxIdle  = 16 << 20
	idleRate = 64 << 10
	// leastIdle is the smallest count for one of them: a small message costs the time of so many bytes.
	leastIdle = 256
)

// idle counts an unsolicited message, of which size bytes were kept.
func (c *Client) idle(m Message, size int) error {
	if passed, is := m.(*Unknown); is {
		size = passed.Size
	}
	now := time.Now()
	c.idleBytes = max(c.idleBytes-now.Sub(c.idleAt).Seconds()*idleRate, 0) + float64(max(size+frameHeader, leastIdle))
	c.idleAt = now
	if c.idleBytes <= maxIdle {
		return nil
	}
	return &FormatError{Message: m.ID(), Field: "message", Offset: c.conn.in.offset, Err: errIdle}
}

// settle checks that m was requested and passes it to its receiver.
func (c *Client) settle(m Message, frame []byte) error {
	if fault := c.ledger.settle(m); fault != nil {
		fault.Message, fault.Offset = m.ID(), fault.Offset+c.conn.in.offset-int64(len(frame))
		return fault
	}
	ch := c.data
	switch m := m.(type) {
	case *HandshakeAnswer:
		if err := c.greeted(m); err != nil {
			return err
		}
		ch = c.greeting
	case *ComponentManifest:
		ch = c.manifest
	case *InitData, *FileList:
		ch = c.list
	case *RangeData:
		c.requests.arrive(m.Request, m.Data, frame)
		return nil
	case *NoObject:
		c.requests.miss(m.Request)
		return nil
	}
	ch <- arrival{m, frame}
	return nil
}

// greeted expects the list after an answer that allows a transfer, and checks the fields of such an answer.
func (c *Client) greeted(m *HandshakeAnswer) error {
	g := c.Generation()
	c.ledger.excuse(ask{id: IDAskHello})
	if c.shows(m) {
		c.ledger.expect(ask{id: IDComponentManifest}, due{})
	}
	if !m.Transfers(g) {
		return nil
	}
	if g.Engine() {
		c.ledger.expect(ask{id: IDInitData}, due{})
		return nil
	}
	if !c.unlisted(m) {
		c.ledger.expect(ask{id: IDFileList}, due{})
	}
	if m.MaxPortion == 0 || m.MaxInFlight == 0 {
		err := fmt.Errorf("%d bytes in %d requests move nothing", m.MaxPortion, m.MaxInFlight)
		return &FormatError{Message: m.ID(), Field: "max portion", Offset: frameHeader + maxPortionAt, Err: err}
	}
	return nil
}

// maxPortionAt is the offset of the field in the body of a C1 answer, for error texts.
const maxPortionAt = 4 + 4 + 1 + 1

// send writes the messages of the outbox, and a ping every PingPeriod, until the session ends.
func (c *Client) send() {
	ticker := time.NewTicker(c.opt.PingPeriod)
	defer ticker.Stop()
	for {
		for batch := c.out.take(); len(batch) > 0; batch = c.out.take() {
			if err := c.conn.Write(batch...); err != nil {
				c.out.fail(err)
				c.stream.expire(writeGrace)
				return
			}
		}
		select {
		case <-c.done:
			return
		case <-c.out.ready:
		case <-ticker.C:
			if !c.opt.Auto || c.ledger.answered() {
				c.out.question()
			}
		}
	}
}
