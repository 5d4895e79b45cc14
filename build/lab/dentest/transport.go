package dentest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Commands of the transport, the first byte of each datagram.
const (
	CmdConnectionRequest byte = 0
	CmdConnectionAck     byte = 1
	CmdConnectionClose   byte = 2
	CmdMessage           byte = 3
	CmdReliableMessage   byte = 4
	CmdReliableLinkState byte = 5
	CmdReliableAck       byte = 6
	CmdLinkUp            byte = 7
	CmdLinkDown          byte = 8
	CmdLinkUpdate        byte = 9
	CmdReliableLong      byte = 10
	CmdReliableLinkLong  byte = 11
)

const (
	numberSpace = 65535 // numbers are modulo this: 65534 is followed by 0
	window      = 10    // numbers in flight, both directions
	partSize    = 1357  // payload bytes of one datagram; longer messages are split

	partFirst byte = 1 // flags of a part of a long message
	partLast  byte = 2
)

// Number is the number that a datagram carries or acknowledges.
func Number(datagram []byte) (n int, ok bool) {
	if len(datagram) < 3 {
		return 0, false
	}
	switch datagram[0] {
	case CmdReliableMessage, CmdReliableLinkState, CmdReliableAck, CmdReliableLong, CmdReliableLinkLong:
		return int(binary.LittleEndian.Uint16(datagram[1:])), true
	}
	return 0, false
}

// App is what lies above a Transport. Its methods are called one at a time and may call the Transport.
type App interface {
	// Receive takes one complete message. Stale marks a stored copy that was delivered one lap late.
	Receive(now time.Time, payload []byte, stale bool)
	// Link names the state that a link message means, or nil to refuse.
	Link(message []byte) *State
	// Changed says that a link is up, or that the peer wrote a value of one.
	Changed(written bool)
	// Closed says once that the connection ended. Nil means an orderly end.
	Closed(err error)
}

// State is a list of bytes that is linked to a peer; the Remote Launcher links one byte, the run state.
type State struct {
	Values []byte
	up     bool
	dirty  map[int]bool
}

// Set changes a value. An equal one is not sent.
func (s *State) Set(i int, value byte) {
	if s.Values[i] != value {
		s.Values[i] = value
		s.dirty[i] = true
	}
}

// Up reports whether the peer has accepted the link.
func (s *State) Up() bool { return s.up }

// Timers are the waiting times of one side.
type Timers struct {
	Resend time.Duration // since the last transmission
	GiveUp time.Duration // since the first transmission
}

// DeviceTimers are those of the device, DeskTimers those of the desk, whose loop advances the clock twice.
var (
	DeviceTimers = Timers{500 * time.Millisecond, 3 * time.Second}
	DeskTimers   = Timers{250 * time.Millisecond, 1500 * time.Millisecond}
)

// Transport is one accepted connection. It isn't safe for concurrent use.
type Transport struct {
	app     App
	emit    func([]byte)
	journal *Journal
	timers  Timers
	slow    bool // spends the processor time of the released receiver

	oldest int // number of queue[0], or the next one
	queue  []*outgoing

	expected  int    // next number to deliver
	delivered uint64 // how many were delivered in all
	stored    []incoming

	partial []byte // the long message in progress
	started bool
	tainted bool   // a part of it is a stored copy
	biggest []byte // what pooled buffers have grown to, if slow
	closed  bool
	links   map[uint16]*State
}

type outgoing struct {
	number      int
	datagram    []byte
	first, last time.Time // transmissions; zero before the first
	done        bool
}

type incoming struct {
	number  int
	command byte
	body    []byte
	due     uint64 // count of deliveries at which it should be delivered
}

// Send queues a reliable message.
func (c *Transport) Send(now time.Time, payload []byte) {
	if len(payload) <= partSize {
		c.push(now, CmdReliableMessage, payload)
		return
	}
	flags := partFirst
	for part := range slices.Chunk(payload, partSize) {
		if payload = payload[len(part):]; len(payload) == 0 {
			flags |= partLast
		}
		c.push(now, CmdReliableLong, append([]byte{flags}, part...))
		flags = 0
	}
}

// Raw sends a datagram that no released program sends.
func (c *Transport) Raw(datagram []byte) { c.emit(datagram) }

// Link offers a state to the peer.
func (c *Transport) Link(now time.Time, id uint16, message []byte, s *State) {
	s.up, s.dirty = false, map[int]bool{}
	c.links[id] = s
	body := binary.LittleEndian.AppendUint16(nil, id)
	body = binary.LittleEndian.AppendUint16(append(body, 0), uint16(len(message)))
	body = binary.LittleEndian.AppendUint16(append(body, message...), uint16(len(s.Values)))
	for _, v := range s.Values {
		body = append(body, 1, v)
	}
	c.push(now, CmdReliableLinkState, body)
}

func (c *Transport) push(now time.Time, command byte, body []byte) {
	if c.closed {
		return
	}
	n := (c.oldest + len(c.queue)) % numberSpace
	datagram := binary.LittleEndian.AppendUint16([]byte{command}, uint16(n))
	c.queue = append(c.queue, &outgoing{number: n, datagram: append(datagram, body...)})
	c.fill(now)
}

// fill sends what has moved into the window.
func (c *Transport) fill(now time.Time) {
	for _, o := range c.queue[:min(len(c.queue), window)] {
		if o.last.IsZero() {
			o.first, o.last = now, now
			c.emit(o.datagram)
		}
	}
}

// Pending is how many numbers wait for their acknowledgement.
func (c *Transport) Pending() int { return len(c.queue) }

// Tick runs the timers and sends changed values. It is called every few milliseconds.
func (c *Transport) Tick(now time.Time) {
	for _, o := range c.queue[:min(len(c.queue), window)] {
		switch {
		case o.done:
		case now.Sub(o.first) >= c.timers.GiveUp:
			c.emit([]byte{CmdConnectionClose})
			c.end(fmt.Errorf("number %d not acknowledged for %v", o.number, c.timers.GiveUp))
			return
		case now.Sub(o.last) >= c.timers.Resend:
			c.journal.count(CountResend)
			o.last = now
			c.emit(o.datagram)
		}
	}
	for id, s := range c.links {
		if s.up && len(s.dirty) > 0 {
			update := append(binary.LittleEndian.AppendUint16([]byte{CmdLinkUpdate, 1}, id), byte(len(s.dirty)))
			for i := range s.dirty {
				update = append(binary.LittleEndian.AppendUint16(update, uint16(i)), s.Values[i])
			}
			clear(s.dirty)
			c.emit(update)
		}
	}
}

// Close ends the connection in order.
func (c *Transport) Close() {
	if !c.closed {
		c.emit([]byte{CmdConnectionClose})
		c.end(nil)
	}
}

func (c *Transport) end(err error) {
	if !c.closed {
		c.closed = true
		c.app.Closed(err)
	}
}

// Input takes one datagram of the peer.
func (c *Transport) Input(now time.Time, datagram []byte) {
	if c.closed || len(datagram) == 0 {
		return
	}
	if c.slow { // pooled buffers keep their largest size and are copied whole for every small datagram
		c.biggest = append(make([]byte, 0, max(len(c.biggest), len(datagram))), c.biggest...)
		c.biggest = c.biggest[:cap(c.biggest)]
	}
	r := &reader{b: datagram[1:]}
	switch datagram[0] {
	case CmdConnectionClose:
		c.end(nil)
	case CmdMessage:
		c.app.Receive(now, slices.Clone(r.b), false)
	case CmdReliableMessage, CmdReliableLinkState, CmdReliableLong, CmdReliableLinkLong:
		if n := int(r.u16()); !r.short {
			c.numbered(now, n, datagram[0], r.b)
		}
	case CmdReliableAck:
		c.acknowledge(now, int(r.u16()))
	case CmdLinkUp:
		if s := c.links[r.u16()]; s != nil {
			s.up = true
			c.app.Changed(false)
		}
	case CmdLinkUpdate:
		c.update(r)
	}
	if r.short {
		c.journal.violate("1", "command %d of %d bytes is too short", datagram[0], len(datagram))
	}
}

// acknowledge finishes the first entry with the number. Finished entries leave from the front only.
func (c *Transport) acknowledge(now time.Time, n int) {
	i := slices.IndexFunc(c.queue, func(o *outgoing) bool { return o.number == n })
	if i < 0 {
		return
	}
	if c.queue[i].last.IsZero() {
		c.journal.violate("2.3", "acknowledgement of number %d, which was never sent", n)
	}
	c.queue[i].done = true
	for len(c.queue) > 0 && c.queue[0].done {
		c.queue, c.oldest = c.queue[1:], (c.oldest+1)%numberSpace
	}
	c.fill(now)
}

// numbered acknowledges, stores and delivers. The window is tested as the released programs do: after a wrap, old numbers
// are refused without acknowledgement; elsewhere they pass.
func (c *Transport) numbered(now time.Time, n int, command byte, body []byte) {
	if n >= numberSpace {
		c.journal.violate("2.3", "number %d: numbers are modulo %d", n, numberSpace)
	}
	end := c.expected + window
	if n < c.expected {
		end %= numberSpace
	}
	if n >= end {
		c.journal.count(CountOutside)
		return
	}
	c.emit(append(binary.LittleEndian.AppendUint16([]byte{CmdReliableAck}, uint16(n)), 0))
	if n != c.expected {
		c.store(n, command, body)
		return
	}
	for stale := false; c.deliver(now, command, body, stale) && !c.closed; {
		c.expected = (c.expected + 1) % numberSpace
		c.delivered++
		i := slices.IndexFunc(c.stored, func(s incoming) bool { return s.number == c.expected })
		if i < 0 {
			return
		}
		s := c.stored[i]
		c.stored = slices.Delete(c.stored, i, i+1)
		if stale = s.due != c.delivered; stale {
			c.journal.count(CountStaleDelivered)
		}
		command, body = s.command, s.body
	}
}

// store keeps a copy that isn't due. The released receiver can't tell copies of delivered numbers from future ones.
func (c *Transport) store(n int, command byte, body []byte) {
	ahead := (n - c.expected + numberSpace) % numberSpace
	due := c.delivered + uint64(ahead)
	switch {
	case ahead >= window:
		due = 0
		c.journal.count(CountStoredOld)
	case slices.ContainsFunc(c.stored, func(s incoming) bool { return s.number == n }):
		c.journal.count(CountStoredTwice)
	}
	c.stored = append(c.stored, incoming{n, command, slices.Clone(body), due})
}

// deliver passes one numbered command on. False means that the receiver does not advance: the connection hangs.
func (c *Transport) deliver(now time.Time, command byte, body []byte, stale bool) bool {
	r := &reader{b: body}
	switch command {
	case CmdReliableMessage:
		c.app.Receive(now, slices.Clone(body), stale)
	case CmdReliableLong:
		c.part(now, r.u8(), r.b, stale)
	case CmdReliableLinkLong:
		c.journal.violate("2.5", "code 11 ends on its first part")
	case CmdReliableLinkState:
		id, _ := r.u16(), r.u8()
		return c.linked(id, r.take(int(r.u16())), r)
	}
	return true
}

// part adds to the long message: one buffer a connection, the flag "first" restarts it, parts without one are dropped.
func (c *Transport) part(now time.Time, flags byte, data []byte, stale bool) {
	if flags&partFirst != 0 {
		if c.started && !stale && !c.tainted {
			c.journal.violate("2.5", "a long message starts inside another, of which %d bytes have come", len(c.partial))
		}
		c.partial, c.started, c.tainted = nil, true, false
	}
	c.tainted = c.tainted || stale
	if !c.started {
		return
	}
	if c.slow {
		c.partial = append(make([]byte, 0, len(c.partial)+len(data)), c.partial...)
	}
	if c.partial = append(c.partial, data...); flags&partLast == 0 {
		return
	}
	whole := c.partial
	c.partial, c.started = nil, false
	if c.slow && len(whole) > len(c.biggest) {
		c.biggest = make([]byte, len(whole))
	}
	c.app.Receive(now, whole, c.tainted)
}

// linked takes the peer's offer. Its values overwrite ours. A list of another shape makes the released receiver throw
// after its acknowledgement, and nothing is delivered from then on.
func (c *Transport) linked(id uint16, message []byte, r *reader) bool {
	if c.links[id] != nil {
		return true
	}
	s := c.app.Link(message)
	if s == nil {
		c.emit(binary.LittleEndian.AppendUint16([]byte{CmdLinkDown}, id))
		return true
	}
	if n := int(r.u16()); n != len(s.Values) || len(r.b) != 2*n {
		c.journal.violate("2.7", "link %d: a list of %d values in %d bytes instead of %d values stops the connection", id, n, len(r.b), len(s.Values))
		return false
	}
	c.links[id], s.up, s.dirty = s, true, map[int]bool{}
	for i := range s.Values {
		if kind := r.u8(); kind != 1 {
			c.journal.violate("2.7", "link %d: value %d has type %d", id, i, kind)
		}
		s.Values[i] = r.u8()
	}
	c.emit(binary.LittleEndian.AppendUint16([]byte{CmdLinkUp}, id))
	c.app.Changed(false)
	return true
}

// update takes the peer's values. A link that is unknown or not up ends the datagram.
func (c *Transport) update(r *reader) {
	for n := r.u8(); n > 0 && len(r.b) > 0; n-- {
		s := c.links[r.u16()]
		if s == nil || !s.up {
			return
		}
		for count := r.u8(); count > 0 && !r.short; count-- {
			i, value := int(r.u16()), r.u8()
			if i >= len(s.Values) {
				c.journal.violate("2.7", "update of value %d of %d", i, len(s.Values))
				return
			}
			s.Values[i] = value
			c.app.Changed(true)
		}
	}
}

// reader takes fields off the front. After a read past the end, short stays true and everything is zero.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return make([]byte, min(n, 2))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() byte    { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
