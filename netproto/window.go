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
	// windowFirst is how many bytes are asked for before any have come, and windowGain how many times what came of late
	// may be asked for: the window of TCP itself doubles in a round trip, so eight times is never too little, and what a
	// slow line can't bring within seconds is not asked of it, in case that other connections can help.
	windowFirst = 2 << 20
	windowGain  = 8
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
	full      bool  // it was too large once
	floor     int64 // bytes; it never becomes smaller by itself
	step      int64 // bytes by which it grows once it was full
	first     int64 // bytes that may be asked for whatever has come

	since        time.Time // when the time of recent began, which lasts as long as the shortest request, or windowSlack
	last, recent int64     // bytes that came in the time before it, and in it
}

// newWindow is one that never asks for more than top bytes.
func newWindow(top int64) window {
	return window{size: min(windowStart, top), top: top, floor: windowFloor, step: windowStart / 16, first: windowFirst}
}

// newLineWindow is that of one of several connections.
func newLineWindow(top int64) window {
	return window{size: min(lineStart, top), top: top, floor: lineFloor, step: lineStart / 16, first: lineFloor}
}

// came notes n bytes of an answer.
func (w *window) came(n int64, now time.Time) {
	if now.Sub(w.since) > max(w.base, windowSlack) {
		w.since, w.last, w.recent = now, w.recent, 0
	}
	w.recent += n
}

// bound is how many bytes may be asked for at this moment.
func (w *window) bound() int64 {
	return min(w.size, max(w.first, windowGain*max(w.last, w.recent)))
}

// round takes the time that a request took from which a round began.
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
