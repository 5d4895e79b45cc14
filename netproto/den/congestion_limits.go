package den

import "time"

const (
	mostNear = 4 << 20              // of the window on a short path
	quantum  = time.Millisecond     // resolution of timers
	burst    = 4 * time.Millisecond // of the rate, the largest burst after a pause
)

// nearWindow is the window of a short path, in bytes. It grows until a loss: by what is delivered up to the threshold, from
// there by two segments a round trip.
type nearWindow struct {
	size      int
	grown     int // bytes delivered since it grew
	threshold int
	cutUntil  time.Duration // earlier losses belong to the last reduction
}

func newNearWindow() nearWindow { return nearWindow{size: firstWindow, threshold: mostNear} }

// grow enlarges the window for delivered bytes.
func (w *nearWindow) grow(bytes, segment int) {
	if w.size < w.threshold {
		w.size = min(w.size+bytes, mostNear)
		return
	}
	if w.grown += bytes; w.grown >= w.size {
		w.grown = 0
		w.size = min(w.size+2*segment, mostNear)
	}
}

// cut reduces the window for a loss, to no less than least and once a round trip.
func (w *nearWindow) cut(least int, trip, now time.Duration) {
	if now < w.cutUntil {
		return
	}
	w.cutUntil = now + max(trip, quantum)
	w.size = max(w.size*7/10, least)
	w.threshold, w.grown = w.size, 0
}

// budget is how much the rate allows to send. pace is the rate, in bytes a second; 0 is unlimited.
type budget struct {
	credit float64 // bytes; negative after a segment that exceeded it
	at     time.Duration
}

// refill adds what the rate allows since the last call, up to most bytes, and reports whether something may be sent.
func (b *budget) refill(pace, most float64, now time.Duration) bool {
	b.credit = min(b.credit+pace*(now-b.at).Seconds(), most)
	b.at = now
	return b.credit > 0
}

// spend takes a transmission of size bytes from the budget.
func (b *budget) spend(size int) { b.credit -= float64(size) }

// readyAt is when to check again.
func (b *budget) readyAt(pace float64, now time.Duration) time.Duration {
	if pace == 0 || b.credit > 0 {
		return now
	}
	return now + max(quantum, time.Duration(-b.credit/pace*float64(time.Second)))
}
