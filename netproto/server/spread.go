package server

import (
	"time"

	"collet/netproto"
)

// Conditions for asking a client for more connections. On a line that is merely full, losses come from queue overflow: seldom, in
// bursts, and after long round trips. There more connections only compete: four took 1.6 times as long as one on a clean link
// (perf reference, section 5). A line with losses of its own has them all the time and without a queue.
const (
	// spreadShare is the share of retransmitted segments on a line with losses of its own, one in so many: at 0.4 % and 100 ms
	// TCP's usual congestion control gets 280 KB/s out of any line (Mathis: 1.22 × segment ÷ round trip ÷ √loss).
	spreadShare = 250
	// spreadSegments is the least number of segments in a sample. A portion of 256 KiB is 181, so a sample often has twice as
	// many, in which there are four losses on a line that loses 1 %; three samples are 1 or 2 MB.
	spreadSegments = 200
	// spreadTrips is the least length of a sample in round trips, so that one burst and its retransmissions do not reach three samples.
	spreadTrips = 8
	// spreadSamples is how many samples in a row must show losses.
	spreadSamples = 3
	// spreadFar is the least round trip: on shorter ones losses are repaired without a noticeable delay. At 5 ms and 1 % loss one
	// connection gets 3.5 MB/s.
	spreadFar = 5 * time.Millisecond
	// spreadQueue is the largest usual round trip as a multiple of the shortest one. spreadSlack is added for wireless networks
	// and busy machines. Above it packets wait in a queue, which on home connections holds 50 ms and more.
	spreadQueue = 2
	spreadSlack = 20 * time.Millisecond
)

// tcpCounters has the system's counters of a connection since its beginning.
type tcpCounters struct {
	sent, again    uint32 // data segments, and retransmitted ones; the counters wrap
	trip, shortest time.Duration
}

// lossDetector detects whether the line to a client has losses of its own. Not safe for concurrent use.
type lossDetector struct {
	from  tcpCounters // counters at the begin of the current sample
	at    time.Time
	inRow int // consecutive samples with losses
}

// observe takes the current counters and reports whether the line has losses of its own.
func (l *lossDetector) observe(t tcpCounters, now time.Time) bool {
	if l.at.IsZero() {
		l.from, l.at = t, now
	}
	sent, again := t.sent-l.from.sent, t.again-l.from.again
	if sent < spreadSegments || now.Sub(l.at) < spreadTrips*t.trip {
		return false
	}
	l.from, l.at = t, now
	if again > sent || uint64(again)*spreadShare < uint64(sent) || t.shortest < spreadFar || t.trip > spreadQueue*t.shortest+spreadSlack {
		l.inRow = 0
		return false
	}
	l.inRow++
	return l.inRow >= spreadSamples
}

// spreadCapability is CapSpread if this client may be asked for more connections, and begins to watch the line's losses.
func (c *session) spreadCapability(requested uint32) uint32 {
	if c.server.set.Network.SpreadConnections < 2 || requested&netproto.CapSpread == 0 {
		return 0
	}
	if !c.lossTolerant {
		c.losses = new(lossDetector)
	}
	return netproto.CapSpread
}

// requestConnections asks the client for more connections, once, if the line has losses of its own and the limits allow them.
func (c *session) requestConnections() *ending {
	if c.losses == nil {
		return nil
	}
	counted, known := c.server.readCounters(c.conn)
	if !known {
		c.losses = nil
		return nil
	}
	if !c.losses.observe(counted, time.Now()) {
		return nil
	}
	n := c.server.limiter.Allowance(c.slot, c.server.set.Network.SpreadConnections, time.Now())
	if n < 2 {
		return nil
	}
	c.losses = nil
	c.log.Info().Int("connections", n).Dur("round_trip", counted.trip).Uint32("segments", counted.sent).Uint32("sent_again", counted.again).
		Msgf("The line to client %s loses packets: asked it for several connections", c.host)
	if err := c.out.write(&netproto.Spread{Connections: uint8(n)}); err != nil {
		return c.endBroken(err)
	}
	return nil
}
