package den

import "time"

// How much may be under way. On a path with a short round trip it is a window that grows until something is lost; the
// sender is clocked by acknowledgements. On a longer one it follows what the path delivers, as BBR does (Cardwell et
// al., 2016): the rate is the highest that was measured over some round trips, the window twice the rate times the
// shortest round trip. Losses that do not come from congestion then cost nothing but themselves.
const (
	nearTrip    = 3 * time.Millisecond // below, a window alone decides
	firstWindow = 128 << 10
	leastWindow = 4 // segments
	mostNear    = 4 << 20
	mostWindow  = 32 << 20

	startGain  = 2.77 // the least that doubles the rate each round trip: 4 ln 2
	windowGain = 2.0
	plateau    = 1.25 // growth of the rate below which a start has found it
	plateaus   = 3    // in a row

	rateRounds = 10               // over which the highest rate counts
	tripExpiry = 10 * time.Second // after which the shortest round trip is measured anew
	tripPause  = 200 * time.Millisecond

	heavyLoss = 0.15                 // of a round, above which losses mean that there is too much
	quantum   = time.Millisecond     // timers are not finer
	burst     = 4 * time.Millisecond // of the rate, that may be caught up at once
)

// cycle has the gains of the rate, one round trip each: more, to find out whether there is more; less, to give back what
// that cost; then even.
var cycle = [...]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// rateSample is what had been delivered when something was sent.
type rateSample struct {
	delivered uint64
	at        time.Duration // of the last delivery
	began     time.Duration // when the transmission was sent that was the newest delivered one
	limited   bool          // there was not enough to send
}

// ackSample is what one receipt says.
type ackSample struct {
	bytes     int           // newly delivered
	sent      time.Duration // when the newest of them was sent
	then      rateSample    // of the newest of them
	now, trip time.Duration
	under     int
}

// congestion decides how much may be under way. Times count from the beginning of the connection.
type congestion struct {
	segment int
	room    int // bytes that the peer's socket holds; 0 is not known

	// On a short path.
	near      int
	grown     int // bytes delivered since the window grew
	threshold int
	cutUntil  time.Duration // losses before are part of the last one

	delivered   uint64
	deliveredAt time.Duration
	began       time.Duration
	limitedTo   uint64

	round, roundEnd uint64
	rates           []roundRate // falling
	trip            time.Duration
	tripAt          time.Duration

	full      bool // the start is over
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

// rate is the highest rate lately, in bytes a second.
func (c *congestion) rate() float64 {
	if len(c.rates) == 0 {
		return 0
	}
	return c.rates[0].rate
}

// product is what the path itself holds.
func (c *congestion) product() float64 { return c.rate() * c.trip.Seconds() }

// holds is how many bytes under way leave nothing in queues, but for the few that are always allowed.
func (c *congestion) holds() int { return max(int(c.product()), leastWindow*c.segment) }

// window is how many bytes may be under way.
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

// gain is by what the rate is multiplied now.
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

// pace is the rate to send with, in bytes a second; 0 is any. Until the rate of the path was found, what little was sent
// so far does not hold back more: the first window may go out each round trip.
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

// ready reports whether the rate allows to send at now.
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

// readyAt is when it is worth asking again.
func (c *congestion) readyAt(now time.Duration) time.Duration {
	pace := c.pace()
	if pace == 0 || c.credit > 0 {
		return now
	}
	return now + max(quantum, time.Duration(-c.credit/pace*float64(time.Second)))
}

// sent notes a transmission, while under bytes were under way already.
func (c *congestion) sent(size, under int, now time.Duration) rateSample {
	if under == 0 {
		c.began, c.deliveredAt = now, now
	}
	c.credit -= float64(size)
	return rateSample{delivered: c.delivered, at: c.deliveredAt, began: c.began, limited: c.delivered <= c.limitedTo}
}

// starved notes that there is not enough to send, so that rates measured now say nothing about the path.
func (c *congestion) starved(under int) { c.limitedTo = c.delivered + uint64(under) }

// acked takes what one receipt says.
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

// grow widens the window of a short path.
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

// measureRate takes the rate of delivery between two moments one round trip apart.
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

// judgeRound looks at a round trip that is over.
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

// cycle moves through the phases behind the start.
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

// lost notes that bytes were given up while under more are under way.
func (c *congestion) lost(bytes, _ int, now time.Duration) {
	c.lostInRound += bytes
	if now < c.cutUntil {
		return
	}
	c.cutUntil = now + max(c.trip, quantum)
	c.near = max(c.near*7/10, leastWindow*c.segment)
	c.threshold, c.grown = c.near, 0
}

// collapsed notes that nothing came back for long.
func (c *congestion) collapsed() {
	c.near = max(firstWindow, leastWindow*c.segment)
	c.ceiling = max(c.ceiling/2, leastWindow*c.segment)
}
