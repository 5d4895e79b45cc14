package netproto

import "errors"

// strideShrink is by how much requests become smaller after an attempt that brought nothing: two attempts lead from the
// usual 256 KiB to the smallest, well before a client gives up.
const strideShrink = 4

// Stride remembers, from one session to the next, how much one request of C1 may ask for. What has arrived of an answer
// when the line breaks is lost, so on a line that breaks often requests must be smaller than what it carries between two
// breaks. After a session that broke and delivered nothing they are a quarter as large, down to 16 KiB; every one of full
// size that arrives doubles what the next ones ask for.
//
// It belongs to one server and one session at a time. The zero value knows of no breaks; a nil one remembers nothing.
type Stride struct {
	most   int64 // bytes of one request at most; 0: as many as there may be otherwise
	asked  int64 // the largest request of this session
	proven int64 // the largest that was delivered in it
}

// begin starts a session.
func (s *Stride) begin() {
	if s != nil {
		s.asked, s.proven = 0, 0
	}
}

// ask is how many of n bytes the next request is for.
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

// delivered notes a request that was answered, of n bytes.
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

// end draws the conclusion from how a session ended. A connection that lasted, or that somebody gave up, says nothing.
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
