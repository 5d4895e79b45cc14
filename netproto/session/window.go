package session

import (
	"errors"
	"time"
)

const (
	// largestPortion is the size of the largest request of C1, in bytes. Larger ones were not faster on any measured
	// link, and make progress less smooth.
	largestPortion = 1 << 20
	// smallestPortion is the size of the smallest request, in bytes: below, the requests would cost more than their data.
	smallestPortion = 16 << 10
	// windowStart is the initial window of a C1 client in bytes: enough for 400 Mbit/s at 160 ms.
	windowStart = 8 << 20
	// windowStep is the growth in bytes after the window was too large once.
	windowStep = windowStart / 16
	// windowFloor is the smallest window in bytes. On a slow path little data should be queued before a ping's answer,
	// and requests below 32 KiB gain nothing.
	windowFloor = 1 << 20
	// windowSlack is delay that does not come from the network: disks at both ends, and other load on the processor.
	windowSlack = 20 * time.Millisecond
	// windowFirst is how many bytes may be outstanding before any data has arrived, and windowGain limits the
	// outstanding bytes to a multiple of the recent arrivals. TCP's own window doubles in a round trip, so eight times
	// is always enough. On a slow path it avoids requests that take seconds.
	windowFirst = 2 << 20
	windowGain  = 8
	// shrinkFactor is the factor by which requests shrink after a session without progress: two sessions lead from the
	// usual 256 KiB to the smallest, well before a client gives up.
	shrinkFactor = 4
)

// window decides how much a C1 client requests ahead, and in which pieces. It counts the outstanding requests.
//
// Within one TCP stream, TCP itself finds the speed of the path. The window only has to exceed the data in flight, so
// that the server never waits for a request; anything above only adds queueing delay. The duration of a request shows
// which is the case: it is about the shortest duration seen while the path is not full, and a multiple of it when
// requests queue.
//
// In each round trip the window grows: it doubles until it was too large once, and then grows by windowStep; or it
// shrinks by a quarter (additive increase, multiplicative decrease).
type window struct {
	count   int   // outstanding requests at most
	portion int64 // bytes of one request at most
	top     int64 // bytes of size at most
	proven  *RequestSize

	requests  int   // outstanding
	bytes     int64 // of them
	measuring bool  // one of them measures a round trip

	size int64         // bytes
	base time.Duration // the shortest round trip
	full bool          // it was too large once

	since        time.Time // begin of the period of recent, which lasts as long as the shortest request, or windowSlack
	last, recent int64     // bytes that arrived in the previous period, and in this one
}

// newWindow is a window of at most top bytes, in at most count requests of at most portion bytes.
func newWindow(count int, portion, top int64, proven *RequestSize) window {
	return window{count: count, portion: portion, top: top, proven: proven, size: min(windowStart, top)}
}

// piece is the size of the next request when left bytes are missing. Of a file of unknown size, whole requests as much as
// one request may.
func (w *window) piece(left int64, whole bool) int64 {
	share := max(w.size/int64(w.count), smallestPortion)
	if whole {
		share = w.portion
	}
	return w.proven.limit(min(left, w.portion, share))
}

// request counts a request of n bytes. The result is now if it measures a round trip, else zero.
func (w *window) request(n int64, now time.Time) (asked time.Time) {
	w.requests, w.bytes = w.requests+1, w.bytes+n
	if w.measuring {
		return time.Time{}
	}
	w.measuring = true
	return now
}

// complete counts the end of a request of n bytes; asked is the result of request.
func (w *window) complete(n int64, asked time.Time) {
	w.requests, w.bytes = w.requests-1, w.bytes-n
	if !asked.IsZero() {
		w.measuring = false
	}
}

// receive records n received bytes, which answer a request of this asked.
func (w *window) receive(n int64, asked, now time.Time) {
	if now.Sub(w.since) > max(w.base, windowSlack) {
		w.since, w.last, w.recent = now, w.recent, 0
	}
	w.recent += n
	if !asked.IsZero() {
		w.adjust(now.Sub(asked))
	}
}

// bound is how many bytes may be outstanding now.
func (w *window) bound() int64 {
	return min(w.size, max(windowFirst, windowGain*max(w.last, w.recent)))
}

// adjust changes the size by the duration of a measuring request.
func (w *window) adjust(took time.Duration) {
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
		w.size += windowStep
	default:
		w.size *= 2
	}
	w.size = min(w.size, w.top)
}

// RequestSize remembers the request size of C1 from one session to the next. When a connection breaks, a partial answer is
// lost. So on a connection that breaks often, requests must be smaller than the data between two breaks. After a session
// that broke and delivered nothing the size is a quarter, down to 16 KiB. Each delivered request of full size doubles it.
//
// It belongs to one server and one session at a time. The zero value has no limit; a nil one stores nothing.
type RequestSize struct {
	most   int64 // largest request in bytes; 0: no limit of its own
	asked  int64 // the largest request of this session
	proven int64 // the largest delivered request of this session
}

// beginSession starts a session.
func (s *RequestSize) beginSession() {
	if s != nil {
		s.asked, s.proven = 0, 0
	}
}

// limit limits the next request, of n bytes, and records it.
func (s *RequestSize) limit(n int64) int64 {
	if s == nil {
		return n
	}
	if s.most != 0 {
		n = min(n, s.most)
	}
	s.asked = max(s.asked, n)
	return n
}

// recordDelivery records a delivered request of n bytes.
func (s *RequestSize) recordDelivery(n int64) {
	if s == nil {
		return
	}
	s.proven = max(s.proven, n)
	if s.most != 0 && n >= s.most {
		s.most = 2 * n
	}
	if s.most >= largestPortion {
		s.most = 0
	}
}

// endSession adjusts the size after a session. A session that ended without a break, or was cancelled, changes nothing.
func (s *RequestSize) endSession(err error) {
	var closed *ClosedError
	if s == nil || s.asked == 0 || !errors.As(err, &closed) {
		return
	}
	switch {
	case s.proven == 0:
		s.most = max(s.asked/shrinkFactor, smallestPortion)
	case s.most != 0:
		s.most = max(s.proven, smallestPortion)
	}
}
