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

const (
	// exchangeTime is how long a client may take to show its components (compat reference, section 3.6).
	exchangeTime = 2 * time.Second
)

// exchange is a pending exchange of components: at most one per connection.
type exchange struct {
	shown *compat.Manifest // the manifest that the client was sent
	timer *time.Timer
}

// prepareManifest prepares the message with the server's components, if tags announces it. It withdraws the announcement if there is no
// manifest, or if the address is above its limit.
func (c *session) prepareManifest(m *handshake, tags *netproto.AnswerTags) *netproto.ComponentManifest {
	if !tags.Manifest {
		return nil
	}
	tags.Manifest = false
	ours := c.catalogue.ManifestFor(m.hello.Logic())
	if ours == nil {
		return nil
	}
	if !c.server.limiter.AllowManifest(c.slot, time.Now()) {
		c.server.metrics.CountExchange(metrics.ExchangeLimited)
		return nil
	}
	mode := m.snapshot.Manifest
	if mode == "" {
		mode = compat.ManifestNone
	}
	shown, err := netproto.NewComponentManifest(ours, mode)
	if err != nil {
		c.log.Error().Err(err).Msg("The server's components can't be shown to a client")
		return nil
	}
	tags.Manifest, c.handshake = true, m
	c.exchange = &exchange{shown: ours, timer: time.NewTimer(exchangeTime)}
	return shown
}

// receiveManifest handles a client's manifest. An unrequested or second one ends the connection.
func (c *session) receiveManifest(m *netproto.ComponentManifest) *ending {
	if c.exchange == nil {
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': unrequested components", c.host)
	}
	c.finishExchange(compat.DiffManifests(c.exchange.shown, &m.Manifest), metrics.ExchangeReplied)
	return nil
}

// expireExchange ends an exchange without an answer of the client.
func (c *session) expireExchange() {
	d := compat.Differences{Server: c.exchange.shown.Build, Client: c.handshake.hello.Build, Age: c.handshake.verdict.Age, Untold: true}
	c.finishExchange(d, metrics.ExchangeTimeout)
}

// finishExchange ends the exchange and writes its one log line.
func (c *session) finishExchange(d compat.Differences, result string) {
	c.exchange.timer.Stop()
	c.exchange = nil
	c.server.metrics.CountExchange(result)
	line := c.reportVerdict(*c.handshake, d).Line()
	c.server.Warn(c.slot.Client, limits.CauseComponents, limits.WarnKnown).Str("peer", c.conn.RemoteAddr().String()).Str("result", result).Msg(line)
}

// reportVerdict passes a judgement to the callback of OnVerdict.
func (c *session) reportVerdict(m handshake, d compat.Differences) compat.Meeting {
	told := compat.Meeting{Judgement: m.verdict, Peer: c.host, Target: clip(m.hello.Target), Differences: d}
	if f := c.server.onVerdict; f != nil {
		f(told)
	}
	return told
}

// awaitManifest waits, after a verdict that admits no play, for the client's requested components, and returns the ending.
func (c *session) awaitManifest(ctx context.Context) *ending {
	for c.exchange != nil {
		select {
		case m, more := <-c.inbox:
			if !more {
				end := c.endOfInput(ctx)
				c.expireExchange()
				return end
			}
			if theirs, is := m.(*netproto.ComponentManifest); is {
				c.receiveManifest(theirs)
			}
		case <-c.exchange.timer.C:
			c.expireExchange()
		case <-ctx.Done():
			c.expireExchange()
			return c.endStopping()
		}
	}
	reason := netproto.RefuseComponents
	return &ending{
		cause: limits.CauseComponents, level: zerolog.InfoLevel, text: "Client was told that its components differ", linger: true,
		farewell: &netproto.Refuse{Reason: reason, Text: reason.String()},
	}
}

// exchangeTimeout is the timer of the pending exchange; nil without one.
func (c *session) exchangeTimeout() <-chan time.Time {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.timer.C
}
