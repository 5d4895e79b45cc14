package den

import (
	"errors"
	"slices"
	"sort"
	"time"

	"collet/netproto/wire"
	"collet/platform/span"
)

// streamWindow is the receive window: how far a stream may be ahead of the application. It allows 100 MB/s at 160 ms.
const streamWindow = 16 << 20

// maxEarly is how many segments may wait for an earlier one: a window of segments of a common path.
const maxEarly = 1 << 14

// firstGrab is the memory allocated for a message's declared length.
const firstGrab = 1 << 20

var errEmpty = errors.New("has no command")

// piece is an early part of the stream.
type piece struct {
	offset uint64
	bytes  []byte
}

// streamIn is the receiving half of ProtocolCollet.
type streamIn struct {
	sink       sink
	maxMessage int
	window     uint64

	numbers span.Set[uint64] // that arrived; the lowest are dropped when there are too many
	floor   uint64           // lower numbers are no longer recorded
	highest time.Time
	ackSoon bool
	next    uint64 // offset of the next byte
	early   []piece
	limit   uint64 // offset that was announced to the peer
	unread  int    // bytes of messages that the application has not read
	pool    *buffers

	header   []byte // of the current record
	command  byte
	want     int // missing bytes of the current record; the header is complete
	inRecord bool
	body     []byte

	duplicates, dropped uint64
}

// arrived records a number.
func (s *streamIn) arrived(number uint64, now time.Time) {
	s.ackSoon = true
	if number < s.floor {
		return
	}
	if n := len(s.numbers); n == 0 || number >= s.numbers[n-1].End {
		s.highest = now
	}
	s.numbers.Add(span.Of(number, number+1))
	if len(s.numbers) > maxRanges {
		s.floor = s.numbers[0].End
		s.numbers = s.numbers[1:]
	}
}

// handleSegment handles a segment.
func (s *streamIn) handleSegment(p *segment, now time.Time) error {
	end := p.Offset + uint64(len(p.Bytes))
	if end < p.Offset || end > s.limit {
		s.dropped++
		return nil // not acknowledged for lack of room
	}
	s.arrived(p.Number, now)
	switch {
	case len(p.Bytes) == 0:
		return nil
	case end <= s.next:
		s.duplicates++
		return nil
	case p.Offset > s.next:
		s.storeEarly(p)
		return nil
	}
	if err := s.feed(p.Bytes[s.next-p.Offset:]); err != nil {
		return err
	}
	return s.feedStored()
}

// storeEarly stores a segment that came early.
func (s *streamIn) storeEarly(p *segment) {
	i := sort.Search(len(s.early), func(i int) bool { return s.early[i].offset >= p.Offset })
	if i < len(s.early) && s.early[i].offset == p.Offset && len(s.early[i].bytes) >= len(p.Bytes) {
		s.duplicates++
		return
	}
	if len(s.early) >= maxEarly {
		s.dropped++
		return
	}
	s.early = slices.Insert(s.early, i, piece{p.Offset, append(s.pool.get(len(p.Bytes)), p.Bytes...)})
}

// feedStored feeds the early segments that are next now.
func (s *streamIn) feedStored() error {
	for len(s.early) > 0 && s.early[0].offset <= s.next {
		e := s.early[0]
		s.early[0] = piece{}
		s.early = s.early[1:]
		if skip := s.next - e.offset; skip < uint64(len(e.bytes)) {
			if err := s.feed(e.bytes[skip:]); err != nil {
				return err
			}
		}
		s.pool.put(e.bytes)
	}
	if len(s.early) == 0 {
		s.early = nil
	}
	return nil
}

// feed parses the next bytes of the stream.
func (s *streamIn) feed(b []byte) error {
	s.next += uint64(len(b))
	for len(b) > 0 {
		if !s.inRecord {
			n := min(recordHeader-len(s.header), len(b))
			s.header = append(s.header, b[:n]...)
			b = b[n:]
			if len(s.header) < recordHeader {
				return nil
			}
			if err := s.beginRecord(); err != nil {
				return err
			}
		}
		n := min(s.want, len(b))
		s.body = append(s.body, b[:n]...)
		s.want -= n
		b = b[n:]
		if s.want == 0 {
			if err := s.finishRecord(); err != nil {
				return err
			}
		}
	}
	return nil
}

// beginRecord begins a record with a complete header.
func (s *streamIn) beginRecord() error {
	command, n := parseRecord(s.header)
	s.header = s.header[:0]
	switch {
	case n < 0:
		return &PeerError{Command: "record", Err: errEmpty}
	case n > s.maxMessage:
		return &PeerError{Command: "record", Err: errTooLong}
	}
	s.command, s.want, s.inRecord = command, n, true
	s.body = s.pool.get(min(s.want, firstGrab))
	return nil
}

// finishRecord delivers a complete record.
func (s *streamIn) finishRecord() error {
	body := s.body
	s.body, s.inRecord = nil, false
	switch s.command {
	case cmdReliable:
		s.unread += len(body)
		s.sink.deliver(body, true)
		return nil
	case cmdLinkState:
		var p linkState
		if err := decode(body, &p); err != nil {
			return &PeerError{Command: "link record", Err: err}
		}
		s.sink.linkRequested(p)
	case cmdLinkUp, cmdLinkDown:
		var link uint16
		c := wire.Reader(body)
		if c.U16("link", &link); c.Err() != nil {
			return &PeerError{Command: "link record", Err: c.Err()}
		}
		s.sink.linkAnswered(link, s.command == cmdLinkUp)
	case cmdLinkUpdate:
		if err := s.sink.linkUpdated(append([]byte{cmdLinkUpdate}, body...)); err != nil {
			return &PeerError{Command: "link record", Err: err}
		}
	default:
		// A command of a later version.
	}
	s.pool.put(body)
	return nil
}

// mayReach is the offset to announce to the peer.
func (s *streamIn) mayReach() uint64 {
	room := s.window - min(s.window, uint64(s.unread))
	return max(s.limit, s.next+room)
}

// consumed records that the application read n bytes, and reports whether the peer should be notified: when a quarter of the window has
// become free.
func (s *streamIn) consumed(n int) bool {
	s.unread -= n
	if s.mayReach()-s.limit >= s.window/4 {
		s.ackSoon = true
	}
	return s.ackSoon
}

// receipt fills in the current receipt.
func (s *streamIn) receipt(p *receipt, now time.Time) {
	s.ackSoon = false
	s.limit = s.mayReach()
	p.Limit = s.limit
	p.Delay = uint32(min(max(0, now.Sub(s.highest)/time.Microsecond), 1<<31))
	p.Ranges = p.Ranges[:0]
	for i := len(s.numbers) - 1; i >= 0; i-- {
		p.Ranges = append(p.Ranges, numberRange{s.numbers[i].Start, s.numbers[i].End - 1})
	}
}

// buffers is a pool of buffers. The connection's lock guards it.
type buffers struct{ free [][]byte }

// Bounds of the pool: many small buffers are cheaper to allocate than to find, and large ones are not kept.
const (
	leastKept = 4 << 10
	mostKept  = 4 << 20
	maxKept   = 32
)

// get returns an empty slice with room for n bytes.
func (p *buffers) get(n int) []byte {
	for i := len(p.free) - 1; i >= 0 && n >= leastKept; i-- {
		if b := p.free[i]; cap(b) >= n {
			last := len(p.free) - 1
			p.free[i] = p.free[last]
			p.free = p.free[:last]
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

// put returns a slice to the pool.
func (p *buffers) put(b []byte) {
	if cap(b) >= leastKept && cap(b) <= mostKept && len(p.free) < maxKept {
		p.free = append(p.free, b)
	}
}
