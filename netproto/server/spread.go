package server

import (
	"strings"
	"time"

	"collet/netproto"
)

// When a client is asked for more connections. The losses of a line that is merely full come when its queue overflows:
// seldom, in bursts, and with long round trips before them. More connections would only fight there, as was measured (perf
// reference, section 5: four took 1.6 times as long as one on a clean link). A line that loses by itself does so all the
// time and without a queue.
const (
	// spreadShare is the part of segments that is sent again on a line that loses by itself, one in so many: at 0.4 % and
	// 100 ms TCP's usual congestion control gets 280 KB/s out of any line (Mathis: 1.22 × segment ÷ round trip ÷ √loss).
	spreadShare = 250
	// spreadSegments is how many segments make a sample at least. A portion of 256 KiB is 181, so a sample often has twice
	// as many, in which there are four losses on a line that loses 1 %; three samples are 1 or 2 MB.
	spreadSegments = 200
	// spreadTrips is how many round trips a sample lasts at least, so that one burst and what is sent again because of it
	// are not in three of them.
	spreadTrips = 8
	// spreadSamples is how many samples in a row must show losses.
	spreadSamples = 3
	// spreadFar is the least round trip: nearer by, losses are made up for before anybody notices. At 5 ms and 1 % loss one
	// connection gets 3.5 MB/s.
	spreadFar = 5 * time.Millisecond
	// spreadQueue is how many times the shortest round trip the usual one may be, and spreadSlack longer for what wireless
	// networks and busy machines add: above it packets wait in a queue, which for those at home holds 50 ms and more.
	spreadQueue = 2
	spreadSlack = 20 * time.Millisecond
)

// tally is what the system counts of a connection since its beginning.
type tally struct {
	sent, again    uint32 // segments that carry data, and those of them that were sent once more; they wrap
	trip, shortest time.Duration
}

// losses judges whether the line to a client loses packets by itself. One goroutine at a time.
type losses struct {
	from tally // where the sample under way began
	at   time.Time
	row  int // samples in a row that showed losses
}

// shown takes the counts of this moment and reports whether losses have shown.
func (l *losses) shown(t tally, now time.Time) bool {
	if l.at.IsZero() {
		l.from, l.at = t, now
	}
	sent, again := t.sent-l.from.sent, t.again-l.from.again
	if sent < spreadSegments || now.Sub(l.at) < spreadTrips*t.trip {
		return false
	}
	l.from, l.at = t, now
	if again > sent || uint64(again)*spreadShare < uint64(sent) || t.shortest < spreadFar || t.trip > spreadQueue*t.shortest+spreadSlack {
		l.row = 0
		return false
	}
	l.row++
	return l.row >= spreadSamples
}

// lossProof reports whether the connection's congestion control does not take losses for a full line.
func (c *session) lossProof() bool { return strings.HasPrefix(c.congestion, "bbr") }

// spreads is CapSpread if this client may be asked for more connections, and begins to watch whether it should be.
func (c *session) spreads(hello *netproto.Handshake) uint32 {
	if c.server.set.Network.SpreadConnections < 2 || hello.Capabilities&netproto.CapSpread == 0 {
		return 0
	}
	if !c.lossProof() {
		c.losses = new(losses)
	}
	return netproto.CapSpread
}

// widen asks the client for more connections, once, where the line shows that it needs them and there is room for them.
func (c *session) widen() *ending {
	if c.losses == nil {
		return nil
	}
	counted, known := c.server.tally(c.conn)
	if !known {
		c.losses = nil
		return nil
	}
	if !c.losses.shown(counted, time.Now()) {
		return nil
	}
	n := c.server.limiter.Allowance(c.slot, c.server.set.Network.SpreadConnections, time.Now())
	if n < 2 {
		return nil
	}
	c.losses = nil
	c.log.Info().Int("connections", n).Dur("round_trip", counted.trip).Uint32("segments", counted.sent).Uint32("sent_again", counted.again).
		Msgf("The line to client %s loses packets: asked it for several connections", c.host)
	if err := c.write(&netproto.Spread{Connections: uint8(n)}); err != nil {
		return c.broken(err)
	}
	return nil
}
