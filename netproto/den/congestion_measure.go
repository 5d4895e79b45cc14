package den

import "time"

// Measurements of the path.
const (
	nearTrip   = 3 * time.Millisecond // round trip below which only a window is used
	rateRounds = 10                   // window of the maximum filter for the rate
	tripExpiry = 10 * time.Second     // after which the shortest round trip is measured again
	tripPause  = 200 * time.Millisecond
	heavyLoss  = 0.15 // of a round, above which losses count as congestion
)

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
	under     int // bytes in flight after it
}

// delivery counts delivered bytes, and samples their rate.
type delivery struct {
	total     uint64        // bytes
	at        time.Duration // of the last one
	began     time.Duration // when the newest delivered transmission was sent
	limitedTo uint64        // total up to which samples are limited by the sender
}

// sent is the sample for a transmission at now, with under bytes in flight before it.
func (d *delivery) sent(under int, now time.Duration) rateSample {
	if under == 0 {
		d.began, d.at = now, now
	}
	return rateSample{delivered: d.total, at: d.at, began: d.began, limited: d.total <= d.limitedTo}
}

// starved marks samples as limited by the sender until the bytes in flight are delivered.
func (d *delivery) starved(under int) { d.limitedTo = d.total + uint64(under) }

// add counts bytes delivered at now.
func (d *delivery) add(bytes int, now time.Duration) {
	d.total += uint64(bytes)
	d.at = now
}

// measure measures the delivery rate between two moments one round trip apart, in bytes a second. measured is false if
// they are closer than least, the shortest round trip.
func (d *delivery) measure(a ackSample, least time.Duration) (rate float64, measured bool) {
	interval := max(a.sent-a.then.began, a.now-a.then.at)
	d.began = a.sent
	if interval <= 0 || interval < least {
		return 0, false
	}
	return float64(d.total-a.then.delivered) / interval.Seconds(), true
}

// round counts round trips by delivered bytes: one ends when something arrives that was sent after its beginning.
type round struct {
	number          uint64
	end             uint64 // total of delivered bytes at which it ends
	lost, delivered int    // bytes, of the current one
}

// add counts delivered bytes. then is the total of delivered bytes when the newest of them were sent, total the current
// one. It reports whether a round is completed.
func (r *round) add(bytes int, then, total uint64) (completed bool) {
	r.delivered += bytes
	if then < r.end {
		return false
	}
	r.number++
	r.end = total
	return true
}

// lossy reports whether the losses of the round count as congestion.
func (r *round) lossy() bool {
	lost := float64(r.lost)
	return lost > heavyLoss*(lost+float64(r.delivered))
}

// restart forgets the bytes of the completed round.
func (r *round) restart() { r.lost, r.delivered = 0, 0 }

// rateFilter is a maximum filter: the rates that are the highest since their round, the highest and oldest first.
type rateFilter []roundRate

type roundRate struct {
	round uint64
	rate  float64 // bytes a second
}

// highest is the highest recent delivery rate, in bytes a second.
func (f rateFilter) highest() float64 {
	if len(f) == 0 {
		return 0
	}
	return f[0].rate
}

// add adds a rate of a round, and forgets those of rounds more than rateRounds before it.
func (f *rateFilter) add(round uint64, rate float64) {
	rates := *f
	for len(rates) > 0 && rates[len(rates)-1].rate <= rate {
		rates = rates[:len(rates)-1]
	}
	rates = append(rates, roundRate{round, rate})
	for rates[0].round+rateRounds < round {
		rates = rates[1:]
	}
	*f = rates
}

// tripFilter is a minimum filter for the round trip. On a longer path the minimum expires: the window is then small for a
// pause, so that the next measurement is without a queue of our own.
type tripFilter struct {
	least   time.Duration // 0 before the first measurement
	at      time.Duration // when it was measured
	pausing time.Duration // end of the pause; 0 outside a pause
}

// short reports whether the path has a short round trip.
func (f *tripFilter) short() bool { return f.least < nearTrip }

// measure adds one round trip, measured at now.
func (f *tripFilter) measure(trip, now time.Duration) {
	if f.least == 0 || trip <= f.least || (f.pausing > 0 && f.pausing <= now) {
		f.least, f.at = trip, now
		f.pausing = 0
	}
	if !f.short() && f.pausing == 0 && now-f.at > tripExpiry {
		f.pausing = now + max(tripPause, f.least)
	}
}
