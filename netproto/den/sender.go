package den

import "time"

// Timers and limits of protocol 0's sender.
const (
	// resendAfter is the timeout for a retransmission without evidence of a loss (docs/PROTOCOL.md, "Protocol 0").
	resendAfter = 500 * time.Millisecond
	// doubtAfter is when the sender probes for an unacknowledged number; longer on a slow path. A probe costs a few
	// bytes, and is harmless if the acknowledgement was only late.
	doubtAfter = 40 * time.Millisecond
	// passedEnough is how many acknowledgements of later datagrams make a number doubtful: smaller counts are common with reordering.
	passedEnough = 3
	// probeWait is the shortest timeout of a probe.
	probeWait = 5 * time.Millisecond
	// maxDetour is the largest number of consecutive harmless messages that are sent to find enough numbers without
	// burnt ones for a long message.
	maxDetour = 1024
)

// outgoing is a queued message.
type outgoing struct {
	payload []byte
	link    *linkState // instead of a payload
}

// entry is one unacknowledged number.
type entry struct {
	number uint16
	kind   byte  // cmdReliable, cmdReliableLong or cmdLinkState
	flags  uint8 // of a part
	body   []byte
	link   *linkState
	filler bool // carries no message
	probe  int  // bytes of a filler that probes the path; 0 otherwise

	sends       int
	first, last time.Time
	serial      uint64 // of the last transmission
	passed      int    // acknowledgements of later transmissions since then
	urgent      bool   // to be retransmitted at once
	unseen      bool   // a probe that the receiver probably dropped for lack of an earlier number
	acked       bool
}

// sender is the sending half of protocol 0. The window holds the numbers from the oldest unacknowledged one; the first
// ten may be in flight. While the first is in doubt, the eleventh is sent as a probe. A receiver that lacks the first
// drops the probe without a reply. So an acknowledgement proves that the first had arrived, and its absence is the
// evidence for a retransmission.
//
//	under way ─(three later ones acknowledged, or doubtAfter)→ doubt ─(eleventh acknowledged)→ done
//	                                                             └(not in time, or resendAfter)→ sent again
type sender struct {
	harmless []byte
	sizes    sizer
	rtt      rtt
	burnt    burnt
	answered numberSet // acknowledged since they were last assigned

	queue  []outgoing
	cutAt  int // bytes of queue[0] that have numbers
	detour int // consecutive harmless messages
	window []*entry
	base   uint16 // number of window[0]

	serial  uint64
	bytes   int    // in the queue and the window
	asked   *entry // the probe for the front of the window, while it is in flight
	heard   time.Time
	settled bool // a number was acknowledged, so the peer is alive

	resent, fillers, implicit uint64
}

// push queues a message.
func (s *sender) push(m outgoing) {
	s.queue = append(s.queue, m)
	s.bytes += len(m.payload)
}

// idle reports whether everything was acknowledged.
func (s *sender) idle() bool { return len(s.queue) == 0 && len(s.window) == 0 }

// ack handles an acknowledgement. For a number that is not in flight it can only mean duplicates on the path.
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
	s.markArrived(e, now)
	for _, older := range s.window[:max(0, i-windowSize+1)] {
		if !older.acked {
			s.implicit++
			s.markArrived(older, now)
		}
	}
	s.advance()
}

// answer records an acknowledgement of a number. A second one is evidence of a second copy, even if the number was sent
// once. The path may have duplicated the acknowledgement instead; that mistake costs one harmless message a lap.
func (s *sender) answer(number uint16) {
	if s.answered.has(number) {
		s.burnt.add(number)
	}
	s.answered.add(number)
}

// markArrived marks e as arrived, and updates the estimates.
func (s *sender) markArrived(e *entry, now time.Time) {
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

// advance drops arrived entries from the front of the window.
func (s *sender) advance() {
	missing := false // the front was retransmitted, so it had been missing
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

// output calls emit with every datagram due at now, until it returns false for lack of room.
func (s *sender) output(now time.Time, emit func(packet) bool) {
	for i := 0; ; i++ {
		if i >= min(len(s.window), windowSize) && (len(s.window) >= windowSize || !s.assignNumbers(now)) {
			break
		}
		if e := s.window[i]; (e.sends == 0 || e.urgent) && !s.transmit(e, now, emit) {
			return
		}
	}
	if len(s.window) == 0 || s.window[0].acked || !s.isDoubtful(now) {
		return
	}
	if s.sendProbe(now, emit) && s.lost(now) {
		s.transmit(s.window[0], now, emit)
	}
}

// isDoubtful reports whether to probe for the front of the window.
func (s *sender) isDoubtful(now time.Time) bool {
	e := s.window[0]
	return e.passed >= passedEnough || now.Sub(e.last) >= s.patience(e)
}

// patience is how long e's acknowledgement may take before its number is doubtful: less when a later one came.
func (s *sender) patience(e *entry) time.Duration {
	if e.passed > 0 {
		return min(s.rtt.wait(probeWait, resendAfter), resendAfter)
	}
	return min(s.rtt.wait(doubtAfter, resendAfter), resendAfter)
}

// sendProbe sends the eleventh number, as a filler if there is no message for it, unless it is in flight. It returns false if there was no room.
func (s *sender) sendProbe(now time.Time, emit func(packet) bool) bool {
	for len(s.window) <= windowSize && s.canProbe() {
		if !s.assignNumbers(now) {
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

// canProbe reports whether an eleventh number exists or may be made. No filler is made for a peer that never answered: it
// may expect a certain message first.
func (s *sender) canProbe() bool {
	return len(s.window) > windowSize || len(s.queue) > 0 || s.settled
}

// lost reports whether to retransmit the front of the window: after an unanswered probe, or without that evidence after resendAfter.
func (s *sender) lost(now time.Time) bool {
	e := s.window[0]
	if now.Sub(e.last) >= max(resendAfter, s.rtt.mean+4*s.rtt.dev) {
		return true
	}
	return e.passed >= passedEnough && s.asked != nil && now.Sub(s.asked.last) >= s.rtt.wait(probeWait, resendAfter)
}

// transmit sends e, for the first time or again. It returns false if there was no room.
func (s *sender) transmit(e *entry, now time.Time, emit func(packet) bool) bool {
	if e.sends > 0 && e.probe > 0 {
		e.body = s.harmless // a probe too large for the path is retransmitted small
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

// deadline is when output may have a new datagram; zero if only an acknowledgement or a message can cause one.
func (s *sender) deadline() time.Time {
	if len(s.window) == 0 {
		return time.Time{}
	}
	e := s.window[0]
	if e.sends == 0 {
		return e.last
	}
	next := e.last.Add(max(resendAfter, s.rtt.mean+4*s.rtt.dev))
	if s.asked == nil && s.canProbe() {
		return earlier(next, e.last.Add(s.patience(e)))
	}
	if e.passed >= passedEnough && s.asked != nil {
		next = earlier(next, s.asked.last.Add(s.rtt.wait(probeWait, resendAfter)))
	}
	return next
}

// silent is since when acknowledgements are overdue; zero if none is expected.
func (s *sender) silent() time.Time {
	if len(s.window) == 0 || s.window[0].sends == 0 {
		return time.Time{}
	}
	if first := s.window[0].first; first.After(s.heard) {
		return first
	}
	return s.heard
}
