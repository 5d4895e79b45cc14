package server

import (
	"net/http"
	"sync"
	"time"
)

// maxAskersPerAddress is how many of maxAskers one address may have, if it does not stand for many clients: two browsers.
const maxAskersPerAddress = 16

// seating are the connections of one HTTP port. There are so many at once, of each kind and of each address; a newcomer who
// finds none left takes the place of one who keeps it without asking: the longest one that has not sent a whole request,
// or sends nothing since the last answer. So half-sent headers and idle connections keep others out for no longer than a
// whole request takes to arrive. It is safe for concurrent use.
type seating struct {
	mu   sync.Mutex
	open map[*visitor]struct{}
}

// room is what a kind of visitor may have.
type room struct {
	most  int // connections
	share int // of them from one address; 0 is no limit
}

// enter gives v a place among those of its kind, and reports whether there is one. The connection that had to make room is closed,
// and has given back whatever else it took: what v asks for next is not refused because of it. The caller is the one who lets
// visitors in, one at a time.
func (p *seating) enter(v *visitor, r room, now time.Time) bool {
	for {
		leaves, entered := p.sit(v, r, now)
		if leaves == nil {
			return entered
		}
		leaves.Close()
	}
}

// sit is enter, as far as it goes without closing another connection; where that is needed it says which.
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

// leaves is who makes room for v, among those of its address if that has its share; nil if all are being answered. While
// one waits for its request to arrive whole it leaves before one that is answered, and of these only an asker leaves who
// has not said a token: what such a one gets is small, and takes long only if it is not read, or its form is not sent.
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

// leave gives the place of v back, if it has one.
func (p *seating) leave(v *visitor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, v)
}

// attend notes which connections wait for a request, and which for an answer.
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

// note counts an answer that has begun or ended.
func (v *visitor) note(change int) {
	p := &v.hall.seating
	p.mu.Lock()
	defer p.mu.Unlock()
	v.answers, v.since = v.answers+change, time.Now()
}

// trust keeps the place of a visitor who has said a token while the answer takes.
func (v *visitor) trust() {
	if v == nil {
		return
	}
	p := &v.hall.seating
	p.mu.Lock()
	defer p.mu.Unlock()
	v.trusted = true
}
