package den

import "time"

// Congestion control. On a path with a short round trip it is a window that grows until a loss; acknowledgements clock the
// sender. On a longer path it is model-based like BBR (Cardwell et al., 2016): the rate is the highest delivery rate of the
// last round trips, and the window is twice the rate times the shortest round trip. Random losses then do not reduce the rate.
// congestion_measure.go has the measurements of the path, congestion_gains.go the phases that probe it, and
// congestion_limits.go the window of a short path and the budget of the rate.
const (
	firstWindow = 128 << 10
	leastWindow = 4 // segments
	mostWindow  = 32 << 20

	windowGain = 2.0
)

// congestion is the congestion controller of a connection. Times are relative to the connection's beginning. The
// connection's lock guards it.
type congestion struct {
	segment int // bytes of one segment when the connection began
	room    int // bytes in the peer's socket buffer; 0 is unknown

	delivery delivery
	round    round
	rates    rateFilter
	trip     tripFilter

	gains   gains
	near    nearWindow // for a short path
	ceiling int        // of the window on a longer path, in bytes; heavy losses lower it
	budget  budget
}

func newCongestion(segment int) congestion {
	return congestion{segment: segment, near: newNearWindow(), ceiling: mostWindow}
}

// short reports whether the path has a short round trip.
func (c *congestion) short() bool { return c.trip.short() }

// product is the bandwidth-delay product.
func (c *congestion) product() float64 { return c.rates.highest() * c.trip.least.Seconds() }

// least is the smallest window that is always allowed.
func (c *congestion) least() int { return leastWindow * c.segment }

// holds is how many bytes in flight cause no queue, but at least a minimum that is always allowed.
func (c *congestion) holds() int { return max(int(c.product()), c.least()) }

// window is how many bytes may be in flight.
func (c *congestion) window() int {
	if c.short() || c.rates.highest() == 0 {
		return max(c.near.size, firstWindow)
	}
	switch product := c.product(); {
	case c.trip.pausing > 0:
		return max(int(product/2), c.least())
	case !c.gains.full:
		return max(int(product*startGain), firstWindow, c.least())
	default:
		return max(min(int(product*windowGain)+3*c.segment, c.ceiling), c.least())
	}
}

// pace is the send rate, in bytes a second; 0 is unlimited. During the start phase the low measured rate does not limit
// it further: the first window may be sent in each round trip.
func (c *congestion) pace() float64 {
	rate := c.rates.highest()
	switch {
	case c.short() || rate == 0:
		return 0
	case !c.gains.full:
		return c.gains.gain() * max(rate, firstWindow/c.trip.least.Seconds())
	default:
		return c.gains.gain() * rate
	}
}

// ready reports whether the rate allows sending at now.
func (c *congestion) ready(now time.Duration) bool {
	pace := c.pace()
	if pace == 0 {
		return true
	}
	most := pace * burst.Seconds()
	if c.room > 0 {
		most = min(most, float64(c.room/4))
	}
	return c.budget.refill(pace, max(most, float64(2*c.segment)), now)
}

// readyAt is when to check again.
func (c *congestion) readyAt(now time.Duration) time.Duration { return c.budget.readyAt(c.pace(), now) }

// sent records a transmission, with under bytes in flight before it.
func (c *congestion) sent(size, under int, now time.Duration) rateSample {
	c.budget.spend(size)
	return c.delivery.sent(under, now)
}

// starved records that the sender has too little data, so that current rate samples do not describe the path.
func (c *congestion) starved(under int) { c.delivery.starved(under) }

// acked processes one receipt.
func (c *congestion) acked(a ackSample) {
	c.delivery.add(a.bytes, a.now)
	c.trip.measure(a.trip, a.now)
	c.near.grow(a.bytes, c.segment)
	completed := c.round.add(a.bytes, a.then.delivered, c.delivery.total)
	rate, measured := c.delivery.measure(a, c.trip.least)
	if measured && (!a.then.limited || rate >= c.rates.highest()) {
		c.rates.add(c.round.number, rate)
	}
	if completed {
		c.judgeRound(a)
	}
	c.gains.advance(a.under <= c.holds(), a.now, c.trip.least)
}

// judgeRound evaluates a completed round trip.
func (c *congestion) judgeRound(a ackSample) {
	if c.round.lossy() {
		c.ceiling = max(int(0.85*float64(min(c.ceiling, a.under+a.bytes))), c.holds())
		c.gains.full = true
	} else {
		c.ceiling = min(c.ceiling+c.ceiling/4, mostWindow)
	}
	c.round.restart()
	if !a.then.limited {
		c.gains.judgeStart(c.rates.highest())
	}
}

// lost records bytes declared lost.
func (c *congestion) lost(bytes int, now time.Duration) {
	c.round.lost += bytes
	c.near.cut(c.least(), c.trip.least, now)
}

// collapsed records a long time without any acknowledgement.
func (c *congestion) collapsed() {
	c.near.size = max(firstWindow, c.least())
	c.ceiling = max(c.ceiling/2, c.least())
}
