package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// session is one connection. Its goroutine does everything but reading, which is the inbox's, and alone writes to the peer.
type session struct {
	server *Server
	slot   limits.Slot
	log    zerolog.Logger
	conn   net.Conn
	host   string // the peer's address without its port
	inbox  *inbox
	out    *writer
	pings  *pings

	// Set by the handshake, then fixed.
	generation netproto.Generation
	catalogue  *catalogue.Catalogue // nil: no handshake
	unregister func()               // nil: not registered with an operator

	activity *time.Timer
	requests int
	sent     int64 // bytes of files

	judged   func()        // says once that the server may close its store, as far as this client is concerned
	exchange *exchange     // nil: no exchange is pending
	kicked   chan struct{} // closed when the settings no longer admit the client
	kicking  sync.Once
}

// serveConn serves one connection to its end and returns after its reader has stopped too.
func (v *service) serveConn(conn net.Conn, taken limits.Slot) {
	s := v.server
	defer conn.Close()
	defer context.AfterFunc(v.hard, func() { conn.Close() })()
	tune(conn, s.set.Network.CongestionControl)
	peer := conn.RemoteAddr().String()
	paced := &limits.Conn{Conn: conn, Progress: s.set.Limits.ProgressTime, Bandwidth: taken.Bandwidth, Broken: v.hard}
	wire, pings := s.newWire(paced), &pings{period: s.set.Limits.PingTime, started: s.started}
	c := &session{
		server: s,
		slot:   taken,
		log:    s.log.With().Str("peer", peer).Logger(),
		conn:   conn,
		host:   hostOf(peer),
		inbox:  newInbox(wire, pings, s.set.Limits.RequestsInFlight),
		out:    &writer{wire: wire, sendfile: newFileSender(paced), pings: pings},
		pings:  pings,
		kicked: make(chan struct{}),
		judged: sync.OnceFunc(s.unjudged.Done),
	}
	defer c.judged()
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
	reader.Go(c.inbox.readMessages)
	end := c.greet(ctx)
	if c.catalogue != nil {
		defer c.catalogue.Release()
	}
	if c.unregister != nil {
		defer c.unregister()
	}
	if end == nil {
		end = c.converse(ctx)
		c.log.Info().Int("requests", c.requests).Int64("sent", c.sent).Dur("duration", time.Since(started)).Msg("Session ended")
	}
	if c.exchange != nil {
		c.exchange.expire()
	}
	c.finish(end)
	close(c.inbox.closing)
	c.conn.SetReadDeadline(longAgo)
	reader.Wait()
	if end.linger {
		// An engine's client would treat a closed half as a lost connection, before it has read the reason.
		linger(c.conn, c.generation == netproto.C1)
	}
}

// longAgo as a deadline makes reading stop at once.
var longAgo = time.Unix(1, 0)

// converse answers until the connection ends, and returns the ending. The handshake has set the timers.
func (c *session) converse(ctx context.Context) *ending {
	defer c.pings.timer.Stop()
	defer c.activity.Stop()
	stopped := ctx.Done()
	for {
		select {
		case m, more := <-c.inbox.messages:
			if !more {
				return c.endOfInput(ctx)
			}
			if end := c.handleMessage(m); end != nil {
				return end
			}
		case <-c.pings.timer.C:
			if end := c.sendPing(); end != nil {
				return end
			}
		case <-c.activity.C:
			return c.disconnect(limits.CauseIdle, netproto.RefuseTimeout, 0, "Activity timeout from host '%s'", c.host)
		case <-c.exchange.timeout():
			c.exchange.expire()
		case <-c.kicked:
			return c.disconnect(limits.CauseKicked, netproto.RefuseGoingDown, 0, "Ended the session of host '%s': the operator's settings let it in no longer", c.host)
		case <-stopped:
			// Requests that were already read are still answered; the deadline makes the reader close the inbox.
			stopped = nil
			c.conn.SetReadDeadline(longAgo)
		}
	}
}

// endOfInput is the ending that follows from the reader's error.
func (c *session) endOfInput(ctx context.Context) *ending {
	var overrun *overrunError
	var format *netproto.FormatError
	switch err := c.inbox.err; {
	case errors.As(err, &overrun):
		return c.disconnect(overrun.cause, overrun.reason, overrun.request, "Invalid network data from host '%s': %v", c.host, overrun)
	case errors.As(err, &format):
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': %v", c.host, format)
	case violatesTransport(c.conn, err):
		return c.endMalformed()
	case ctx.Err() != nil:
		return c.endStopping()
	default:
		return c.endBroken(err)
	}
}

// handleMessage answers one message. It returns nil if the conversation continues.
func (c *session) handleMessage(m netproto.Message) *ending {
	switch m := m.(type) {
	case *netproto.Ping:
		return c.answerPing(m)
	case *netproto.GetUpdateFile:
		return c.serveRange(request{index: m.Index, offset: m.Offset, length: c.server.portion})
	case *netproto.GetRange:
		c.inbox.unanswered.Add(-1)
		return c.serveRange(request{number: m.Request, index: m.Index, offset: m.Offset, length: c.server.limitLength(m.Length), own: true})
	case *netproto.GetObject:
		c.inbox.unanswered.Add(-1)
		return c.serveObject(m)
	case *netproto.ComponentManifest:
		return c.receiveManifest(m)
	default:
		return nil // an unknown message, which is skipped
	}
}

// answerPing answers a question. Every ping of an engine's client, question or answer, draws a TimeSync.
func (c *session) answerPing(m *netproto.Ping) *ending {
	var messages []netproto.Message
	if !m.Answer {
		c.pings.peerPending.Store(false)
		messages = append(messages, &netproto.Ping{Answer: true})
	}
	if c.generation.Engine() {
		messages = append(messages, &netproto.TimeSync{Time: c.server.clock()})
	}
	if len(messages) == 0 {
		return nil
	}
	if err := c.out.write(messages...); err != nil {
		return c.endBroken(err)
	}
	return nil
}

// sendPing sends the next question, or ends the connection if the last one is unanswered.
func (c *session) sendPing() *ending {
	switch {
	case c.pings.pending.Load():
		return c.disconnect(limits.CausePing, netproto.RefuseTimeout, 0, "Ping timeout from host '%s'", c.host)
	case c.pings.postpone():
		return nil
	}
	if err := c.out.write(c.pings.newQuestion()); err != nil {
		return c.endBroken(err)
	}
	return nil
}

// kick ends the session because the settings no longer admit its client. It is safe for concurrent use.
func (c *session) kick() { c.kicking.Do(func() { close(c.kicked) }) }

// clock is the synchronised time: milliseconds since the server was created.
func (s *Server) clock() int64 { return time.Since(s.started).Milliseconds() }

// limitLength is how many of the requested bytes a C1 client gets: at most one portion.
func (s *Server) limitLength(length uint32) int { return int(min(int64(length), int64(s.portion))) }
