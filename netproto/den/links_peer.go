package den

import (
	"slices"
	"time"
)

// linkRequested handles the peer's request for a link.
func (ls *links) linkRequested(request linkState) {
	if known := ls.requested(request); known != nil {
		known.linkUpRepeat.start(time.Now(), ls.conn.engine.reliableLinks())
		return
	}
	if ls.byID[request.Link] != nil {
		return // the link is live: the request is ignored
	}
	var state *State
	if accept := ls.accept; accept != nil && len(ls.all) < maxLinks {
		message := slices.Clone(request.Message)
		ls.conn.unlocked(func() { state = accept(message) })
	}
	if state == nil || !state.fits(request.Values) {
		if len(ls.refused) < maxLinks {
			ls.refused = append(ls.refused, request.Link)
		}
		return
	}
	if ls.conn.err != nil {
		return
	}
	l := ls.newLink(request.Link, slices.Clone(request.Message), state, request.Flags)
	l.resolve(true, nil)
	l.linkUpRepeat.start(time.Now(), ls.conn.engine.reliableLinks())
	ls.conn.unlocked(func() {
		for i, v := range request.Values {
			state.receive(l, i, v)
		}
	})
}

// newLink makes a link and registers it with its state.
func (ls *links) newLink(id uint16, message []byte, state *State, flags uint8) *Link {
	l := &Link{
		conn: ls.conn, id: id, state: state, message: message, flags: flags, types: state.types(),
		changes: map[uint16]*repeat{}, done: make(chan struct{}),
	}
	ls.add(l)
	state.attach(l)
	return l
}

// linkAnswered handles the peer's answer to our request for a link.
func (ls *links) linkAnswered(link uint16, up bool) {
	l := ls.byID[link]
	switch {
	case l == nil || !l.mine || l.up || l.err != nil:
	case up:
		l.id = link
		l.resolve(true, nil)
	case l.id == link:
		l.resolve(false, ErrLinkRefused)
		ls.drop(l)
		l.state.detach(l)
	default: // the answer of a repeated request comes under its new id
		delete(ls.byID, link)
	}
}

// linkUpdated handles changed values. An update of a pending link implies that the peer accepted it.
func (ls *links) linkUpdated(datagram []byte) error {
	p := linkUpdate{types: func(link uint16) []ValueType {
		l := ls.byID[link]
		if l == nil || l.err != nil {
			return nil
		}
		return l.types
	}}
	err := decode(datagram, &p)
	for _, u := range p.Links {
		l := ls.byID[u.Link]
		ls.linkAnswered(u.Link, true)
		for _, v := range u.Values {
			delete(l.changes, v.Index)
		}
		ls.conn.unlocked(func() {
			for _, v := range u.Values {
				l.state.receive(l, int(v.Index), v.Value)
			}
		})
	}
	return err
}

// unlocked runs f without the connection's lock, while the caller holds it.
func (c *Conn) unlocked(f func()) {
	c.mu.Unlock()
	defer c.mu.Lock()
	f()
}

// Link asks the peer to share state. message, at most 65535 bytes, tells the peer which state it is. The peer's values
// become those of state. readOnly is a hint that the peer should not change it. Link returns at once; Link.Done is
// closed when the answer arrives.
func (c *Conn) Link(message []byte, state *State, readOnly bool) (*Link, error) {
	var flags uint8
	if readOnly {
		flags = linkReadOnly
	}
	probe := reliableLinkState{linkState: linkState{Flags: flags, Message: message, Values: state.snapshot()}}
	if size, err := encode(nil, &probe); err != nil || len(size) > maxSend {
		return nil, ErrTooLong
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	id, free := c.links.free()
	if !free || len(c.links.all) >= maxLinks {
		return nil, errMany
	}
	l := c.links.newLink(id, slices.Clone(message), state, flags)
	l.mine, l.asked = true, time.Now()
	if c.engine.reliableLinks() {
		l.tries = linkRetries
	}
	c.engine.link(l.request())
	c.wakeUp()
	return l, nil
}

// HandleLinks sets the function that answers the peer's links: accept returns the state for message, or nil to refuse.
// The state must have exactly the peer's types, else the link is refused. accept runs on the socket's goroutine, in
// order with the messages, and must not block. Until it is set, all links are refused.
func (c *Conn) HandleLinks(accept func(message []byte) *State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links.accept = accept
}
