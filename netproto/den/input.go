package den

import (
	"slices"
	"time"
)

// take handles one datagram from the connection's peer. The socket's goroutine calls it.
func (c *Conn) take(datagram []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(datagram) == 0 {
		return
	}
	c.verified = true
	c.counts.Received++
	c.counts.ReceivedBytes += uint64(len(datagram))
	before := c.engine.pending()
	if err := c.engine.input(datagram, now); err != nil {
		switch e := err.(type) {
		case *PeerError:
			e.Addr = c.remote
		case *ClosedError:
			e.Addr = c.remote
		}
		c.endLocked(err)
		return
	}
	if c.engine.pending() < before || c.engine.idle() {
		c.writable.fire()
	}
	c.wakeUp()
}

func (c *Conn) isVerified() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verified
}

// room reports whether the application keeps up.
func (c *Conn) room() bool { return c.unread < c.options.ReceiveBytes }

// deliver puts a message into the inbox.
func (c *Conn) deliver(payload []byte, reliable bool) {
	c.message = c.now()
	c.inbox = append(c.inbox, Message{Payload: payload, Reliable: reliable, give: c.release})
	c.unread += len(payload)
	c.readable.fire()
}

// unlocked runs f without the connection's lock, while the caller holds it.
func (c *Conn) unlocked(f func()) {
	c.mu.Unlock()
	defer c.mu.Lock()
	f()
}

// asked handles the peer's request for a link.
func (c *Conn) asked(request linkState) {
	if known := c.links.known(request); known != nil {
		known.said.start(c.now(), c.reliableLinks())
		return
	}
	if c.links.byID[request.Link] != nil {
		return // a live link (reference 2.7)
	}
	var state *State
	if accept := c.links.accept; accept != nil && len(c.links.all) < maxLinks {
		message := slices.Clone(request.Message)
		c.unlocked(func() { state = accept(message) })
	}
	if state == nil || !state.fits(request.Values) {
		if len(c.links.denied) < maxLinks {
			c.links.denied = append(c.links.denied, request.Link)
		}
		return
	}
	if c.err != nil {
		return
	}
	l := c.newLink(request.Link, slices.Clone(request.Message), state, request.Flags)
	l.settle(true, nil)
	l.said.start(c.now(), c.reliableLinks())
	c.unlocked(func() {
		for i, v := range request.Values {
			state.receive(l, i, v)
		}
	})
}

// newLink makes a link and registers it with its state.
func (c *Conn) newLink(id uint16, message []byte, state *State, flags uint8) *Link {
	l := &Link{
		conn: c, id: id, state: state, message: message, flags: flags, types: state.types(),
		changes: map[uint16]*repeat{}, done: make(chan struct{}),
	}
	c.links.add(l)
	state.attach(l)
	return l
}

// answered handles the peer's answer to our request for a link.
func (c *Conn) answered(link uint16, up bool) {
	l := c.links.byID[link]
	switch {
	case l == nil || !l.mine || l.up || l.err != nil:
	case up:
		l.id = link
		l.settle(true, nil)
	case l.id == link:
		l.settle(false, ErrLinkRefused)
		c.links.drop(l)
		l.state.detach(l)
	default: // the answer of a repeated request comes under its new id
		delete(c.links.byID, link)
	}
}

// updated handles changed values. An update of a pending link implies that the peer accepted it.
func (c *Conn) updated(datagram []byte) error {
	p := linkUpdate{types: func(link uint16) []ValueType {
		l := c.links.byID[link]
		if l == nil || l.err != nil {
			return nil
		}
		return l.types
	}}
	err := decode(datagram, &p)
	for _, u := range p.Links {
		l := c.links.byID[u.Link]
		c.answered(u.Link, true)
		for _, v := range u.Values {
			delete(l.changes, v.Index)
		}
		c.unlocked(func() {
			for _, v := range u.Values {
				l.state.receive(l, int(v.Index), v.Value)
			}
		})
	}
	return err
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
	l := c.newLink(id, slices.Clone(message), state, flags)
	l.mine, l.asked = true, c.now()
	if c.reliableLinks() {
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
