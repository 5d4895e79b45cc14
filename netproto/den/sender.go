package den

import "time"

// How protocol 0 is sent.
const (
	// resendAfter is when something is sent again without evidence that it was lost (reference 2.6).
	resendAfter = 500 * time.Millisecond
	// doubtAfter is when something that has no answer is asked about; longer where the path is slow. Asking costs a few
	// bytes, and harms nobody if the answer was only late.
	doubtAfter = 40 * time.Millisecond
	// passedEnough is how many acknowledgements of later datagrams make a number doubtful: fewer are common on paths
	// that change the order.
	passedEnough = 3
	// probeWait is how long the answer to a probe may take at least.
	probeWait = 5 * time.Millisecond
	// maxDetour is how many harmless messages in a row make room between burnt numbers for a long message.
	maxDetour = 1024
)

// outgoing is a message that waits for its numbers.
type outgoing struct {
	payload []byte
	link    *linkState // instead of a payload
}

// entry is one number that is not known to have arrived.
type entry struct {
	number uint16
	kind   byte  // cmdReliable, cmdReliableLong or cmdLinkState
	flags  uint8 // of a part
	body   []byte
	link   *linkState
	filler bool // carries nothing
	probe  int  // bytes of a filler that probes the path; 0 otherwise

	sends       int
	first, last time.Time
	serial      uint64 // of the last transmission
	passed      int    // acknowledgements of later transmissions since then
	urgent      bool   // to be sent again at once
	unseen      bool   // a probe that the receiver most likely dropped for want of an earlier number
	acked       bool
}

// sender is the sending half of protocol 0. The window holds the numbers from the oldest one that is not acknowledged;
// the first ten may be under way. The eleventh is sent as a probe while the first is in doubt: a receiver that lacks
// the first drops it unseen, so its acknowledgement proves that the first had arrived, and its absence is the evidence
// on which the first is sent again.
//
//	under way ─(three later ones acknowledged, or doubtAfter)→ doubt ─(eleventh acknowledged)→ done
//	                                                             └(not in time, or resendAfter)→ sent again
type sender struct {
	harmless []byte
	sizes    sizer
	rtt      rtt
	burnt    burnt
	answered numberSet // acknowledged since they were given out last

	queue  []outgoing
	cutAt  int // bytes of queue[0] that have numbers
	detour int // harmless messages in a row
	window []*entry
	base   uint16 // number of window[0]

	serial  uint64
	bytes   int    // in the queue and the window
	asked   *entry // the probe for the front of the window, while it is under way
	heard   time.Time
	settled bool // a number was acknowledged, so the peer is there

	resent, fillers, implicit uint64
}

// push queues a message.
func (s *sender) push(m outgoing) {
	s.queue = append(s.queue, m)
	s.bytes += len(m.payload)
}

// idle reports that everything was acknowledged.
func (s *sender) idle() bool { return len(s.queue) == 0 && len(s.window) == 0 }

// ack takes an acknowledgement. Of a number that is not under way it tells at most that the path made copies.
func (s *sender) ack(number uint16, code uint8, now time.Time) {
	i := distance(s.base, number)
	if number >= numbers || i < len(s.window) && s.window[i].sends == 0 {
		return
	}
	if code == receivedWell {
		s.answer(number)
	}
	if i >= len(s.window) {
		return
	}
	e := s.window[i]
	if code == receivedBroken {
		e.urgent = !e.acked
		return
	}
	s.heard, s.settled = now, true
	s.done(e, now)
	for _, older := range s.window[:max(0, i-windowSize+1)] {
		if !older.acked {
			s.implicit++
			s.done(older, now)
		}
	}
	s.advance()
}

// answer notes that a number was acknowledged. A second time is evidence of a second copy, also of a number that was sent once:
// the path may have doubled the acknowledgement instead, and one harmless message a lap is what that mistake costs.
func (s *sender) answer(number uint16) {
	if s.answered.has(number) {
		s.burnt.add(number)
	}
	s.answered.add(number)
}

// done marks e as arrived, and learns from it.
func (s *sender) done(e *entry, now time.Time) {
	if e.acked {
		return
	}
	e.acked = true
	if e.sends == 1 {
		s.rtt.sample(now.Sub(e.last))
		for _, o := range s.window {
			if o.sends > 0 && !o.acked && o.serial < e.serial {
				o.passed++
			}
		}
	}
	switch {
	case e.probe > 0:
		s.sizes.probed(e.sends == 1, now)
	case !e.filler && e.sends == 1:
		s.sizes.arrived(len(e.body))
	}
}

// advance drops what arrived from the front of the window.
func (s *sender) advance() {
	missing := false // what was at the front was sent again, so it had been missing
	for len(s.window) > 0 && s.window[0].acked {
		e := s.window[0]
		missing = missing || e.sends > 1
		if !e.filler {
			s.bytes -= len(e.body)
		}
		s.window = s.window[1:]
		s.base = ahead(s.base, 1)
		if s.asked != nil && missing && !s.asked.acked {
			s.asked.urgent, s.asked.unseen = true, true
		}
		s.asked = nil
	}
}

// output shows emit every datagram that is to be sent at now, until it reports that it has no room.
func (s *sender) output(now time.Time, emit func(packet) bool) {
	for i := 0; ; i++ {
		if i >= min(len(s.window), windowSize) && (len(s.window) >= windowSize || !s.cut(now)) {
			break
		}
		if e := s.window[i]; (e.sends == 0 || e.urgent) && !s.transmit(e, now, emit) {
			return
		}
	}
	if len(s.window) == 0 || s.window[0].acked || !s.doubtful(now) {
		return
	}
	if s.ask(now, emit) && s.lost(now) {
		s.transmit(s.window[0], now, emit)
	}
}

// doubtful reports whether it is time to find out about the front of the window.
func (s *sender) doubtful(now time.Time) bool {
	e := s.window[0]
	return e.passed >= passedEnough || now.Sub(e.last) >= s.patience(e)
}

// patience is how long e's acknowledgement may take until its number is doubtful: less when a later one came.
func (s *sender) patience(e *entry) time.Duration {
	if e.passed > 0 {
		return min(s.rtt.wait(probeWait, resendAfter), resendAfter)
	}
	return min(s.rtt.wait(doubtAfter, resendAfter), resendAfter)
}

// ask sends the eleventh number, made up if there is no message for it, unless it is on its way. It reports false if
// there was no room to send it.
func (s *sender) ask(now time.Time, emit func(packet) bool) bool {
	for len(s.window) <= windowSize && s.canAsk() {
		if !s.cut(now) {
			s.fill(0)
		}
	}
	for i, e := range s.window {
		if e.sends > 0 {
			continue
		}
		if !s.transmit(e, now, emit) {
			return false
		}
		if i == windowSize {
			s.asked = e
		}
	}
	return true
}

// canAsk reports whether there is an eleventh number, or may be. Nothing is made up for a peer that never answered: it
// may want a certain message first.
func (s *sender) canAsk() bool {
	return len(s.window) > windowSize || len(s.queue) > 0 || s.settled
}

// lost reports whether the front of the window is to be sent again: on the evidence of an unanswered probe, or, without
// any, after resendAfter.
func (s *sender) lost(now time.Time) bool {
	e := s.window[0]
	if now.Sub(e.last) >= max(resendAfter, s.rtt.mean+4*s.rtt.dev) {
		return true
	}
	return e.passed >= passedEnough && s.asked != nil && now.Sub(s.asked.last) >= s.rtt.wait(probeWait, resendAfter)
}

// transmit sends e, again or for the first time. It reports false if there was no room.
func (s *sender) transmit(e *entry, now time.Time, emit func(packet) bool) bool {
	if e.sends > 0 && e.probe > 0 {
		e.body = s.harmless // what is too large for the path comes small
	}
	if !emit(e.packet()) {
		return false
	}
	if e.sends++; e.sends == 1 {
		e.first = now
	} else {
		s.resent++
		s.burnt.add(e.number)
		if !e.filler && !e.unseen {
			s.sizes.resent(len(e.body), e.sends, now)
		}
	}
	s.serial++
	e.serial, e.last, e.passed, e.urgent = s.serial, now, 0, false
	e.unseen = false
	return true
}

// packet is e's datagram.
func (e *entry) packet() packet {
	switch e.kind {
	case cmdLinkState:
		return &reliableLinkState{Number: e.number, linkState: *e.link}
	case cmdReliableLong:
		return &reliableMessageLong{Number: e.number, Flags: e.flags, Part: e.body}
	default:
		return &reliableMessage{Number: e.number, Payload: e.body}
	}
}

// deadline is when output may have something to send that it did not have before; zero if only an acknowledgement or a
// message can change that.
func (s *sender) deadline() time.Time {
	if len(s.window) == 0 {
		return time.Time{}
	}
	e := s.window[0]
	if e.sends == 0 {
		return e.last
	}
	next := e.last.Add(max(resendAfter, s.rtt.mean+4*s.rtt.dev))
	if s.asked == nil && s.canAsk() {
		return earlier(next, e.last.Add(s.patience(e)))
	}
	if e.passed >= passedEnough && s.asked != nil {
		next = earlier(next, s.asked.last.Add(s.rtt.wait(probeWait, resendAfter)))
	}
	return next
}

// silent is since when something waits for an acknowledgement while none came at all; zero if nothing waits.
func (s *sender) silent() time.Time {
	if len(s.window) == 0 || s.window[0].sends == 0 {
		return time.Time{}
	}
	if first := s.window[0].first; first.After(s.heard) {
		return first
	}
	return s.heard
}
