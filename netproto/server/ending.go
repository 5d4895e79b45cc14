package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server/limits"
	"collet/platform/text"
)

// ending is how a connection ends: what the log says, what the peer is told, and whether to wait for it to close.
type ending struct {
	cause    limits.Cause
	level    zerolog.Level
	text     string
	err      error
	farewell netproto.Message // nil: the connection is closed without a word
	linger   bool
}

// hard is a hard disconnect: a warning in the log, and for a C1 client the reason.
func (c *session) hard(why limits.Cause, reason netproto.RefuseReason, request uint32, format string, args ...any) *ending {
	e := &ending{cause: why, level: zerolog.WarnLevel, text: fmt.Sprintf(format, args...)}
	if c.generation == netproto.C1 {
		e.farewell, e.linger = &netproto.Refuse{Reason: reason, Request: request, Text: reason.String()}, true
	}
	return e
}

// goingDown is the end that a stopping server gives its clients.
func (c *session) goingDown() *ending {
	e := &ending{cause: causeStopping, level: zerolog.InfoLevel, text: "Disconnected a client: the server is being stopped"}
	switch c.generation {
	case netproto.C1:
		e.farewell = &netproto.Refuse{Reason: netproto.RefuseGoingDown, Text: netproto.RefuseGoingDown.String()}
	case netproto.G1, netproto.G2a, netproto.G2b:
		e.farewell = &netproto.Disconnect{}
	}
	e.linger = e.farewell != nil
	return e
}

// broken is the end that the peer or the network made. A WebSocket closes itself when its reader meets a fault of the peer; where a write
// is the first to notice, the reader says what it was.
func (c *session) broken(err error) *ending {
	if errors.Is(err, net.ErrClosed) {
		for range c.inbox { // ends: nothing can be read any more
		}
		if garbled(c.conn, c.readErr) {
			return c.malformed()
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return &ending{cause: causeClosed, level: zerolog.DebugLevel, text: "Client closed the connection"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &ending{cause: causeProgress, level: zerolog.WarnLevel, text: fmt.Sprintf("Write timeout from host '%s'", c.host)}
	default:
		return &ending{cause: causeBroken, level: zerolog.InfoLevel, text: "Connection broke", err: err}
	}
}

// malformed is the end of a connection whose carrier brought what can't be read. The carrier has told the peer.
func (c *session) malformed() *ending {
	return &ending{cause: causeMalformed, level: zerolog.WarnLevel, err: c.readErr, text: fmt.Sprintf("Invalid network data from host '%s'", c.host)}
}

// tell logs the end and says farewell. A peer that can't be told is not waited for.
func (e *ending) tell(c *session) {
	c.server.meter.ended(e.cause)
	c.line(e).AnErr("error", e.err).Msg(e.text)
	if e.farewell == nil {
		return
	}
	if err := c.wire.Write(e.farewell); err != nil {
		e.linger = false
	}
}

// line begins the line of an end. Warnings about what a peer did are counted by its address.
func (c *session) line(e *ending) *zerolog.Event {
	if e.level != zerolog.WarnLevel {
		return c.log.WithLevel(e.level)
	}
	most := limits.WarnKnown
	if c.generation == 0 {
		most = limits.WarnUnknown
	}
	return c.server.warn(c.slot.Client, e.cause, most).Str("peer", c.conn.RemoteAddr().String())
}

// linger discards what the peer still sends until it closes, so that closing with unread data doesn't destroy our last
// words on their way. Only C1 clients are told that nothing more will come: an engine's client would take the closed
// half for a lost connection before it has read why. The reader must have stopped.
func (c *session) linger() {
	lingerOn(c.conn, c.generation == netproto.C1)
}

func lingerOn(conn net.Conn, tell bool) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && tell {
		half.CloseWrite() // a connection that is gone already ends the reading below at once
	}
	conn.SetReadDeadline(time.Now().Add(lingerTimeout))
	io.CopyN(io.Discard, conn, maxLinger)
}

// quote makes a peer's text fit for a log line: short, and without characters that a terminal obeys.
func quote(s string) string { return text.Quote(s) }

// clip shortens a peer's text.
func clip(s string) string { return text.Clip(s, text.MaxQuoted) }
