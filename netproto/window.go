package netproto

import "time"

const (
	// windowStart is the initial window of a C1 client in bytes: enough for 400 Mbit/s at 160 ms.
	windowStart = 8 << 20
	// windowFloor is the smallest window in bytes. On a slow path little data should be queued before a ping's answer,
	// and requests below 32 KiB gain nothing.
	windowFloor = 1 << 20
	// windowSlack is delay that does not come from the network: disks at both ends, and other load on the processor.
	windowSlack = 20 * time.Millisecond
	// windowFirst is how many bytes may be outstanding before any data has arrived, and windowGain limits the
	// outstanding bytes to a multiple of the recent arrivals. TCP's own window doubles in a round trip, so eight times
	// is always enough. On a slow path it avoids requests that take seconds, so that other connections can help.
	windowFirst = 2 << 20
	windowGain  = 8
)

// window is the number of bytes that a C1 client keeps outstanding. Within one TCP stream, TCP itself finds the speed of
// the path. The window only has to exceed the data in flight, so that the server never waits for a request; anything
// above only adds queueing delay. The duration of a request shows which is the case: it is about the shortest duration
// seen while the path is not full, and a multiple of it when requests queue.
//
// In each round trip the window grows: it doubles until it was too large once, and then grows by a sixteenth of its
// start; or it shrinks by a quarter (additive increase, multiplicative decrease).
type window struct {
	size, top int64 // bytes; size is at most top
	base      time.Duration
	full      bool  // it was too large once
	floor     int64 // bytes; the lower limit of shrinking
	step      int64 // bytes of growth after it was full once
	first     int64 // bytes that may always be outstanding

	since        time.Time // begin of the period of recent, which lasts as long as the shortest request, or windowSlack
	last, recent int64     // bytes that arrived in the previous period, and in this one
}

// newWindow is the window of a single connection, at most top bytes.
func newWindow(top int64) window {
	return window{size: min(windowStart, top), top: top, floor: windowFloor, step: windowStart / 16, first: windowFirst}
}

// newLineWindow is the window of one of several connections.
func newLineWindow(top int64) window {
	return window{size: min(lineStart, top), top: top, floor: lineFloor, step: lineStart / 16, first: lineFloor}
}

// came records n received bytes.
func (w *window) came(n int64, now time.Time) {
	if now.Sub(w.since) > max(w.base, windowSlack) {
		w.since, w.last, w.recent = now, w.recent, 0
	}
	w.recent += n
}

// bound is how many bytes may be outstanding now.
func (w *window) bound() int64 {
	return min(w.size, max(w.first, windowGain*max(w.last, w.recent)))
}

// round adjusts the window to the duration of a measuring request.
func (w *window) round(took time.Duration) {
	if w.base == 0 || took < w.base {
		w.base = took
	}
	switch {
	case took > 4*w.base+4*windowSlack:
		w.full = true
		w.size = max(w.size-w.size/4, w.floor)
	case took > 2*w.base+windowSlack:
		w.full = true
	case w.full:
		w.size += w.step
	default:
		w.size *= 2
	}
	w.size = min(w.size, w.top)
}
