package server

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/limits"
)

const (
	// exchangeTime is how long a client may take to show its components (compat reference, section 3.6).
	exchangeTime = 2 * time.Second
)

// exchange is one that is under way: once on a connection, and gone with it.
type exchange struct {
	shown *compat.Manifest // to the client
	timer *time.Timer
}

// show prepares the message in which a client is shown the server's components, where tags says so. It takes the promise back
// where there is nothing to show, or the address had its share.
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
		c.server.meter.exchanged(exchangeLimited)
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

// replied is what comes of a client's manifest. One that was not asked for, or is the second, ends the connection.
func (c *session) replied(m *netproto.ComponentManifest) *ending {
	if c.exchange == nil {
		return c.hard(causeMalformed, netproto.RefuseMalformed, 0, "Invalid network data from host '%s': components that nobody asked for", c.host)
	}
	c.compared(compat.DiffManifests(c.exchange.shown, &m.Manifest), exchangeReplied)
	return nil
}

// unreplied is what comes of waiting in vain.
func (c *session) unreplied() {
	d := compat.Differences{Server: c.exchange.shown.Build, Client: c.met.hello.Build, Age: c.met.verdict.Age, Untold: true}
	c.compared(d, exchangeTimeout)
}

// compared ends the exchange with its one line in the log.
func (c *session) compared(d compat.Differences, result string) {
	c.exchange.timer.Stop()
	c.exchange = nil
	c.server.meter.exchanged(result)
	line := c.tell(*c.met, d).Line()
	c.server.warn(c.slot.Client, causeComponents, limits.WarnKnown).Str("peer", c.conn.RemoteAddr().String()).Str("result", result).Msg(line)
}

// tell gives a judgement to whoever wants to know.
func (c *session) tell(m meeting, d compat.Differences) compat.Meeting {
	told := compat.Meeting{Judgement: m.verdict, Peer: c.host, Target: clip(m.hello.Target), Differences: d}
	if f := c.server.onVerdict; f != nil {
		f(told)
	}
	return told
}

// settle waits, after a verdict that lets nobody play, for the client's components, if they were asked for, and is the end.
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
		cause: causeComponents, level: zerolog.InfoLevel, text: "Client was told that its components differ", linger: true,
		farewell: &netproto.Refuse{Reason: reason, Text: reason.String()},
	}
}

// overdue is when the client's components are awaited no longer; nil where nobody waits.
func (c *session) overdue() <-chan time.Time {
	if c.exchange == nil {
		return nil
	}
	return c.exchange.timer.C
}
