package update

import "time"

const (
	// RateWindow is how far back the rate looks: long enough that single portions do not make the number dance, short
	// enough that a stalled line reads zero before the player wonders.
	RateWindow = 5 * time.Second
	// rateSpacing is the least distance of two samples that are kept. Finer ones add nothing to a window of seconds.
	rateSpacing = 250 * time.Millisecond
	// rateSettle is the least time that a rate is computed over. What the first moments give is mostly what had been
	// waiting in buffers.
	rateSettle = time.Second
	// rateSlots keeps samples for the whole window, with one at each end.
	rateSlots = int(RateWindow/rateSpacing) + 1
)

// sample is how many bytes there were at a time.
type sample struct {
	at    time.Time
	total int64
}

// rate measures bytes a second over the last RateWindow. The zero value is ready. It knows no clock: the caller says
// when each total was true.
type rate struct {
	ring [rateSlots]sample
	next int // slot of the next sample
	kept int // samples in the ring
	last sample
}

// add notes that there were total bytes at this time. Totals only rise and time only moves on; a step back in either
// begins a new measurement.
func (r *rate) add(at time.Time, total int64) {
	if r.kept > 0 && (total < r.last.total || at.Before(r.last.at)) {
		*r = rate{}
	}
	r.last = sample{at, total}
	if r.kept > 0 && at.Sub(r.newest().at) < rateSpacing {
		return
	}
	r.ring[r.next] = r.last
	r.next = (r.next + 1) % rateSlots
	r.kept = min(r.kept+1, rateSlots)
}

// perSecond is the mean over the window that ends with the last sample, 0 while it is too short to say.
func (r *rate) perSecond() int64 {
	for i := r.kept; i > 0; i-- {
		first := r.ring[(r.next-i+rateSlots)%rateSlots]
		span := r.last.at.Sub(first.at)
		if span > RateWindow {
			continue
		}
		if span < rateSettle {
			return 0
		}
		return int64(float64(r.last.total-first.total) / span.Seconds())
	}
	return 0
}

func (r *rate) newest() sample { return r.ring[(r.next-1+rateSlots)%rateSlots] }
