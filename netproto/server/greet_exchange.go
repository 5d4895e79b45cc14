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

// show prepares the message with the server's components, if tags announces it. It withdraws the announcement if there is no
// manifest, or if the address is above its limit.
func (c *session) show(m *meeting, tags *netproto.AnswerTags) *netproto.ComponentManifest {
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
	tags.Manifest, c.met = true, m
	c.exchange = &exchange{shown: ours, timer: time.NewTimer(exchangeTime)}
	return shown
}

// replied handles a client's manifest. An unrequested or second one ends the connection.
func (c *session) replied(m *netproto.ComponentManifest) *ending {
	if c.exchange == nil {
		return c.hard(limits.CauseMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': components that nobody asked for", c.host)
	}
	c.compared(compat.DiffManifests(c.exchange.shown, &m.Manifest), metrics.ExchangeReplied)
	return nil
}

// unreplied ends an exchange without an answer of the client.
func (c *session) unreplied() {
	d := compat.Differences{Server: c.exchange.shown.Build, Client: c.met.hello.Build, Age: c.met.verdict.Age, Untold: true}
	c.compared(d, metrics.ExchangeTimeout)
}

// compared ends the exchange and writes its one log line.
func (c *session) compared(d compat.Differences, result string) {
	c.exchange.timer.Stop()
	c.exchange = nil
	c.server.metrics.CountExchange(result)
	line := c.tell(*c.met, d).Line()
	c.server.Warn(c.slot.Client, limits.CauseComponents, limits.WarnKnown).Str("peer", c.conn.RemoteAddr().String()).Str("result", result).Msg(line)
}

// tell passes a judgement to the callback of OnVerdict.
func (c *session) tell(m meeting, d compat.Differences) compat.Meeting {
	told := compat.Meeting{Judgement: m.verdict, Peer: c.host, Target: clip(m.hello.Target), Differences: d}
	if f := c.server.onVerdict; f != nil {
		f(told)
	}
	return told
}

// settle waits, after a verdict that admits no play, for the client's requested components, and returns the ending.
func (c *session) settle(ctx context.Context) *ending {
	for c.exchange != nil {
		select {
		case m, more := <-c.inbox:
			if !more {
				end := c.endOfInput(ctx)
				c.unreplied()
				return end
			}
			if theirs, is := m.(*netproto.ComponentManifest); is {
				c.replied(theirs)
			}
		case <-c.exchange.timer.C:
			c.unreplied()
		case <-ctx.Done():
			c.unreplied()
			return c.goingDown()
		}
	}
	reason := netproto.RefuseComponents
	return &ending{
		cause: limits.CauseComponents, level: zerolog.InfoLevel, text: "Client was told that its components differ", linger: true,
		farewell: &netproto.Refuse{Reason: reason, Text: reason.String()},
	}
}

// overdue is the timer of the pending exchange; nil without one.
func (c *session) overdue() <-chan time.Time {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.timer.C
}
