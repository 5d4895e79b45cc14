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

// wire is a network connection on which silence is an error. A Read has to bring something in time. A Write may take
// longer as long as bytes arrive: a busy peer on a slow link answers first and reads afterwards.
type wire struct {
	net.Conn
	idle time.Duration

	mu    sync.Mutex
	until time.Time // no read goes on longer than this, if set
	moved time.Time // the last time that something arrived
}

func (w *wire) Read(p []byte) (int, error) {
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

func (w *wire) Write(p []byte) (done int, err error) {
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

// silent reports whether nothing has arrived for as long as a write was given.
func (w *wire) silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.moved) >= w.idle
}

// expire lets reading go on for d at most. A connection that can't be told is closed already.
func (w *wire) expire(d time.Duration) {
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

// end stops the session, once, for the reason given.
func (c *Client) end(reason error) {
	c.once.Do(func() {
		c.err = c.explain(reason)
		close(c.done)
		if err := c.conn.Close(); err != nil {
			c.opt.Log.Debug().Err(err).Str("peer", c.opt.Addr).Msg("close connection")
		}
	})
}

// explain gives an error of the stream its type. What the peer said or did wrong goes before what sending ran into.
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

// await takes the next arrival from ch. What arrived before the session ended still counts.
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

// receive reads until the session ends. It never waits for the caller: only what was asked for goes into the channels,
// and they have room for all of it.
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

// take deals with one message.
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
	case *Spread:
		return c.spread(m, len(frame))
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
	// maxIdle is how many bytes of messages that were not asked for a client takes at any time, and idleRate how many more each second.
	// A stream that is compressed can be a thousand times as long as what comes, and time is all that it would cost.
	maxIdle  = 16 << 20
	idleRate = 64 << 10
	// leastIdle is what each of them counts as at least: a small one costs as much time as so many bytes.
	leastIdle = 256
)

// idle counts a message of no consequence, of which size bytes were kept.
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

// settle checks that m was asked for and passes it to whoever waits.
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
		if m.Request >= firstObjectRequest {
			c.objects.arrived(m.Request, m.Data, frame)
			return nil
		}
	case *NoObject:
		c.objects.missing(m.Request)
		return nil
	}
	ch <- arrival{m, frame}
	return nil
}

// greeted expects the list behind an answer that allows a transfer, and checks what such an answer must say.
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
	c.spreads = m.Capabilities&c.opt.capabilities()&CapSpread != 0
	if m.MaxPortion == 0 || m.MaxInFlight == 0 {
		err := fmt.Errorf("%d bytes in %d requests move nothing", m.MaxPortion, m.MaxInFlight)
		return &FormatError{Message: m.ID(), Field: "max portion", Offset: frameHeader + maxPortionAt, Err: err}
	}
	return nil
}

// maxPortionAt is the offset of the field in the body of a C1 answer, for error texts.
const maxPortionAt = 4 + 4 + 1 + 1

// send writes what the outbox holds, and asks every PingPeriod, until the session ends.
func (c *Client) send() {
	ticker := time.NewTicker(c.opt.PingPeriod)
	defer ticker.Stop()
	for {
		for batch := c.out.take(); len(batch) > 0; batch = c.out.take() {
			if err := c.conn.Write(batch...); err != nil {
				c.out.fail(err)
				c.wire.expire(writeGrace)
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
