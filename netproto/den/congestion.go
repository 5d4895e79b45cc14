package den

import "time"

// Congestion control. On a path with a short round trip it is a window that grows until a loss; acknowledgements clock the
// sender. On a longer path it is model-based like BBR (Cardwell et al., 2016): the rate is the highest delivery rate of the
// last round trips, and the window is twice the rate times the shortest round trip. Random losses then do not reduce the rate.
const (
	nearTrip    = 3 * time.Millisecond // below, only a window is used
	firstWindow = 128 << 10
	leastWindow = 4 // segments
	mostNear    = 4 << 20
	mostWindow  = 32 << 20

	startGain  = 2.77 // the smallest gain that doubles the rate each round trip: 4 ln 2
	windowGain = 2.0
	plateau    = 1.25 // growth of the rate below which the start phase may be over
	plateaus   = 3    // in a row

	rateRounds = 10               // window of the maximum filter for the rate
	tripExpiry = 10 * time.Second // after which the shortest round trip is measured again
	tripPause  = 200 * time.Millisecond

	heavyLoss = 0.15                 // of a round, above which losses count as congestion
	quantum   = time.Millisecond     // resolution of timers
	burst     = 4 * time.Millisecond // of the rate, the largest burst after a pause
)

// cycle has the gains of the rate, one for each round trip: above 1 to probe for more bandwidth, below 1 to drain the
// queue from that, then 1.
var cycle = [...]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// rateSample is the delivery state at the time of a transmission.
type rateSample struct {
	delivered uint64
	at        time.Duration // of the last delivery
	began     time.Duration // when the newest delivered transmission was sent
	limited   bool          // the sender had too little data
}

// ackSample summarises one receipt.
type ackSample struct {
	bytes     int           // newly delivered
	sent      time.Duration // when the newest of them was sent
	then      rateSample    // of the newest of them
	now, trip time.Duration
	under     int
}

// congestion is the congestion controller of a connection. Times are relative to the connection's beginning.
type congestion struct {
	segment int
	room    int // bytes in the peer's socket buffer; 0 is unknown

	// For a short path.
	near      int
	grown     int // bytes delivered since the window grew
	threshold int
	cutUntil  time.Duration // earlier losses belong to the last reduction

	delivered   uint64
	deliveredAt time.Duration
	began       time.Duration
	limitedTo   uint64

	round, roundEnd uint64
	rates           []roundRate // descending
	trip            time.Duration
	tripAt          time.Duration

	full      bool // the start phase is over
	drained   bool
	fullRate  float64
	fullCount int
	phase     int
	phaseAt   time.Duration
	pausing   time.Duration // until when the window is small, to measure the round trip

	lostInRound, deliveredInRound int
	ceiling                       int

	credit   float64 // bytes that may be sent
	creditAt time.Duration
}

type roundRate struct {
	round uint64
	rate  float64 // bytes a second
}

func newCongestion(segment int) congestion {
	return congestion{segment: segment, near: firstWindow, threshold: mostNear, ceiling: mostWindow}
}

// short reports whether the path has a short round trip.
func (c *congestion) short() bool { return c.trip == 0 || c.trip < nearTrip }

// rate is the highest recent delivery rate, in bytes a second.
func (c *congestion) rate() float64 {
	if len(c.rates) == 0 {
		return 0
	}
	return c.rates[0].rate
}

// product is the bandwidth-delay product.
func (c *congestion) product() float64 { return c.rate() * c.trip.Seconds() }

// holds is how many bytes in flight cause no queue, but at least a minimum that is always allowed.
func (c *congestion) holds() int { return max(int(c.product()), leastWindow*c.segment) }

// window is how many bytes may be in flight.
func (c *congestion) window() int {
	if c.short() || c.rate() == 0 {
		return max(c.near, firstWindow)
	}
	least := leastWindow * c.segment
	switch product := c.product(); {
	case c.pausing > 0:
		return max(int(product/2), least)
	case !c.full:
		return max(int(product*startGain), firstWindow, least)
	default:
		return max(min(int(product*windowGain)+3*c.segment, c.ceiling), least)
	}
}

// gain is the current factor of the rate.
func (c *congestion) gain() float64 {
	switch {
	case !c.full:
		return startGain
	case !c.drained:
		return 1 / startGain
	default:
		return cycle[c.phase]
	}
}

// pace is the send rate, in bytes a second; 0 is unlimited. During the start phase the low measured rate does not limit
// it further: the first window may be sent in each round trip.
func (c *congestion) pace() float64 {
	switch {
	case c.short() || c.rate() == 0:
		return 0
	case !c.full:
		return c.gain() * max(c.rate(), firstWindow/c.trip.Seconds())
	default:
		return c.gain() * c.rate()
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
	most = max(most, float64(2*c.segment))
	c.credit = min(c.credit+pace*(now-c.creditAt).Seconds(), most)
	c.creditAt = now
	return c.credit > 0
}

// readyAt is when to check again.
func (c *congestion) readyAt(now time.Duration) time.Duration {
	pace := c.pace()
	if pace == 0 || c.credit > 0 {
		return now
	}
	return now + max(quantum, time.Duration(-c.credit/pace*float64(time.Second)))
}

// sent records a transmission, with under bytes in flight before it.
func (c *congestion) sent(size, under int, now time.Duration) rateSample {
	if under == 0 {
		c.began, c.deliveredAt = now, now
	}
	c.credit -= float64(size)
	return rateSample{delivered: c.delivered, at: c.deliveredAt, began: c.began, limited: c.delivered <= c.limitedTo}
}

// starved records that the sender has too little data, so that current rate samples do not describe the path.
func (c *congestion) starved(under int) { c.limitedTo = c.delivered + uint64(under) }

// acked processes one receipt.
func (c *congestion) acked(a ackSample) {
	c.delivered += uint64(a.bytes)
	c.deliveredAt = a.now
	c.deliveredInRound += a.bytes
	c.measureTrip(a)
	c.grow(a)
	newRound := a.then.delivered >= c.roundEnd
	if newRound {
		c.round++
		c.roundEnd = c.delivered
	}
	c.measureRate(a)
	if newRound {
		c.judgeRound(a)
	}
	c.cycle(a)
}

// grow enlarges the window of a short path.
func (c *congestion) grow(a ackSample) {
	if c.near < c.threshold {
		c.near = min(c.near+a.bytes, mostNear)
		return
	}
	if c.grown += a.bytes; c.grown >= c.near {
		c.grown = 0
		c.near = min(c.near+2*c.segment, mostNear)
	}
}

func (c *congestion) measureTrip(a ackSample) {
	if c.trip == 0 || a.trip <= c.trip || (c.pausing > 0 && c.pausing <= a.now) {
		c.trip, c.tripAt = a.trip, a.now
		c.pausing = 0
	}
	if !c.short() && c.pausing == 0 && a.now-c.tripAt > tripExpiry {
		c.pausing = a.now + max(tripPause, c.trip)
	}
}

// measureRate measures the delivery rate between two moments one round trip apart.
func (c *congestion) measureRate(a ackSample) {
	interval := max(a.sent-a.then.began, a.now-a.then.at)
	c.began = a.sent
	if interval <= 0 || interval < c.trip {
		return
	}
	rate := float64(c.delivered-a.then.delivered) / interval.Seconds()
	if a.then.limited && rate < c.rate() {
		return
	}
	for len(c.rates) > 0 && c.rates[len(c.rates)-1].rate <= rate {
		c.rates = c.rates[:len(c.rates)-1]
	}
	c.rates = append(c.rates, roundRate{c.round, rate})
	for c.rates[0].round+rateRounds < c.round {
		c.rates = c.rates[1:]
	}
}

// judgeRound evaluates a completed round trip.
func (c *congestion) judgeRound(a ackSample) {
	if lost := float64(c.lostInRound); lost > heavyLoss*(lost+float64(c.deliveredInRound)) {
		c.ceiling = max(int(0.85*float64(min(c.ceiling, a.under+a.bytes))), int(c.product()), leastWindow*c.segment)
		c.full = true
	} else {
		c.ceiling = min(c.ceiling+c.ceiling/4, mostWindow)
	}
	c.lostInRound, c.deliveredInRound = 0, 0
	if c.full || a.then.limited {
		return
	}
	if rate := c.rate(); rate >= plateau*c.fullRate {
		c.fullRate, c.fullCount = rate, 0
		return
	}
	c.fullCount++
	c.full = c.fullCount >= plateaus
}

// cycle advances the phases after the start.
func (c *congestion) cycle(a ackSample) {
	if !c.full {
		return
	}
	if !c.drained {
		if c.drained = a.under <= c.holds(); c.drained {
			c.phase, c.phaseAt = 2, a.now
		}
		return
	}
	over := a.now-c.phaseAt > c.trip
	if cycle[c.phase] < 1 {
		over = over || a.under <= c.holds()
	}
	if over {
		c.phase, c.phaseAt = (c.phase+1)%len(cycle), a.now
	}
}

// lost records bytes declared lost.
func (c *congestion) lost(bytes, _ int, now time.Duration) {
	c.lostInRound += bytes
	if now < c.cutUntil {
		return
	}
	c.cutUntil = now + max(c.trip, quantum)
	c.near = max(c.near*7/10, leastWindow*c.segment)
	c.threshold, c.grown = c.near, 0
}

// collapsed records a long time without any acknowledgement.
func (c *congestion) collapsed() {
	c.near = max(firstWindow, leastWindow*c.segment)
	c.ceiling = max(c.ceiling/2, leastWindow*c.segment)
}
