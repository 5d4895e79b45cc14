package dentest

import (
	"encoding/binary"
	"slices"
	"time"
)

// accepts is the receive window as the released programs test it, not as it was meant (2.4): behind the wrap and before
// it, old numbers are refused without ack; elsewhere they pass.
func accepts(expected, n int) bool {
	if n < expected {
		return n < (expected+Window)%NumberSpace
	}
	return n < expected+Window
}

func (c *Core) numbered(now time.Time, command byte, r *reader) {
	n := int(r.u16())
	if r.short {
		return
	}
	if n >= NumberSpace {
		c.journal.violate("2.3", "number %d: numbers are modulo %d", n, NumberSpace)
	}
	if !accepts(c.expected, n) {
		c.journal.note(NoteOutside, "#%d, expecting #%d", n, c.expected)
		return
	}
	ack := binary.LittleEndian.AppendUint16([]byte{CmdReliableAck}, uint16(n))
	c.emit(append(ack, 0))
	if n != c.expected {
		c.store(n, command, r.b)
		return
	}
	if c.deliver(now, command, r.b, false) {
		c.next()
		c.unstore(now)
	}
}

func (c *Core) next() {
	c.expected = (c.expected + 1) % NumberSpace
	c.delivered++
}

// store keeps a copy that isn't due. Copies of delivered numbers and second copies are kept as well: the released
// receiver can't tell them from future messages (2.4).
func (c *Core) store(n int, command byte, body []byte) {
	ahead := (n - c.expected + NumberSpace) % NumberSpace
	due := c.delivered + uint64(ahead)
	switch {
	case ahead >= Window:
		due = 0
		c.journal.note(NoteStoredOld, "#%d, expecting #%d", n, c.expected)
	case slices.ContainsFunc(c.stored, func(s incoming) bool { return s.number == n }):
		c.journal.note(NoteStoredTwice, "#%d, expecting #%d", n, c.expected)
	}
	c.stored = append(c.stored, incoming{n, command, clone(body), due})
}

// unstore delivers what is due, the oldest copy of a number first.
func (c *Core) unstore(now time.Time) {
	for !c.closed {
		i := slices.IndexFunc(c.stored, func(s incoming) bool { return s.number == c.expected })
		if i < 0 {
			return
		}
		s := c.stored[i]
		stale := s.expected != c.delivered
		if stale {
			c.journal.note(NoteStaleDelivered, "#%d: %s", s.number, (&Decoder{}).Describe(ToServer, append([]byte{s.command, 0, 0}, s.body...)))
		}
		if !c.deliver(now, s.command, s.body, stale) {
			return
		}
		c.stored = slices.Delete(c.stored, i, i+1)
		c.next()
	}
}

// deliver hands one numbered command up. False means that the receiver threw and doesn't advance: the connection is
// wedged.
func (c *Core) deliver(now time.Time, command byte, body []byte, stale bool) bool {
	switch command {
	case CmdReliableMessage:
		c.app.Receive(now, clone(body), true, stale)
	case CmdReliableLong:
		c.part(now, body, stale)
	case CmdReliableLinkState:
		r := &reader{b: body}
		id, flags := r.u16(), r.u8()
		return c.linkState(id, flags == 1, r.take(int(r.u16())), r)
	case CmdReliableLinkLong:
		return c.longLink(body)
	}
	return true
}

// part puts a long message together: one buffer a connection, "first" restarts it, parts without one are dropped (2.5).
func (c *Core) part(now time.Time, body []byte, stale bool) {
	if len(body) == 0 {
		c.journal.violate("2.5", "long part without flags")
		return
	}
	flags, data := body[0], body[1:]
	if flags&partFirst != 0 {
		if c.started && !stale && !c.tainted {
			c.journal.violate("2.5", "a long message starts inside another, of which %d bytes have come", len(c.partial))
		}
		c.partial, c.started, c.tainted = nil, true, false
	}
	c.tainted = c.tainted || stale
	if !c.started {
		c.journal.note(NoteIgnored, "long part without a first part")
		return
	}
	if c.slow {
		c.partial = append(make([]byte, 0, len(c.partial)+len(data)), c.partial...)
	}
	c.partial = append(c.partial, data...)
	if flags&partLast == 0 {
		return
	}
	whole := c.partial
	c.partial, c.started = nil, false
	if c.slow && len(whole) > len(c.biggest) {
		c.biggest = make([]byte, len(whole))
	}
	c.app.Receive(now, whole, true, c.tainted)
}

// longLink is code 11 as the released receiver reads it: it looks at the wrong bit for "last" and finishes on the first
// part. Only the one-part form with flags first and last works (2.5).
func (c *Core) longLink(body []byte) bool {
	const readOnly, first, last = 1, 2, 4
	r := &reader{b: body}
	id, flags := r.u16(), r.u8()
	if flags&first == 0 || flags&last == 0 {
		c.journal.violate("2.5", "link state split over several parts of code 11: it ends on its first part")
	}
	if flags&first == 0 {
		return true
	}
	return c.linkState(id, flags&readOnly != 0, r.take(int(r.u16())), r)
}
