package den

import (
	"time"

	"collet/netproto/wire"
	"collet/platform/span"
)

// Constants of ProtocolCollet's sender.
const (
	// firstLimit and firstRoom are the peer's assumed limits before its first receipt.
	firstLimit = 256 << 10
	firstRoom  = 128 << 10

	// leastReorder is the smallest reordering tolerance: how much later than its successors a datagram may arrive before it counts as
	// lost.
	leastReorder = 500 * time.Microsecond
)

// streamOut is the sending half of ProtocolCollet. The connection's lock guards it.
type streamOut struct {
	buf   streamBuffer
	began time.Time

	fresh   uint64           // offset of the first unsent byte
	again   span.Set[uint64] // bytes to retransmit
	acked   span.Set[uint64] // bytes that arrived, from buf.base on
	flights flights
	sizes   segmentSizer

	limit   uint64 // set by the peer
	room    int    // bytes in the peer's socket buffer
	rtt     rtt
	reorder time.Duration // tolerance
	control congestion
	acks    ackTimer

	resent, spurious uint64
}

func newStreamOut(near bool, now time.Time) streamOut {
	sizes := newSegmentSizer(near)
	return streamOut{began: now, sizes: sizes, limit: firstLimit, room: firstRoom, control: newCongestion(sizes.size)}
}

func (s *streamOut) at(now time.Time) time.Duration { return now.Sub(s.began) }

// window is how many bytes may be in flight. On a short path the peer's socket must be able to hold all of them.
func (s *streamOut) window() int {
	if s.control.short() {
		return min(s.control.window(), max(s.room, s.sizes.size))
	}
	return s.control.window()
}

// handleReceipt processes the peer's receipt.
func (s *streamOut) handleReceipt(p *receipt, wall time.Time) {
	now := s.at(wall)
	s.limit = max(s.limit, p.Limit)
	s.room = int(p.Room)
	s.control.room = s.room
	var newest *flight
	bytes := 0
	for _, r := range p.Ranges {
		for n, end := s.flights.within(r); n < end; n++ {
			f := s.flights.at(n)
			if f.acked {
				continue
			}
			bytes += s.arrived(f, now)
			if s.flights.raise(n) {
				newest = f
			}
		}
	}
	if newest != nil {
		s.updateEstimates(p, newest, bytes, now)
	}
	s.dropCompleted(now)
}

// updateEstimates updates the estimates from the newest arrived transmission.
func (s *streamOut) updateEstimates(p *receipt, newest *flight, bytes int, now time.Duration) {
	trip := max(now-newest.sent-time.Duration(p.Delay)*time.Microsecond, time.Microsecond)
	s.rtt.sample(trip)
	s.acks.arrived(s.flights.under, now)
	s.sizes.received(now)
	s.control.acked(ackSample{bytes: bytes, sent: newest.sent, then: newest.sample, now: now, trip: trip, under: s.flights.under})
}

// arrived marks f as arrived, and returns its count in bytes.
func (s *streamOut) arrived(f *flight, now time.Duration) int {
	if late := s.flights.markArrived(f); late {
		s.spurious++
		s.reorder = min(max(2*s.reorder, now-f.sent-s.rtt.mean), max(s.rtt.mean, leastReorder))
	}
	s.acked.Add(f.Span)
	if f.long() {
		s.sizes.longArrived()
	}
	return f.size()
}

// dropCompleted declares losses, and drops completed flights.
func (s *streamOut) dropCompleted(now time.Duration) {
	s.declareLosses(now)
	if len(s.acked) > 0 && s.acked[0].Start <= s.buf.base {
		s.buf.release(s.acked[0].End)
		done := span.Of(0, s.buf.base)
		s.acked.Remove(done)
		s.again.Remove(done)
	}
	s.flights.dropCompleted(2*s.rtt.mean, now)
}

// patience is the age at which an unacknowledged datagram counts as lost once a later one has arrived.
func (s *streamOut) patience() time.Duration {
	return max(s.rtt.mean, s.rtt.least) + max(s.reorder, s.rtt.least/4, leastReorder)
}

// declareLosses declares flights lost that were sent before an arrived one and are older than patience.
func (s *streamOut) declareLosses(now time.Duration) {
	lost := 0
	patience := s.patience()
	for f := s.flights.overdue(patience, now); f != nil; f = s.flights.overdue(patience, now) {
		lost += s.giveUp(f, now)
	}
	if lost > 0 {
		s.control.lost(lost, now)
	}
}

// giveUp queues the bytes of f for retransmission, and returns its count in bytes.
func (s *streamOut) giveUp(f *flight, now time.Duration) int {
	s.flights.markLost(f, now)
	s.again.Add(f.Span)
	if f.long() {
		s.sizes.longLost(now)
	}
	return f.size()
}

// next is the next range to send: retransmissions first, then new bytes.
func (s *streamOut) next() (one span.Span[uint64], again bool) {
	for len(s.again) > 0 {
		one = s.again[0]
		one.End = min(one.End, one.Start+uint64(s.sizes.size))
		s.again.Remove(one)
		if !s.acked.Contains(one) && one.Start >= s.buf.base {
			return one, true
		}
	}
	end := min(s.buf.end, s.limit, s.fresh+uint64(s.sizes.size))
	if end <= s.fresh {
		return span.Span[uint64]{}, false
	}
	one = span.Of(s.fresh, end)
	s.fresh = end
	return one, false
}

// waiting reports whether there are bytes to send within the peer's limit.
func (s *streamOut) waiting() bool {
	return len(s.again) > 0 || min(s.buf.end, s.limit) > s.fresh
}

// output writes segments until the batch or the window is full, or the rate is exceeded.
func (s *streamOut) output(wall time.Time, token uint32, out *batch) (more bool) {
	now := s.at(wall)
	s.declareLosses(now)
	s.probe(now)
	for s.acks.urgent > 0 || (s.waiting() && s.flights.under < s.window() && s.control.ready(now)) {
		if !out.fits(s.sizes.size + segmentHeader) {
			return true
		}
		one, again := s.next()
		if one.Len() == 0 && s.acks.urgent == 0 {
			break
		}
		s.transmit(one, now, token, out)
		if again {
			s.resent++
		}
	}
	if !s.waiting() && s.flights.under < s.window() {
		s.control.starved(s.flights.under)
	}
	return false
}

// transmit writes one segment.
func (s *streamOut) transmit(one span.Span[uint64], now time.Duration, token uint32, out *batch) {
	p := segment{Token: token, Number: s.flights.next(), Offset: one.Start}
	if one.Len() == 0 {
		p.Offset = s.buf.base
	}
	start := len(out.buf)
	c := wire.Writer(out.buf)
	p.code(c)
	out.buf = seal(s.buf.read(c.Written(), one.Start, int(one.Len())), start)
	out.close()
	f := flight{Span: one, sent: now}
	f.sample = s.control.sent(f.size(), s.flights.under, now)
	s.flights.add(f)
	s.acks.sent(now)
}

// probe sends something to provoke an acknowledgement when nothing else would: the oldest bytes in flight, or a ping.
func (s *streamOut) probe(now time.Duration) {
	due := s.provokeAt()
	if due == 0 || now < due {
		return
	}
	s.acks.probe()
	if f, _ := s.flights.oldest(); f != nil {
		s.giveUp(f, now)
	}
	if s.acks.probes >= 2 {
		s.control.collapsed()
		s.sizes.shrink(now)
	}
}

// provokeAt is when to provoke next; 0 for never.
func (s *streamOut) provokeAt() time.Duration {
	blocked := s.buf.end > s.fresh && s.fresh >= s.limit
	switch {
	case s.flights.under > 0 || blocked:
		return s.acks.probeAt(s.rtt.wait(leastProbe, firstProbe) + s.reorder)
	case !s.waiting():
		return s.acks.pingAt()
	}
	return 0
}

// deadline is when output must be called without other events.
func (s *streamOut) deadline(wall time.Time) time.Time {
	now := s.at(wall)
	next := s.provokeAt()
	if s.waiting() && s.flights.under < s.window() {
		next = sooner(next, s.control.readyAt(now))
	}
	if f, n := s.flights.oldest(); f != nil && n < s.flights.highest {
		next = sooner(next, f.sent+s.patience())
	}
	if next == 0 {
		return time.Time{}
	}
	return s.began.Add(next)
}

// sooner is the earlier of two times; 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// silent is since when an acknowledgement is overdue.
func (s *streamOut) silent() time.Time {
	if s.acks.mute == 0 {
		return time.Time{}
	}
	return s.began.Add(s.acks.mute)
}
