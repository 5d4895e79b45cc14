package den

import (
	"slices"
	"time"

	"collet/netproto/wire"
)

// maxLoose is how many bytes of unreliable messages may be queued; further ones are dropped.
const maxLoose = 1 << 20

// release is protocol 0.
type release struct {
	out        sender
	in         receiver
	parts      assembly
	sink       sink
	maxMessage int

	acks  []reliableAck
	loose []packet // unreliable messages and link messages
	bytes int      // of them

	duplicates, dropped uint64
}

func newRelease(s sink, o *Options) *release {
	return &release{
		out:        sender{harmless: o.Harmless, sizes: newSizer(o.PartMin, o.PartMax)},
		sink:       s,
		maxMessage: o.MaxMessage,
	}
}

// input handles one datagram. Unknown or broken ones are dropped: any host can send them, and the released programs are less tolerant.
func (r *release) input(datagram []byte, now time.Time) error {
	if len(datagram) == 0 {
		return nil
	}
	var number uint16
	var err error
	switch datagram[0] {
	case cmdMessage:
		if r.sink.room() {
			r.sink.deliver(slices.Clone(datagram[1:]), false)
		}
	case cmdReliable, cmdLinkState, cmdReliableLong, cmdLinkStateLong:
		c := wire.Reader(datagram[1:])
		if sequence(c, &number); c.Err() == nil {
			err = r.handleNumbered(number, datagram)
		}
	case cmdReliableAck:
		var p reliableAck
		if decode(datagram, &p) == nil {
			r.out.ack(p.Number, p.Code, now)
		}
	case cmdLinkUp, cmdLinkDown:
		c := wire.Reader(datagram[1:])
		if c.U16("link", &number); c.Err() == nil {
			r.sink.linkAnswered(number, datagram[0] == cmdLinkUp)
		}
	case cmdLinkUpdate:
		_ = r.sink.linkUpdated(datagram) // broken parts are ignored
	case cmdClose:
		return &ClosedError{Remote: true}
	default:
		r.dropped++
	}
	return err
}

// handleNumbered handles a numbered datagram.
func (r *release) handleNumbered(number uint16, datagram []byte) error {
	switch what := r.in.classify(number); {
	case what == arrivedWrong || what != arrivedAgain && !r.sink.room():
		r.dropped++
		return nil
	case what == arrivedAgain:
		r.duplicates++
	case what == arrivedEarly:
		r.in.storeEarly(number, datagram)
	}
	r.acks = append(r.acks, reliableAck{Number: number, Code: receivedWell})
	if number != r.in.next {
		return nil
	}
	for have := true; have; {
		current := datagram
		datagram, have = r.in.nextStored()
		if err := r.deliverNumbered(current); err != nil {
			return err
		}
	}
	return nil
}

// deliverNumbered delivers a numbered datagram in its turn. A broken one counts as delivered; the released programs would stop
// there forever.
func (r *release) deliverNumbered(datagram []byte) error {
	switch datagram[0] {
	case cmdReliable:
		var p reliableMessage
		if decode(datagram, &p) == nil {
			r.sink.deliver(slices.Clone(p.Payload), true)
		}
	case cmdReliableLong:
		var p reliableMessageLong
		if decode(datagram, &p) != nil {
			return nil
		}
		whole, err := r.parts.add(p.Flags, p.Part, r.maxMessage)
		if err != nil {
			return &PeerError{Command: "reliableMessageLong", Err: err}
		}
		if whole != nil {
			r.sink.deliver(whole, true)
		}
	case cmdLinkState:
		var p reliableLinkState
		if decode(datagram, &p) == nil {
			r.sink.linkRequested(p.linkState)
		}
	case cmdLinkStateLong:
		var p reliableLinkStateLong
		if decode(datagram, &p) == nil && p.Flags&(linkFirst|linkLast) == linkFirst|linkLast {
			p.Flags &= linkReadOnly
			r.sink.linkRequested(p.linkState)
		}
	}
	return nil
}

func (r *release) output(now time.Time, out *batch) (more bool) {
	for i := range r.acks {
		if !out.add(&r.acks[i]) {
			r.acks = r.acks[:copy(r.acks, r.acks[i:])]
			return true
		}
	}
	r.acks = r.acks[:0]
	for len(r.loose) > 0 {
		if !out.add(r.loose[0]) {
			return true
		}
		r.loose = r.loose[1:]
	}
	r.loose, r.bytes = nil, 0
	full := false
	r.out.output(now, func(p packet) bool {
		full = full || !out.add(p)
		return !full
	})
	return full
}

func (r *release) send(payload []byte) {
	r.out.push(outgoing{payload: slices.Clone(payload)})
}

func (r *release) unreliable(payload []byte) {
	if r.bytes+len(payload) > maxLoose {
		return
	}
	r.bytes += len(payload)
	r.loose = append(r.loose, &message{Payload: slices.Clone(payload)})
}

func (r *release) link(request linkState)       { r.out.push(outgoing{link: &request}) }
func (r *release) linkMessage(p packet)         { r.loose = append(r.loose, p) }
func (r *release) addClose(out *batch)          { out.add(&connectionClose{}) }
func (r *release) pending() int                 { return r.out.bytes }
func (r *release) idle() bool                   { return r.out.idle() }
func (r *release) reliableLinks() bool          { return false }
func (r *release) consumed(int) (notify bool)   { return false }
func (r *release) deadline(time.Time) time.Time { return r.out.deadline() }
func (r *release) silent() time.Time            { return r.out.silent() }

func (r *release) stats(s *Stats) {
	s.RTT = r.out.rtt.mean
	s.PartSize = r.out.sizes.size()
	s.Window = windowSize * r.out.sizes.size()
	s.Resent, s.Fillers, s.ImplicitlyAcked = r.out.resent, r.out.fillers, r.out.implicit
	s.Duplicates, s.Dropped = r.duplicates, r.dropped
}
