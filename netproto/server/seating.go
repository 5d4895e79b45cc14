package server

import (
	"net/http"
	"sync"
	"time"
)

// maxAskersPerAddress is how many of maxAskers one address may have, unless it is exempt: two browsers.
const maxAskersPerAddress = 16

// seating is the set of connections of one HTTP port. Their number is limited for each kind and for each address. A new
// connection above the limit replaces the one that has been without a request longest: it has not sent a whole request, or has
// sent nothing since its last answer. Half-sent headers and idle connections therefore block others for no longer than a whole
// request takes to arrive. It is safe for concurrent use.
type seating struct {
	mu   sync.Mutex
	open map[*visitor]struct{}
}

// room is the limit of a kind of visitor.
type room struct {
	most  int // connections
	share int // connections of one address; 0: no limit
}

// enter adds v to the connections of its kind, and reports whether it did. The replaced connection is closed and has released its
// other slots, so the next limit of v does not count it. Only the accept loop calls enter, so calls do not overlap.
func (p *seating) enter(v *visitor, r room, now time.Time) bool {
	for {
		leaves, entered := p.sit(v, r, now)
		if leaves == nil {
			return entered
		}
		leaves.Close()
	}
}

// sit is one step of enter: it adds v, or returns the connection to close first.
func (p *seating) sit(v *visitor, r room, now time.Time) (leaves *visitor, entered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, own := 0, 0
	for other := range p.open {
		if other.guest == v.guest {
			all++
			if other.from == v.from {
				own++
			}
		}
	}
	if crowded := r.share > 0 && own >= r.share; crowded || all >= r.most {
		leaves = p.leaves(v, crowded)
		delete(p.open, leaves)
		return leaves, false
	}
	if p.open == nil {
		p.open = map[*visitor]struct{}{}
	}
	p.open[v], v.since = struct{}{}, now
	return nil, true
}

// leaves is the connection that v replaces, among those of its address if crowded; nil if none can be replaced. A connection that
// waits for a whole request is chosen before one that is being answered. Of the latter only askers without a valid token are
// chosen: their answers are small, and take long only if the client does not read them or does not send its form.
func (p *seating) leaves(v *visitor, crowded bool) *visitor {
	var waits, slow *visitor
	for other := range p.open {
		switch {
		case other.guest != v.guest || crowded && other.from != v.from:
		case other.answers == 0 && (waits == nil || other.since.Before(waits.since)):
			waits = other
		case other.answers > 0 && !other.guest && !other.trusted && (slow == nil || other.since.Before(slow.since)):
			slow = other
		}
	}
	if waits != nil {
		return waits
	}
	return slow
}

// leave removes v, if it is still there.
func (p *seating) leave(v *visitor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, v)
}

// attend records which connections wait for a request and which for an answer.
func attend(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitorOf(r)
		if v == nil {
			handler.ServeHTTP(w, r)
			return
		}
		v.note(1)
		defer v.note(-1)
		handler.ServeHTTP(w, r)
	})
}

// note counts the begin or the end of an answer.
func (v *visitor) note(change int) {
	p := &v.hall.seating
	p.mu.Lock()
	defer p.mu.Unlock()
	v.answers, v.since = v.answers+change, time.Now()
}

// trust protects a visitor with a valid token from replacement while it is answered.
func (v *visitor) trust() {
	if v == nil {
		return
	}
	p := &v.hall.seating
	p.mu.Lock()
	defer p.mu.Unlock()
	v.trusted = true
}
