package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// session is one connection. Its reader goroutine runs only read. The session's own goroutine does everything else and alone
// writes to the peer. Fields that both use are atomic or go through inbox.
type session struct {
	server   *Server
	slot     limits.Slot
	log      zerolog.Logger
	conn     net.Conn
	wire     *netproto.Conn
	sendfile *fileSender // nil: files are copied through memory
	host     string      // the peer's address without its port
	// congestion is the name of the connection's congestion control; empty where the system does not report it.
	congestion string

	inbox   chan netproto.Message // closed by the reader when it stops
	readErr error                 // why the reader stopped; read only after inbox is closed
	leaving chan struct{}         // closed when inbox is no longer read

	allowed         atomic.Int32 // C1 range requests that the client may have unanswered, as announced
	unanswered      atomic.Int32 // C1 range requests that were read and whose answer has not begun
	peerPingPending atomic.Bool  // C1: a ping question of the peer is unanswered
	pingPending     atomic.Bool  // our last ping question is unanswered
	lastPong        atomic.Int64 // when the peer's last answer to a ping question was read: nanoseconds since the server was made

	losses *lossDetector // nil: this client is not asked for more connections

	// Set by greet, then fixed.
	generation netproto.Generation
	catalogue  *catalogue.Catalogue

	ping     *time.Timer // fires when the next question is due
	pingDue  time.Time
	activity *time.Timer
	sent     int64 // bytes of files

	handshake  *handshake    // set with exchange
	exchange   *exchange     // nil: no exchange is pending
	unregister func()        // nil: not counted as connected
	kicked     chan struct{} // closed when the settings no longer admit the client
	kicking    sync.Once
	requests   int
}

// serveConn serves one connection to its end and returns after its reader has stopped too.
func (v *service) serveConn(conn net.Conn, taken limits.Slot) {
	s := v.server
	defer conn.Close()
	defer context.AfterFunc(v.hard, func() { conn.Close() })()
	peer := conn.RemoteAddr().String()
	paced := &limits.Conn{Conn: conn, Progress: s.set.Limits.ProgressTime, Bandwidth: taken.Bandwidth, Broken: v.hard}
	c := &session{
		server:   s,
		slot:     taken,
		log:      s.log.With().Str("peer", peer).Logger(),
		conn:     conn,
		wire:     s.newWire(paced),
		sendfile: newFileSender(paced),
		host:     hostOf(peer),
		inbox:    make(chan netproto.Message, s.set.Limits.RequestsInFlight),
		leaving:  make(chan struct{}),
		kicked:   make(chan struct{}),

		congestion: tune(conn, s.set.Network.CongestionControl),
	}
	c.allowed.Store(int32(s.set.Limits.RequestsInFlight))
	c.run(v.ctx)
}

// newWire puts the protocol on a connection, with the operator's limits.
func (s *Server) newWire(paced *limits.Conn) *netproto.Conn {
	l := s.set.Limits
	return netproto.NewConn(paced, netproto.ServerSide,
		netproto.Limits{Hello: min(l.MessageSize, netproto.DefaultServerLimits().Hello), Frame: l.MessageSize},
		netproto.WithZlib(!s.set.Network.DisableZlibCompression), netproto.WithBuffers(&s.writing),
		netproto.WithAsking(s.wantsTags), netproto.WithSeal(s.sealed))
}

// hostOf drops the port.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

func (c *session) run(ctx context.Context) {
	started := time.Now()
	c.log.Debug().Msg("Client connected")
	var reader sync.WaitGroup
	reader.Go(c.readMessages)
	end := c.greet(ctx)
	if c.catalogue != nil {
		defer c.catalogue.Release()
	}
	if c.unregister != nil {
		defer c.unregister()
	}
	if end == nil {
		end = c.converse(ctx)
		c.log.Info().Int("requests", c.requests).Int64("sent", c.sent).Dur("duration", time.Since(started)).Msg("Client is done")
	}
	if c.exchange != nil {
		c.expireExchange()
	}
	end.finish(c)
	close(c.leaving)
	c.conn.SetReadDeadline(longAgo)
	reader.Wait()
	if end.linger {
		c.linger()
	}
}

// longAgo as a deadline makes reading stop at once.
var longAgo = time.Unix(1, 0)

// readMessages is the reader goroutine: it passes messages on until the stream ends, fails, or exceeds a limit.
func (c *session) readMessages() {
	defer close(c.inbox)
	for {
		m, err := c.wire.Read()
		if err == nil {
			err = c.countMessage(m)
		}
		if err != nil {
			c.readErr = err
			return
		}
		select {
		case c.inbox <- m:
		case <-c.leaving:
			return
		}
	}
}

// overrunError says that a C1 client sent more than allowed. It is the client's fault.
type overrunError struct {
	cause   limits.Cause
	reason  netproto.RefuseReason
	request uint32
	text    string
}

func (e *overrunError) Error() string { return e.text }

// countMessage counts what a C1 client has outstanding. Requests and questions count from their reading until their answer begins. A
// client that counts until it has received the whole answer therefore never exceeds the limit.
func (c *session) countMessage(m netproto.Message) error {
	switch m := m.(type) {
	case *netproto.Ping:
		if m.Answer {
			c.lastPong.Store(int64(time.Since(c.server.started)))
			c.pingPending.Store(false)
		} else if c.wire.Generation() == netproto.C1 && c.peerPingPending.Swap(true) {
			return &overrunError{cause: limits.CauseMalformed, reason: netproto.RefuseMalformed, text: "a second ping question before the first was answered"}
		}
	case *netproto.GetRange:
		return c.countRequest(m.Request)
	case *netproto.GetObject:
		return c.countRequest(m.Request)
	}
	return nil
}

// countRequest counts a request of C1.
func (c *session) countRequest(request uint32) error {
	if c.unanswered.Add(1) > c.allowed.Load() {
		return &overrunError{cause: limits.CauseInFlight, reason: netproto.RefuseTooMany, request: request, text: "more requests unanswered than allowed"}
	}
	return nil
}

// converse answers until the connection ends, and returns the ending. greet has set the timers.
func (c *session) converse(ctx context.Context) *ending {
	defer c.ping.Stop()
	defer c.activity.Stop()
	stopped := ctx.Done()
	for {
		select {
		case m, more := <-c.inbox:
			if !more {
				return c.endOfInput(ctx)
			}
			if end := c.handleMessage(m); end != nil {
				return end
			}
		case <-c.ping.C:
			if end := c.sendPing(); end != nil {
				return end
			}
		case <-c.activity.C:
			return c.disconnect(limits.CauseIdle, netproto.RefuseTimeout, 0, "Activity timeout from host '%s'", c.host)
		case <-c.exchangeTimeout():
			c.expireExchange()
		case <-c.kicked:
			return c.disconnect(limits.CauseKicked, netproto.RefuseGoingDown, 0, "Ended the session of host '%s': the operator's settings let it in no longer", c.host)
		case <-stopped:
			// Requests that were already read are still answered; the deadline makes the reader close inbox.
			stopped = nil
			c.conn.SetReadDeadline(longAgo)
		}
	}
}

// endOfInput is the ending that follows from the reader's error.
func (c *session) endOfInput(ctx context.Context) *ending {
	var overrun *overrunError
	var format *netproto.FormatError
	switch {
	case errors.As(c.readErr, &overrun):
		return c.disconnect(overrun.cause, overrun.reason, overrun.request, "Invalid network data from host '%s': %v", c.host, overrun)
	case errors.As(c.readErr, &format):
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': %v", c.host, format)
	case violatesTransport(c.conn, c.readErr):
		return c.endMalformed()
	case ctx.Err() != nil:
		return c.endStopping()
	default:
		return c.endBroken(c.readErr)
	}
}

// write sends messages in one flush.
func (c *session) write(ms ...netproto.Message) error {
	return c.timed(func() error { return c.wire.Write(ms...) })
}

// timed runs send. The time that the peer takes to receive it does not count against its answer to a ping question behind it.
func (c *session) timed(send func() error) error {
	started, asked := time.Now(), c.pingPending.Load() // before: the answer may come while this is sent
	err := send()
	if slow := time.Since(started); asked && slow > 0 {
		c.pingDue = c.pingDue.Add(slow)
		c.ping.Reset(time.Until(c.pingDue))
	}
	return err
}

// newPing begins the period in which a ping question must be answered, and returns the question.
func (c *session) newPing() *netproto.Ping {
	c.pingPending.Store(true)
	period := c.server.set.Limits.PingTime
	c.pingDue = time.Now().Add(period)
	c.ping.Reset(period)
	return &netproto.Ping{}
}

// sendPing sends the next question, or ends the connection if the last one is unanswered. The period restarts with every answer,
// as in the engine's server: a question that waited behind a portion on a slow line does not shorten the time for the next one.
func (c *session) sendPing() *ending {
	if c.pingPending.Load() {
		return c.disconnect(limits.CausePing, netproto.RefuseTimeout, 0, "Ping timeout from host '%s'", c.host)
	}
	due := c.server.started.Add(time.Duration(c.lastPong.Load()) + c.server.set.Limits.PingTime)
	if rest := time.Until(due); rest > 0 {
		c.ping.Reset(rest)
		return nil
	}
	if err := c.write(c.newPing()); err != nil {
		return c.endBroken(err)
	}
	return nil
}
