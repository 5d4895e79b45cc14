package dentest

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Numbers of the released transport.
const (
	NumberSpace = 65535 // numbers are modulo this: 65534 is followed by 0 (2.3)
	Window      = 10    // entries on the wire at once, both directions (2.3, 2.4)
	PartSize    = 1357  // payload bytes of one datagram; longer messages are split (2.5)
	maxDatagram = 65500 // bytes; the released sender refuses more (2.5)
)

// Timers are the waiting times of one side (2.6).
type Timers struct {
	Resend     time.Duration // since the last transmission
	GiveUp     time.Duration // since the first transmission
	RequestGap time.Duration // between connectionRequests
	RequestEnd time.Duration // until connecting fails
}

// ClientTimers are those of the device.
func ClientTimers() Timers {
	return Timers{500 * time.Millisecond, 3 * time.Second, time.Second, 5 * time.Second}
}

// ServerTimers are those of the IDE, whose loop advances the clock of a connection twice (2.6).
func ServerTimers() Timers {
	return Timers{250 * time.Millisecond, 1500 * time.Millisecond, time.Second, 5 * time.Second}
}

// App is what lies above a Core. Its methods are called by the Core's caller, one at a time; they may call back into the
// Core.
type App interface {
	// Receive takes one complete message. Stale marks a stored copy that came out one lap late (2.4): whatever it asks
	// for is no fault of the peer's application.
	Receive(now time.Time, payload []byte, reliable, stale bool)
	// Link names the state that a link message means, or nil to refuse.
	Link(message []byte, readOnly bool) *State
	// Changed says that the peer wrote a value of a state.
	Changed(now time.Time, s *State, index int)
	// Tick is called every few milliseconds while the connection lives.
	Tick(now time.Time)
	// Closed says that the connection ended, once. Nil means the peer closed it or we did.
	Closed(err error)
}

// Core is one connection after connecting: the released transport without socket and clock. It isn't safe for concurrent
// use.
type Core struct {
	app     App
	emit    func([]byte)
	journal *Journal
	timers  Timers
	slow    bool // copies as much as the released receiver (5.1)

	oldest int // number of queue[0], or the next one
	queue  []*outgoing

	expected  int    // next number to deliver
	delivered uint64 // how many were delivered in all
	stored    []incoming

	partial  []byte
	started  bool
	tainted  bool   // the message under way has a stored copy of an older one in it
	biggest  []byte // what pooled buffers have grown to, when slow
	wedged   bool
	closed   bool
	links    []*link
	nextLink int
}

type outgoing struct {
	number      int
	datagram    []byte
	first, last time.Time
	sent, done  bool
}

type incoming struct {
	number   int
	command  byte
	body     []byte
	expected uint64 // count of deliveries at which it should come out
}

// NewCore is a connection that has just been accepted, numbers at zero. Emit sends one datagram to the peer.
func NewCore(app App, journal *Journal, timers Timers, emit func([]byte)) *Core {
	return &Core{app: app, emit: emit, journal: journal, timers: timers}
}

// Send queues a reliable message (2.3, 2.5).
func (c *Core) Send(now time.Time, payload []byte) {
	if len(payload) <= PartSize {
		c.push(now, CmdReliableMessage, payload)
		return
	}
	flags := partFirst
	for len(payload) > 0 {
		n := min(PartSize, len(payload))
		if n == len(payload) {
			flags |= partLast
		}
		c.push(now, CmdReliableLong, append([]byte{flags}, payload[:n]...))
		payload, flags = payload[n:], 0
	}
}

// SendUnreliable sends a message without number, never split.
func (c *Core) SendUnreliable(payload []byte) {
	c.emit(append([]byte{CmdMessage}, payload...))
}

// Raw sends a datagram as it is, for tests of what no released program sends.
func (c *Core) Raw(datagram []byte) { c.emit(datagram) }

// push gives an entry the next number and sends it when it is among the first ten.
func (c *Core) push(now time.Time, command byte, body []byte) {
	if c.closed {
		return
	}
	n := (c.oldest + len(c.queue)) % NumberSpace
	datagram := binary.LittleEndian.AppendUint16([]byte{command}, uint16(n))
	c.queue = append(c.queue, &outgoing{number: n, datagram: append(datagram, body...)})
	if len(c.queue) <= Window {
		c.transmit(now, c.queue[len(c.queue)-1])
	}
}

func (c *Core) transmit(now time.Time, o *outgoing) {
	if !o.sent {
		o.first, o.sent = now, true
	}
	o.last = now
	c.emit(o.datagram)
}

// Pending is how many entries wait for their ack.
func (c *Core) Pending() int { return len(c.queue) }

// Expected is the next number this side wants.
func (c *Core) Expected() int { return c.expected }

// Wedged tells that a mismatching link state stopped deliveries for good (2.7).
func (c *Core) Wedged() bool { return c.wedged }

// Tick runs the timers and sends changed values.
func (c *Core) Tick(now time.Time) {
	for _, o := range c.queue[:min(len(c.queue), Window)] {
		if c.closed {
			return
		}
		if !o.sent || o.done {
			continue
		}
		if now.Sub(o.first) >= c.timers.GiveUp {
			c.fail(fmt.Errorf("number %d not acknowledged for %v", o.number, c.timers.GiveUp))
			return
		}
		if now.Sub(o.last) >= c.timers.Resend {
			c.journal.note(NoteResend, "#%d", o.number)
			c.transmit(now, o)
		}
	}
	c.app.Tick(now)
	c.flush()
}

// Close says goodbye (2.6).
func (c *Core) Close() {
	if !c.closed {
		c.fail(nil)
	}
}

// Abandon ends the connection without a word, as a killed process does.
func (c *Core) Abandon() { c.closed = true }

func (c *Core) fail(err error) {
	c.emit([]byte{CmdConnectionClose})
	c.end(err)
}

func (c *Core) end(err error) {
	c.closed = true
	c.app.Closed(err)
}

// Input takes one datagram of the peer.
func (c *Core) Input(now time.Time, datagram []byte) {
	if c.closed || len(datagram) == 0 {
		return
	}
	c.copyCost(datagram)
	r := &reader{b: datagram[1:]}
	switch datagram[0] {
	case CmdConnectionClose:
		c.end(nil)
	case CmdMessage:
		c.journal.note(NoteUnreliable, "%s", describePayload(r.b))
		c.app.Receive(now, clone(r.b), false, false)
	case CmdReliableMessage, CmdReliableLinkState, CmdReliableLong, CmdReliableLinkLong:
		c.numbered(now, datagram[0], r)
	case CmdReliableAck:
		c.ack(now, int(r.u16()), r.u8())
	case CmdLinkUp:
		c.linkUp(r.u16())
	case CmdLinkDown: // the released initiator ignores it while it waits (2.7)
	case CmdLinkUpdate:
		c.linkUpdate(now, r)
	case CmdConnectionRequest:
		c.journal.note(NoteRepeatedRequest, "ignored: the address is known")
	default:
		c.journal.note(NoteUnknownCommand, "%d", datagram[0])
	}
	if r.short {
		c.journal.violate("1", "command %d of %d bytes is too short", datagram[0], len(datagram))
	}
}

// copyCost does what pooled buffers cost the released receiver: they keep their largest size and are copied completely
// for every small packet afterwards (5.1).
func (c *Core) copyCost(datagram []byte) {
	if !c.slow {
		return
	}
	if len(datagram) > len(c.biggest) {
		c.biggest = make([]byte, len(datagram))
	}
	_ = clone(c.biggest)
}

func (c *Core) ack(now time.Time, n int, code byte) {
	for _, o := range c.queue {
		if o.number != n {
			continue
		}
		if !o.sent {
			c.journal.violate("2.3", "ack of number %d, which was never sent", n)
		}
		if code != 0 {
			c.transmit(now, o)
			return
		}
		o.done = true
		c.advance(now)
		return
	}
	c.journal.note(NoteUnknownAck, "#%d", n)
}

// advance removes finished entries from the front only and sends what moved into the first ten.
func (c *Core) advance(now time.Time) {
	n := 0
	for n < len(c.queue) && c.queue[n].done {
		n++
	}
	c.queue, c.oldest = c.queue[n:], (c.oldest+n)%NumberSpace
	for _, o := range c.queue[:min(len(c.queue), Window)] {
		if !o.sent {
			c.transmit(now, o)
		}
	}
}
