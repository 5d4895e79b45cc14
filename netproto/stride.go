package netproto

import "errors"

// strideShrink is the factor by which requests shrink after an attempt without progress: two attempts lead from the
// usual 256 KiB to the smallest, well before a client gives up.
const strideShrink = 4

// Stride remembers the request size of C1 from one session to the next. When a connection breaks, a partial answer is
// lost. So on a connection that breaks often, requests must be smaller than the data between two breaks. After a session
// that broke and delivered nothing the size is a quarter, down to 16 KiB. Each delivered request of full size doubles it.
//
// It belongs to one server and one session at a time. The zero value has no limit; a nil one stores nothing.
type Stride struct {
	most   int64 // largest request in bytes; 0: no limit of its own
	asked  int64 // the largest request of this session
	proven int64 // the largest delivered request of this session
}

// begin starts a session.
func (s *Stride) begin() {
	if s != nil {
		s.asked, s.proven = 0, 0
	}
}

// ask limits the next request, of n bytes, and records it.
func (s *Stride) ask(n int64) int64 {
	if s == nil {
		return n
	}
	if s.most != 0 {
		n = min(n, s.most)
	}
	s.asked = max(s.asked, n)
	return n
}

// delivered records a delivered request of n bytes.
func (s *Stride) delivered(n int64) {
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

// end adjusts the size after a session. A session that ended without a break, or was cancelled, changes nothing.
func (s *Stride) end(err error) {
	var closed *ClosedError
	if s == nil || s.asked == 0 || !errors.As(err, &closed) {
		return
	}
	switch {
	case s.proven == 0:
		s.most = max(s.asked/strideShrink, smallestPortion)
	case s.most != 0:
		s.most = max(s.proven, smallestPortion)
	}
}
