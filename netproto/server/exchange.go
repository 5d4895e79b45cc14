package server

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/limits"
	"collet/netproto/server/metrics"
)

// exchangeTime is how long a client may take to show its components (docs/COMPATIBILITY.md).
const exchangeTime = 2 * time.Second

// exchange is a pending exchange of components: at most one per connection.
type exchange struct {
	handshake *handshake
	shown     *compat.Manifest // the manifest that the client was sent
	timer     *time.Timer
}

// timeout is the exchange's timer; nil without an exchange.
func (e *exchange) timeout() <-chan time.Time {
	if e == nil {
		return nil
	}
	return e.timer.C
}

// beginExchange prepares the message with the server's components, if tags announces it. It withdraws the announcement if there is
// no manifest, or if the address is above its limit.
func (h *handshake) beginExchange(tags *netproto.AnswerTags) *netproto.ComponentManifest {
	if !tags.Manifest {
		return nil
	}
	tags.Manifest = false
	c := h.session
	ours := c.catalogue.ManifestFor(h.hello.Logic())
	if ours == nil {
		return nil
	}
	if !c.server.limiter.AllowManifest(c.slot, time.Now()) {
		c.server.metrics.CountExchange(metrics.ExchangeLimited)
		return nil
	}
	mode := h.snapshot.Manifest
	if mode == "" {
		mode = compat.ManifestNone
	}
	shown, err := netproto.NewComponentManifest(ours, mode)
	if err != nil {
		c.log.Error().Err(err).Msg("The server's components can't be shown to a client")
		return nil
	}
	tags.Manifest = true
	c.exchange = &exchange{handshake: h, shown: ours, timer: time.NewTimer(exchangeTime)}
	return shown
}

// receiveManifest handles a client's manifest. An unrequested or second one ends the connection.
func (c *session) receiveManifest(m *netproto.ComponentManifest) *ending {
	if c.exchange == nil {
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': unrequested components", c.host)
	}
	c.exchange.finish(compat.DiffManifests(c.exchange.shown, &m.Manifest), metrics.ExchangeReplied)
	return nil
}

// expire ends the exchange without an answer of the client.
func (e *exchange) expire() {
	e.finish(e.handshake.unansweredBy(e.shown.Build), metrics.ExchangeTimeout)
}

// finish ends the exchange and writes its one log line.
func (e *exchange) finish(d compat.Differences, result string) {
	c := e.handshake.session
	e.timer.Stop()
	c.exchange = nil
	c.server.metrics.CountExchange(result)
	line := e.handshake.report(d).Line()
	c.server.Warn(c.slot.Client, limits.CauseComponents, limits.WarnKnown).Str("peer", c.conn.RemoteAddr().String()).Str("result", result).Msg(line)
}

// awaitManifest waits, after a verdict that admits no play, for the client's requested components, and returns the ending.
func (c *session) awaitManifest(ctx context.Context) *ending {
	for c.exchange != nil {
		select {
		case m, more := <-c.inbox.messages:
			if !more {
				end := c.endOfInput(ctx)
				c.exchange.expire()
				return end
			}
			if theirs, is := m.(*netproto.ComponentManifest); is {
				c.receiveManifest(theirs)
			}
		case <-c.exchange.timer.C:
			c.exchange.expire()
		case <-ctx.Done():
			c.exchange.expire()
			return c.endStopping()
		}
	}
	reason := netproto.RefuseComponents
	return &ending{
		cause: limits.CauseComponents, level: zerolog.InfoLevel, text: "Client was told that its components differ", linger: true,
		farewell: &netproto.Refuse{Reason: reason, Text: reason.String()},
	}
}
