package den

import "time"

// rtt estimates the round trip as RFC 6298 does: a smoothed mean and a smoothed deviation.
type rtt struct {
	mean, dev time.Duration
	least     time.Duration // shortest sample so far
}

// sample adds one measurement, of a transmission that was sent once.
func (r *rtt) sample(d time.Duration) {
	d = max(d, time.Microsecond)
	if r.mean == 0 {
		r.mean, r.dev, r.least = d, d/2, d
		return
	}
	r.dev += ((d - r.mean).Abs() - r.dev) / 4
	r.mean += (d - r.mean) / 8
	r.least = min(r.least, d)
}

// wait is how long an answer may take before it counts as missing; none is the value before the first sample.
func (r *rtt) wait(least, none time.Duration) time.Duration {
	if r.mean == 0 {
		return none
	}
	return max(least, r.mean+4*r.dev)
}
