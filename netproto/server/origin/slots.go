package origin

import (
	"net/http"
	"sync"
	"time"
)

// maxHealthPerAddress is how many of maxHealthConnections one address may have, unless it is exempt: two browsers.
const maxHealthPerAddress = 16

// slots is the set of connections of one HTTP port. Their number is limited for each kind and for each address. A new
// connection above the limit replaces the one that has been without a request longest: it has not sent a whole request, or has
// sent nothing since its last answer. Half-sent headers and idle connections therefore block others for no longer than a whole
// request takes to arrive. It is safe for concurrent use.
type slots struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

// slotLimit is the limit of a kind of connection.
type slotLimit struct {
	total      int
	perAddress int // 0: no limit
}

// enter adds c to the connections of its kind, and reports whether it did. A replaced connection is closed and has released its
// other slots, so the next limit of c does not count it. Only the accept loop calls enter, so calls do not overlap.
func (s *slots) enter(c *connection, limit slotLimit, now time.Time) bool {
	for {
		replaced, entered := s.tryEnter(c, limit, now)
		if replaced == nil {
			return entered
		}
		replaced.Close()
	}
}

// tryEnter is one step of enter: it adds c, or returns the connection to close first.
func (s *slots) tryEnter(c *connection, limit slotLimit, now time.Time) (replaced *connection, entered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, own := 0, 0
	for other := range s.open {
		if other.filesOnly == c.filesOnly {
			all++
			if other.client == c.client {
				own++
			}
		}
	}
	if overAddress := limit.perAddress > 0 && own >= limit.perAddress; overAddress || all >= limit.total {
		replaced = s.replaceable(c, overAddress)
		delete(s.open, replaced)
		return replaced, false
	}
	if s.open == nil {
		s.open = map[*connection]struct{}{}
	}
	s.open[c], c.since = struct{}{}, now
	return nil, true
}

// replaceable is the connection that c replaces, if sameAddress among those of its address; nil if none can be replaced. A
// connection that waits for a whole request is chosen before one that is being answered. Of the latter only connections that may
// request health and have sent no valid token are chosen: their answers are small, and take long only if the client does not read
// them or does not send its form.
func (s *slots) replaceable(c *connection, sameAddress bool) *connection {
	var waiting, slow *connection
	for other := range s.open {
		switch {
		case other.filesOnly != c.filesOnly || sameAddress && other.client != c.client:
		case other.answers == 0 && (waiting == nil || other.since.Before(waiting.since)):
			waiting = other
		case other.answers > 0 && !other.filesOnly && !other.trusted && (slow == nil || other.since.Before(slow.since)):
			slow = other
		}
	}
	if waiting != nil {
		return waiting
	}
	return slow
}

// leave removes c, if it is still there.
func (s *slots) leave(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// trackAnswers records which connections wait for a request and which for an answer.
func trackAnswers(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connectionOf(r)
		if c == nil {
			handler.ServeHTTP(w, r)
			return
		}
		c.addAnswers(1)
		defer c.addAnswers(-1)
		handler.ServeHTTP(w, r)
	})
}

// addAnswers counts the begin or the end of an answer.
func (c *connection) addAnswers(change int) {
	s := &c.listener.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	c.answers, c.since = c.answers+change, time.Now()
}

// markTrusted protects a connection with a valid token from replacement while it is answered.
func (c *connection) markTrusted() {
	if c == nil {
		return
	}
	s := &c.listener.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	c.trusted = true
}
