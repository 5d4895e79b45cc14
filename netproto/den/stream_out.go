package den

import (
	"time"

	"collet/netproto/wire"
	"collet/platform/span"
)

// Constants of ProtocolCollet's sender.
const (
	// nearSegment is the size of a datagram's data to a peer on the same machine, where only the number of datagrams
	// matters up to the size limit. farSegment fits every common path, including tunnels (1372 bytes with its header).
	nearSegment = 64000
	farSegment  = 1347

	// A peer may seem to be on the same machine while a proxy forwards its datagrams. After manyLost consecutive lost
	// long segments, or two silences, the size becomes farSegment. It grows again after growAfter receipts and a pause,
	// which doubles each time up to mostPause.
	manyLost   = 4
	growAfter  = 16
	leastPause = time.Second
	mostPause  = 2 * time.Minute

	// firstLimit and firstRoom are the peer's assumed limits before its first receipt.
	firstLimit = 256 << 10
	firstRoom  = 128 << 10

	// leastProbe and mostProbe bound how long an acknowledgement may be missing before something is sent to provoke one.
	leastProbe = 20 * time.Millisecond
	mostProbe  = time.Second
	firstProbe = 300 * time.Millisecond
	// leastReorder is the smallest reordering tolerance: how much later than its successors a datagram may arrive before it counts as
	// lost.
	leastReorder = 500 * time.Microsecond
	// pingAfter is the idle time after which a ping is sent to the peer.
	pingAfter = 5 * time.Second
)

// flight is one transmission.
type flight struct {
	span.Span[uint64]               // of the stream; empty for a ping
	sent              time.Duration // since the connection began, like all times here
	lostAt            time.Duration // when it was declared lost; 0 if it was not
	acked             bool
	sample            rateSample // the delivery state when it was sent
}

// streamOut is the sending half of ProtocolCollet.
type streamOut struct {
	buf     streamBuffer
	began   time.Time
	segment int // bytes of one segment
	near    bool

	fresh   uint64           // offset of the first unsent byte
	again   span.Set[uint64] // bytes to retransmit
	acked   span.Set[uint64] // bytes that arrived, from buf.base on
	flights []flight         // from number first on
	first   uint64
	unseen  int    // index of the first flight that is neither acknowledged nor lost
	under   int    // bytes in flight
	highest uint64 // number after the highest acknowledged one

	limit   uint64 // set by the peer
	room    int
	rtt     rtt
	reorder time.Duration
	control congestion
	heard   time.Duration // last acknowledgement of new data
	last    time.Duration // last transmission
	probes  int           // since then without an acknowledgement
	well    int           // receipts since the segments shrank
	vanish  int           // long segments lost since one arrived
	growAt  time.Duration // when segments may grow again
	pause   time.Duration // before the next growth
	urgent  int           // transmissions that bypass window and rate
	mute    time.Duration // since when no new data was acknowledged while some was in flight; 0 if none is

	resent, spurious uint64
}

func newStreamOut(near bool, now time.Time) streamOut {
	s := streamOut{began: now, near: near, segment: farSegment, limit: firstLimit, room: firstRoom}
	if near {
		s.segment = nearSegment
	}
	s.control = newCongestion(s.segment)
	return s
}

func (s *streamOut) at(now time.Time) time.Duration { return now.Sub(s.began) }

// window is how many bytes may be in flight. On a short path the peer's socket must be able to hold all of them.
func (s *streamOut) window() int {
	if s.control.short() {
		return min(s.control.window(), max(s.room, s.segment))
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
		next := s.first + uint64(len(s.flights))
		for n := max(r.First, s.first); n <= r.Last && n < next; n++ {
			f := &s.flights[n-s.first]
			if f.acked {
				continue
			}
			bytes += s.arrived(f, now)
			if n >= s.highest {
				s.highest = n + 1
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
	s.heard, s.probes, s.urgent, s.mute = now, 0, 0, 0
	if s.well++; s.near && s.well%growAfter == 0 && now >= s.growAt {
		s.segment = min(2*s.segment, nearSegment)
	}
	if s.under > 0 {
		s.mute = now
	}
	s.control.acked(ackSample{bytes: bytes, sent: newest.sent, then: newest.sample, now: now, trip: trip, under: s.under})
}

// arrived marks f as arrived, and returns by how many bytes the flight shrinks.
func (s *streamOut) arrived(f *flight, now time.Duration) int {
	f.acked = true
	if f.lostAt > 0 { // it was late, not lost
		s.spurious++
		s.reorder = min(max(2*s.reorder, now-f.sent-s.rtt.mean), max(s.rtt.mean, leastReorder))
	} else {
		s.under -= f.size()
	}
	s.acked.Add(f.Span)
	if f.long() {
		s.vanish = 0
	}
	return f.size()
}

// size is a flight's count in bytes.
func (f *flight) size() int { return int(f.Len()) + segmentHeader }

// long reports whether f may be too long for the path.
func (f *flight) long() bool { return f.Len() > farSegment }

// shrink sets a segment size for every path.
func (s *streamOut) shrink(now time.Duration) {
	if s.segment == farSegment {
		return
	}
	s.segment, s.well, s.vanish = farSegment, 0, 0
	s.pause = min(max(2*s.pause, leastPause), mostPause)
	s.growAt = now + s.pause
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
	for len(s.flights) > 0 {
		f := &s.flights[0]
		if !f.acked && (f.lostAt == 0 || now-f.lostAt < 2*s.rtt.mean) {
			break
		}
		s.flights = s.flights[1:]
		s.first++
		s.unseen--
	}
	s.unseen = max(s.unseen, 0)
}

// patience is the age at which an unacknowledged datagram counts as lost once a later one has arrived.
func (s *streamOut) patience() time.Duration {
	return max(s.rtt.mean, s.rtt.least) + max(s.reorder, s.rtt.least/4, leastReorder)
}

// declareLosses declares flights lost that were sent before an arrived one and are older than patience.
func (s *streamOut) declareLosses(now time.Duration) {
	lost := 0
	patience := s.patience()
	skipping := true
	for i := s.unseen; i < len(s.flights) && s.first+uint64(i) < s.highest; i++ {
		f := &s.flights[i]
		if f.acked || f.lostAt > 0 {
			if skipping {
				s.unseen = i + 1
			}
			continue
		}
		if now-f.sent < patience {
			break
		}
		if skipping {
			s.unseen = i + 1
		}
		lost += s.giveUp(f, now)
	}
	if lost > 0 {
		s.control.lost(lost, now)
	}
}

// giveUp queues the bytes of f for retransmission.
func (s *streamOut) giveUp(f *flight, now time.Duration) int {
	f.lostAt = max(now, 1)
	s.under -= f.size()
	s.again.Add(f.Span)
	if f.long() {
		if s.vanish++; s.vanish >= manyLost {
			s.shrink(now)
		}
	}
	return f.size()
}

// next is the next range to send: retransmissions first, then new bytes.
func (s *streamOut) next() (one span.Span[uint64], again bool) {
	for len(s.again) > 0 {
		one = s.again[0]
		one.End = min(one.End, one.Start+uint64(s.segment))
		s.again.Remove(one)
		if !s.acked.Contains(one) && one.Start >= s.buf.base {
			return one, true
		}
	}
	end := min(s.buf.end, s.limit, s.fresh+uint64(s.segment))
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
	for s.urgent > 0 || (s.waiting() && s.under < s.window() && s.control.ready(now)) {
		if !out.fits(s.segment + segmentHeader) {
			return true
		}
		one, again := s.next()
		if one.Len() == 0 && s.urgent == 0 {
			break
		}
		s.transmit(one, now, token, out)
		if again {
			s.resent++
		}
	}
	if !s.waiting() && s.under < s.window() {
		s.control.starved(s.under)
	}
	return false
}

// transmit writes one segment.
func (s *streamOut) transmit(one span.Span[uint64], now time.Duration, token uint32, out *batch) {
	n := len(s.flights)
	p := segment{Token: token, Number: s.first + uint64(n), Offset: one.Start}
	if one.Len() == 0 {
		p.Offset = s.buf.base
	}
	start := len(out.buf)
	c := wire.Writer(out.buf)
	p.code(c)
	out.buf = seal(s.buf.read(c.Written(), one.Start, int(one.Len())), start)
	out.close()
	f := flight{Span: one, sent: now}
	f.sample = s.control.sent(f.size(), s.under, now)
	s.flights = append(s.flights, f)
	s.under += f.size()
	s.last = now
	s.urgent = max(0, s.urgent-1)
	if s.mute == 0 {
		s.mute = max(now, 1)
	}
}

// probe sends something to provoke an acknowledgement when nothing else would: the oldest bytes in flight, or a ping.
func (s *streamOut) probe(now time.Duration) {
	due := s.provokeAt()
	if due == 0 || now < due {
		return
	}
	s.probes++
	s.urgent = 1
	for i := s.unseen; i < len(s.flights); i++ {
		if f := &s.flights[i]; !f.acked && f.lostAt == 0 {
			s.giveUp(f, now)
			break
		}
	}
	if s.probes >= 2 {
		s.control.collapsed()
		s.shrink(now)
	}
}

// provokeAt is when to provoke next; 0 for never. The pause grows with each attempt.
func (s *streamOut) provokeAt() time.Duration {
	from := max(s.last, s.heard)
	blocked := s.buf.end > s.fresh && s.fresh >= s.limit
	switch {
	case s.under > 0 || blocked:
		wait := min(s.rtt.wait(leastProbe, firstProbe)+s.reorder, mostProbe)
		return from + min(wait<<min(s.probes, 6), mostProbe)
	case !s.waiting():
		return from + pingAfter
	}
	return 0
}

// deadline is when output must be called without other events.
func (s *streamOut) deadline(wall time.Time) time.Time {
	now := s.at(wall)
	next := s.provokeAt()
	if s.waiting() && s.under < s.window() {
		next = sooner(next, s.control.readyAt(now))
	}
	for i := s.unseen; i < len(s.flights) && s.first+uint64(i) < s.highest; i++ {
		if f := &s.flights[i]; !f.acked && f.lostAt == 0 {
			next = sooner(next, f.sent+s.patience())
			break
		}
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
	if s.mute == 0 {
		return time.Time{}
	}
	return s.began.Add(s.mute)
}
