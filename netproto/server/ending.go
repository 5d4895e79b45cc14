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

// ending is how a connection ends: the log line, the farewell, and whether to wait until the peer closes.
type ending struct {
	cause    limits.Cause
	level    zerolog.Level
	text     string
	err      error
	farewell netproto.Message // nil: the connection is closed without a farewell
	linger   bool
}

// disconnect is a hard disconnect: a warning in the log, and the reason for a C1 client.
func (c *session) disconnect(why limits.Cause, reason netproto.RefuseReason, request uint32, format string, args ...any) *ending {
	e := &ending{cause: why, level: zerolog.WarnLevel, text: fmt.Sprintf(format, args...)}
	if c.generation == netproto.C1 {
		e.farewell, e.linger = &netproto.Refuse{Reason: reason, Request: request, Text: reason.String()}, true
	}
	return e
}

// endStopping is the ending for clients of a stopping server.
func (c *session) endStopping() *ending {
	e := &ending{cause: limits.CauseStopping, level: zerolog.InfoLevel, text: "Disconnected a client: the server is being stopped"}
	switch c.generation {
	case netproto.C1:
		e.farewell = &netproto.Refuse{Reason: netproto.RefuseGoingDown, Text: netproto.RefuseGoingDown.String()}
	case netproto.G1, netproto.G2a, netproto.G2b:
		e.farewell = &netproto.Disconnect{}
	}
	e.linger = e.farewell != nil
	return e
}

// endBroken is the ending that the peer or the network caused. A WebSocket closes itself when its reader meets a fault of the peer.
// Where a write notices first, the reader's error has the reason.
func (c *session) endBroken(err error) *ending {
	if errors.Is(err, net.ErrClosed) {
		for range c.inbox.messages { // ends: the connection is closed
		}
		if violatesTransport(c.conn, c.inbox.err) {
			return c.endMalformed()
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return &ending{cause: limits.CauseClosed, level: zerolog.DebugLevel, text: "Client closed the connection"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &ending{cause: limits.CauseProgress, level: zerolog.WarnLevel, text: fmt.Sprintf("Write timeout from host '%s'", c.host)}
	default:
		return &ending{cause: limits.CauseBroken, level: zerolog.InfoLevel, text: "Connection broke", err: err}
	}
}

// endMalformed is the ending after invalid data at the level of TLS or WebSocket. The transport has notified the peer.
func (c *session) endMalformed() *ending {
	return &ending{cause: limits.CauseMalformed, level: zerolog.WarnLevel, err: c.inbox.err, text: fmt.Sprintf("Invalid network data from host '%s'", c.host)}
}

// finish logs the end and sends the farewell. Warnings about a peer are counted by its address. If sending fails, there is no
// lingering.
func (c *session) finish(e *ending) {
	c.server.metrics.CountEnd(e.cause)
	line := c.log.WithLevel(e.level)
	if e.level == zerolog.WarnLevel {
		most := limits.WarnKnown
		if c.generation == 0 {
			most = limits.WarnUnknown
		}
		line = c.server.Warn(c.slot.Client, e.cause, most).Str("peer", c.conn.RemoteAddr().String())
	}
	line.AnErr("error", e.err).Msg(e.text)
	if e.farewell == nil {
		return
	}
	if err := c.out.wire.Write(e.farewell); err != nil {
		e.linger = false
	}
}

// linger discards the peer's data until it closes, because closing with unread data could destroy the last messages in transit.
// closeWrite closes the sending half first. The reader must have stopped.
func linger(conn net.Conn, closeWrite bool) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && closeWrite {
		half.CloseWrite() // if the connection is gone, the read below ends at once
	}
	conn.SetReadDeadline(time.Now().Add(lingerTimeout))
	io.CopyN(io.Discard, conn, maxLinger)
}

// quote makes a peer's text safe for a log line: short, and without control characters.
func quote(s string) string { return text.Quote(s) }

// clip shortens a peer's text for a log field.
func clip(s string) string { return text.Clip(s, text.MaxQuoted) }
