package update

import "time"

const (
	// RateWindow is the period of the mean: long enough to smooth single portions, and short enough that a stalled
	// connection soon shows a rate of zero.
	RateWindow = 5 * time.Second
	// rateSpacing is the shortest interval between two samples in the ring. A finer one adds nothing to a window of
	// seconds.
	rateSpacing = 250 * time.Millisecond
	// rateSettle is the shortest period that a rate is computed over. The first bytes mostly come from buffers.
	rateSettle = time.Second
	// rateSlots is the number of samples for the whole window, with one at each end.
	rateSlots = int(RateWindow/rateSpacing) + 1
)

// sample is the total number of bytes at a time.
type sample struct {
	at    time.Time
	total int64
}

// rate measures bytes per second over the last RateWindow. The zero value is ready. It reads no clock: the caller passes
// the time of each total.
type rate struct {
	ring [rateSlots]sample
	next int // slot of the next sample
	kept int // samples in the ring
	last sample
}

// addBytes records a total. Totals and times must not decrease; a decrease of either restarts the measurement.
func (r *rate) addBytes(at time.Time, total int64) {
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

// perSecond is the mean over the window that ends with the last sample. It is 0 while the period is shorter than
// rateSettle.
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
