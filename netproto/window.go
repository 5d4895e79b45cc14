package netproto

import "time"

const (
	// windowStart is how many bytes a client of C1 asks for before it knows the line: enough for 400 Mbit/s at 160 ms.
	windowStart = 8 << 20
	// windowFloor is the least that is asked for at a time, in bytes: on a slow line as little as possible should lie
	// between a ping and its answer, and requests below 32 KiB gain nothing.
	windowFloor = 1 << 20
	// windowSlack is waiting that says nothing about the line: the server's disk and ours, and whoever else uses the
	// processor.
	windowSlack = 20 * time.Millisecond
)

// window is how many bytes a client of C1 asks for at a time. Of one stream of TCP it is TCP itself that finds the speed
// of the line; the window has only to be larger than what is on its way, so that the server never waits for a request, and
// not much larger, because what it holds beyond that only waits. How long a request takes tells which it is: about the
// shortest time seen while the line is not full, a multiple of it when requests wait for one another.
//
// Each round of a window it grows, twice as large until it was too large once and by a sixteenth of its start from then
// on, or shrinks by a quarter (additive increase, multiplicative decrease).
type window struct {
	size, top int64 // bytes; size is at most top
	base      time.Duration
	full      bool // it was too large once
}

// newWindow is one that never asks for more than top bytes.
func newWindow(top int64) window { return window{size: min(windowStart, top), top: top} }

// round takes the time that a request took from which a round began.
func (w *window) round(took time.Duration) {
	if w.base == 0 || took < w.base {
		w.base = took
	}
	switch {
	case took > 4*w.base+4*windowSlack:
		w.full = true
		w.size = max(w.size-w.size/4, windowFloor)
	case took > 2*w.base+windowSlack:
		w.full = true
	case w.full:
		w.size += windowStart / 16
	default:
		w.size *= 2
	}
	w.size = min(w.size, w.top)
}
