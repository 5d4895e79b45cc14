package den

import "time"

// Segment sizes of ProtocolCollet.
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
)

// segmentSizer selects the size of segments.
type segmentSizer struct {
	size     int           // bytes of one segment
	near     bool          // the peer seems to be on the same machine
	receipts int           // since the segments shrank
	lost     int           // long segments lost since one arrived
	growAt   time.Duration // when segments may grow again
	pause    time.Duration // before the next growth
}

func newSegmentSizer(near bool) segmentSizer {
	if near {
		return segmentSizer{size: nearSegment, near: true}
	}
	return segmentSizer{size: farSegment}
}

// received records a receipt of new data, which may let the segments grow.
func (s *segmentSizer) received(now time.Duration) {
	if s.receipts++; s.near && s.receipts%growAfter == 0 && now >= s.growAt {
		s.size = min(2*s.size, nearSegment)
	}
}

// longArrived records that a long segment arrived.
func (s *segmentSizer) longArrived() { s.lost = 0 }

// longLost records a lost long segment.
func (s *segmentSizer) longLost(now time.Duration) {
	if s.lost++; s.lost >= manyLost {
		s.shrink(now)
	}
}

// shrink sets a segment size for every path.
func (s *segmentSizer) shrink(now time.Duration) {
	if s.size == farSegment {
		return
	}
	s.size, s.receipts, s.lost = farSegment, 0, 0
	s.pause = min(max(2*s.pause, leastPause), mostPause)
	s.growAt = now + s.pause
}
