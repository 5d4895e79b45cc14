package origin

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"collet/netproto/server"
	"collet/netproto/server/limits"
	"collet/netproto/server/metrics"
)

// portListener is the listener of an HTTP port. While it offers a release folder, every connection needs a slot among those of
// all clients and shares the bandwidth of its address. maxHealthConnections further connections beside Limits.HTTPConnections are
// reserved for addresses that may request health, so an operator can connect to a full server.
type portListener struct {
	net.Listener
	monitor *Monitor
	offers  bool            // a release folder is offered here
	ctx     context.Context // connections are closed when it ends
	slots   slots
}

// Accept implements net.Listener.
func (l *portListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, admitted := l.admit(conn); admitted {
			return c, nil
		}
		conn.Close()
	}
}

// admit gives a connection its slots. A refused connection is answered with the reason, while few refusals are in progress.
func (l *portListener) admit(conn net.Conn) (c *connection, admitted bool) {
	m := l.monitor
	addr := limits.Address(conn.RemoteAddr().String())
	c = &connection{listener: l, Conn: limits.Conn{Conn: conn, Progress: m.progressTime(), Broken: l.ctx}, health: m.mayRequestHealth(addr)}
	c.client = limits.Client(addr)
	s := m.server.Load()
	c.filesOnly = s != nil && l.offers && !c.health
	limit := slotLimit{total: maxHealthConnections, perAddress: maxHealthPerAddress}
	switch {
	case c.filesOnly:
		limit = slotLimit{total: m.set.Limits.HTTPConnections} // the Limiter has the limit per address
	case s != nil && s.Limiter().IsExempt(addr):
		limit.perAddress = 0
	}
	entered := l.slots.enter(c, limit, time.Now())
	switch {
	case !c.filesOnly && !entered:
		return nil, false
	case s == nil || !l.offers:
		return c, true
	case !entered:
		c.refusal, c.slot.Client = limits.CauseHTTP, c.client
	default:
		c.slot, c.refusal = s.Limiter().Enter(addr, time.Now())
	}
	if c.refusal == "" {
		c.server, c.Bandwidth = s, c.slot.Bandwidth
		c.uncount = s.Metrics().CountConnection(l.transport())
		return c, true
	}
	s.Metrics().CountRefusal(c.refusal, l.transport())
	s.Warn(c.slot.Client, c.refusal, limits.WarnUnknown).Str("peer", conn.RemoteAddr().String()).
		Msgf("Refused an HTTP connection from host '%s': %s", addr, c.refusal.Explain())
	if c.health {
		return c, true
	}
	if c.refusalSlot = s.Limiter().BeginRefusal(c.slot, time.Now()); c.refusalSlot {
		c.server = s
		return c, true
	}
	c.release()
	return nil, false
}

func (l *portListener) transport() metrics.Transport {
	if l.monitor.pair != nil {
		return metrics.HTTPS
	}
	return metrics.HTTP
}

// connection is a connection to an HTTP port. All writes have the write deadline and the rate limit of limits.Conn.
type connection struct {
	limits.Conn
	listener    *portListener
	health      bool           // may request health
	filesOnly   bool           // may only fetch files
	client      netip.Prefix   // its address
	refusal     limits.Cause   // empty: not refused
	server      *server.Server // has given it a slot, or a refusal's slot
	slot        limits.Slot
	uncount     func()
	refusalSlot bool
	once        sync.Once

	// Guarded by the lock of slots.
	answers int       // in progress
	since   time.Time // begin or end of the last answer, or begin of the connection
	trusted bool      // has sent a valid token
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.once.Do(c.release)
	return c.Conn.Conn.Close()
}

// release gives back the connection's slots.
func (c *connection) release() {
	c.listener.slots.leave(c)
	switch {
	case c.refusalSlot:
		c.server.Limiter().EndRefusal()
	case c.server != nil:
		c.uncount()
		c.server.Limiter().Leave(c.slot)
	}
}

// ReadFrom implements io.ReaderFrom: a part of a file is sent by sendfile(2), in pieces, each with the rate limit and its own deadline.
func (c *connection) ReadFrom(from io.Reader) (sent int64, err error) {
	part, limited := from.(*io.LimitedReader)
	direct, able := c.Conn.Conn.(io.ReaderFrom)
	if !limited || !able {
		return io.Copy(struct{ io.Writer }{&c.Conn}, from)
	}
	for part.N > 0 {
		piece := min(part.N, int64(c.Step()))
		if err := c.Wait(int(piece)); err != nil {
			return sent, err
		}
		if err := c.ExtendDeadline(); err != nil {
			return sent, err
		}
		n, err := direct.ReadFrom(&io.LimitedReader{R: part.R, N: piece})
		sent, part.N = sent+n, part.N-n
		if err != nil || n < piece {
			return sent, err
		}
	}
	return sent, nil
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

// connectionOf is the connection of a request; nil if it came from another listener.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, is := conn.(*tls.Conn); is {
		conn = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}
