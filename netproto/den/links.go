package den

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
)

// ErrLinkRefused says that the peer does not know a link's message.
var ErrLinkRefused = errors.New("the peer refused the link; it does not share this state")

// In protocol 0 all link messages except the first request can be lost without notice (docs/PROTOCOL.md, "Protocol 0").
// So each is sent several times, with growing gaps. A peer ignores repetitions.
const (
	linkRepeats   = 3 // times after the first
	linkRepeatGap = 100 * time.Millisecond
	linkRepeatMul = 3

	// linkRetry is how long a link stays pending before it is requested again under another id.
	linkRetry   = 1500 * time.Millisecond
	linkRetries = 3

	// maxLinks is how many links a peer may make on one connection; the Remote Launcher needs one.
	maxLinks = 1024
)

// repeat is the schedule of a repeated message.
type repeat struct {
	left int
	gap  time.Duration
	at   time.Time
}

// start begins the schedule at now; a reliable connection sends once.
func (r *repeat) start(now time.Time, reliable bool) {
	*r = repeat{left: 1 + linkRepeats, gap: linkRepeatGap, at: now}
	if reliable {
		r.left = 1
	}
}

// due reports whether to send at now, and if so counts it as sent.
func (r *repeat) due(now time.Time) bool {
	if r.left == 0 || now.Before(r.at) {
		return false
	}
	r.left--
	r.at = now.Add(r.gap)
	r.gap *= linkRepeatMul
	return true
}

// Link is a State shared over one Conn.
type Link struct {
	conn    *Conn
	state   *State
	message []byte
	flags   uint8
	types   []ValueType

	// Guarded by conn.mu.
	id           uint16
	mine         bool // requested by this side
	up           bool
	err          error
	asked        time.Time // of the last request
	tries        int
	linkUpRepeat repeat
	changes      map[uint16]*repeat
	done         chan struct{}
	settled      bool // done is closed
}

// Up reports whether the peer has accepted, so that changes reach it.
func (l *Link) Up() bool {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	return l.up
}

// Done is closed when the link is up, was refused, or its connection is over.
func (l *Link) Done() <-chan struct{} { return l.done }

// Err is nil while the link is pending or up, else ErrLinkRefused, or why the connection has ended.
func (l *Link) Err() error {
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	return l.err
}

// mark marks value i to be sent.
func (l *Link) mark(i int) {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.err != nil || i < 0 || i >= len(l.types) {
		return
	}
	r := l.changes[uint16(i)]
	if r == nil {
		r = &repeat{}
		l.changes[uint16(i)] = r
	}
	r.start(time.Now(), c.engine.reliableLinks())
	c.wakeUp()
}

// resolve ends the wait for the peer's answer.
func (l *Link) resolve(up bool, err error) {
	l.up = up
	if err != nil {
		l.err = err
	}
	if !l.settled {
		l.settled = true
		close(l.done)
	}
}

// links are those of one connection, guarded by its lock.
type links struct {
	conn    *Conn
	byID    map[uint16]*Link // a repeated request gives a link several ids
	all     []*Link
	next    uint16
	accept  func(message []byte) *State
	refused []uint16 // whose linkDown is to be sent
}

func (ls *links) add(l *Link) {
	if ls.byID == nil {
		ls.byID = map[uint16]*Link{}
	}
	ls.byID[l.id] = l
	ls.all = append(ls.all, l)
}

// drop removes a link and all its ids.
func (ls *links) drop(l *Link) {
	maps.DeleteFunc(ls.byID, func(_ uint16, known *Link) bool { return known == l })
	ls.all = slices.DeleteFunc(ls.all, func(known *Link) bool { return known == l })
}

// free is the lowest unused id from the counter on.
func (ls *links) free() (uint16, bool) {
	for range math.MaxUint16 {
		id := ls.next
		ls.next++
		if _, taken := ls.byID[id]; !taken {
			return id, true
		}
	}
	return 0, false
}

// request is the request for l.
func (l *Link) request() linkState {
	return linkState{Link: l.id, Flags: l.flags, Message: l.message, Values: l.state.snapshot()}
}

// repeatRequests repeats unanswered requests under new ids. send sends a request.
func (ls *links) repeatRequests(now time.Time, send func(linkState)) {
	for _, l := range ls.all {
		if !l.mine || l.up || l.err != nil || l.tries >= linkRetries || now.Sub(l.asked) < linkRetry {
			continue
		}
		id, free := ls.free()
		if !free {
			return
		}
		l.id, l.asked, l.tries = id, now, l.tries+1
		ls.byID[id] = l
		send(l.request())
	}
}

// sendDue sends everything due. send sends one packet; no other layer repeats it.
func (ls *links) sendDue(now time.Time, send func(packet)) {
	for _, id := range ls.refused {
		send(&linkDown{Link: id})
	}
	ls.refused = ls.refused[:0]
	var updates []linkValues
	for _, l := range ls.all {
		if l.linkUpRepeat.due(now) {
			send(&linkUp{Link: l.id})
		}
		if values := l.due(now); len(values) > 0 {
			updates = append(updates, linkValues{Link: l.id, Values: values})
		}
	}
	for _, u := range pack(updates) {
		send(&u)
	}
}

// due returns the changed values to send at now.
func (l *Link) due(now time.Time) []indexedValue {
	if !l.up || l.err != nil || len(l.changes) == 0 {
		return nil
	}
	var values []indexedValue
	for i := range l.types {
		if r := l.changes[uint16(i)]; r != nil && r.due(now) {
			values = append(values, indexedValue{Index: uint16(i), Value: l.state.Get(i)})
			if r.left == 0 {
				delete(l.changes, uint16(i))
			}
		}
	}
	return values
}

// pack combines updates into as few packets as possible: at most 255 links, 255 values a link, and a datagram.
func pack(updates []linkValues) []linkUpdate {
	var out []linkUpdate
	size := 0
	add := func(l linkValues, n int) {
		if last := len(out) - 1; last < 0 || len(out[last].Links) == math.MaxUint8 || size+n > maxSend {
			out = append(out, linkUpdate{})
			size = 2
		}
		last := &out[len(out)-1]
		last.Links = append(last.Links, l)
		size += n
	}
	for _, u := range updates {
		for len(u.Values) > 0 {
			n, bytes := fitting(u.Values)
			add(linkValues{Link: u.Link, Values: u.Values[:n]}, bytes)
			u.Values = u.Values[n:]
		}
	}
	return out
}

// fitting is how many of values fit into one entry of an update, and their bytes. It is at least one.
func fitting(values []indexedValue) (n, bytes int) {
	bytes = 3
	for n < min(len(values), math.MaxUint8) {
		v := values[n].Value
		s := v.kind.shape()
		size := 4 + s.width*s.lanes + len(v.bytes)
		if n > 0 && bytes+size > maxSend/2 {
			break
		}
		bytes += size
		n++
	}
	return n, bytes
}

// deadline is when the next message is due; zero if none is.
func (ls *links) deadline() time.Time {
	var next time.Time
	if len(ls.refused) > 0 {
		return time.Unix(0, 1)
	}
	for _, l := range ls.all {
		if l.err != nil {
			continue
		}
		if l.linkUpRepeat.left > 0 {
			next = earlier(next, l.linkUpRepeat.at)
		}
		if l.mine && !l.up && l.tries < linkRetries {
			next = earlier(next, l.asked.Add(linkRetry))
		}
		for _, r := range l.changes {
			if l.up {
				next = earlier(next, r.at)
			}
		}
	}
	return next
}

// earlier is the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// requested is the live link that the peer requested under id with the same message.
func (ls *links) requested(req linkState) *Link {
	if l := ls.byID[req.Link]; l != nil && !l.mine && bytes.Equal(l.message, req.Message) {
		return l
	}
	return nil
}
