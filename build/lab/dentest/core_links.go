package dentest

import (
	"bytes"
	"encoding/binary"
	"time"
)

// State is a list of values that is linked to peers. A State belongs to the Endpoint or Core it is used with.
type State struct {
	Values []Value
	links  []*link
}

// link ties one state to one id of a connection.
type link struct {
	id    uint16
	state *State
	up    bool
	dirty []int // values that changed here, in order of change
}

// updateLimit is how many links fit an update, and how many values a link of it: the counts are bytes (2.7).
const updateLimit = 255

// Link offers a state to the peer (2.7). The id is the lowest counter value that isn't in use.
func (c *Core) Link(now time.Time, message []byte, s *State, readOnly bool) uint16 {
	for c.find(uint16(c.nextLink)) != nil {
		c.nextLink = (c.nextLink + 1) % NumberSpace
	}
	l := &link{id: uint16(c.nextLink), state: s}
	c.links, s.links = append(c.links, l), append(s.links, l)
	body := binary.LittleEndian.AppendUint16(nil, l.id)
	flags := byte(0)
	if readOnly {
		flags = 1
	}
	body = binary.LittleEndian.AppendUint16(append(body, flags), uint16(len(message)))
	c.push(now, CmdReliableLinkState, writeValues(append(body, message...), s.Values))
	return l.id
}

// Up tells whether the peer has taken the link of this state.
func (s *State) Up() bool { return len(s.links) > 0 && s.links[len(s.links)-1].up }

// Set changes a value. An equal one sends nothing (2.7); the rest goes out with the next tick.
func (s *State) Set(i int, data []byte) {
	s.set(i, data, nil)
}

// set changes a value that came over one link, or over none: it isn't sent back there.
func (s *State) set(i int, data []byte, from *link) {
	if bytes.Equal(s.Values[i].Data, data) {
		return
	}
	s.Values[i].Data = clone(data)
	for _, l := range s.links {
		if l != from {
			l.mark(i)
		}
	}
}

func (l *link) mark(i int) {
	for _, d := range l.dirty {
		if d == i {
			return
		}
	}
	l.dirty = append(l.dirty, i)
}

func (c *Core) find(id uint16) *link {
	for _, l := range c.links {
		if l.id == id {
			return l
		}
	}
	return nil
}

// linkState takes the peer's offer. The initial values overwrite ours; a list of another shape makes the released
// receiver throw after its ack, and nothing is delivered from then on (2.7).
func (c *Core) linkState(id uint16, readOnly bool, message []byte, r *reader) bool {
	if c.find(id) != nil {
		c.journal.note(NoteDuplicateLink, "%d", id)
		return true
	}
	s := c.app.Link(message, readOnly)
	if s == nil {
		c.journal.note(NoteLinkRefused, "link %d message %x", id, message)
		c.emit(binary.LittleEndian.AppendUint16([]byte{CmdLinkDown}, id))
		return true
	}
	values, err := readValues(r)
	if err != nil || !sameShape(values, s.Values) {
		c.journal.violate("2.7", "link %d: value list %v instead of %v wedges the connection", id, values, s.Values)
		c.wedged = true
		return false
	}
	l := &link{id: id, state: s, up: true}
	c.links, s.links = append(c.links, l), append(s.links, l)
	for i, v := range values {
		s.set(i, v.Data, l)
	}
	c.emit(binary.LittleEndian.AppendUint16([]byte{CmdLinkUp}, id))
	return true
}

func sameShape(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type {
			return false
		}
	}
	return true
}

func (c *Core) linkUp(id uint16) {
	l := c.find(id)
	if l == nil {
		c.journal.note(NoteIgnored, "linkUp of unknown link %d", id)
		return
	}
	l.up = true
}

// linkUpdate takes the peer's values. An unknown or pending link ends the datagram (2.7).
func (c *Core) linkUpdate(now time.Time, r *reader) {
	for n := r.u8(); n > 0 && len(r.b) > 0; n-- {
		id, count := r.u16(), r.u8()
		l := c.find(id)
		if l == nil || !l.up {
			c.journal.note(NoteUpdateLost, "link %d", id)
			return
		}
		for ; count > 0; count-- {
			i := int(r.u16())
			if r.short || i >= len(l.state.Values) {
				c.journal.violate("2.7", "update of value %d of link %d, which has %d", i, id, len(l.state.Values))
				return
			}
			v := readValue(r, l.state.Values[i].Type)
			if r.short {
				return
			}
			l.state.set(i, v.Data, l)
			c.app.Changed(now, l.state, i)
		}
	}
}

// flush sends the changed values of links that are up, in one datagram; what doesn't fit waits for the next tick.
func (c *Core) flush() {
	b, links := []byte{CmdLinkUpdate, 0}, 0
	for _, l := range c.links {
		if !l.up || len(l.dirty) == 0 || links == updateLimit {
			continue
		}
		n := min(len(l.dirty), updateLimit)
		b = append(binary.LittleEndian.AppendUint16(b, l.id), byte(n))
		for _, i := range l.dirty[:n] {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(i)), l.state.Values[i].Data...)
		}
		l.dirty = l.dirty[n:]
		links++
	}
	if links > 0 {
		b[1] = byte(links)
		c.emit(b)
	}
}

// forget unties the states from this connection when it ends: states outlive connections.
func (c *Core) forget() {
	for _, l := range c.links {
		kept := l.state.links[:0]
		for _, other := range l.state.links {
			if other != l {
				kept = append(kept, other)
			}
		}
		l.state.links = kept
	}
	c.links = nil
}
