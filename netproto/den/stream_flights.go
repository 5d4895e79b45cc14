package den

import (
	"time"

	"collet/platform/span"
)

// flight is one transmission.
type flight struct {
	span.Span[uint64]               // of the stream; empty for a ping
	sent              time.Duration // since the connection began, like all times here
	lostAt            time.Duration // when it was declared lost; 0 if it was not
	acked             bool
	sample            rateSample // the delivery state when it was sent
}

// size is a flight's count in bytes.
func (f *flight) size() int { return int(f.Len()) + segmentHeader }

// long reports whether f may be too long for the path.
func (f *flight) long() bool { return f.Len() > farSegment }

// open reports whether f is in flight: neither acknowledged nor lost.
func (f *flight) open() bool { return !f.acked && f.lostAt == 0 }

// flights has the transmissions by their numbers. Completed ones stay until all earlier ones are completed.
type flights struct {
	list    []flight // from number first on
	first   uint64
	unseen  int    // index before which no flight is open
	under   int    // bytes in flight
	highest uint64 // number after the highest acknowledged one
}

// next is the number of the next transmission.
func (l *flights) next() uint64 { return l.first + uint64(len(l.list)) }

// add adds a transmission, under the next number.
func (l *flights) add(f flight) {
	l.list = append(l.list, f)
	l.under += f.size()
}

// within is the part of a receipt's range for which there are flights: the numbers from n to before end. The range is
// untrusted input.
func (l *flights) within(r numberRange) (n, end uint64) {
	end = l.next()
	if r.Last < end {
		end = r.Last + 1
	}
	return max(r.First, l.first), end
}

// at is the flight with number n, which within gave. The pointer is valid until the next add.
func (l *flights) at(n uint64) *flight { return &l.list[n-l.first] }

// raise records that n is acknowledged, and reports whether it is the highest number so far.
func (l *flights) raise(n uint64) bool {
	if n < l.highest {
		return false
	}
	l.highest = n + 1
	return true
}

// markArrived marks f as arrived, and reports whether it had been declared lost, so that it was only late.
func (l *flights) markArrived(f *flight) (late bool) {
	f.acked = true
	if f.lostAt > 0 {
		return true
	}
	l.under -= f.size()
	return false
}

// markLost declares f lost, which must be open.
func (l *flights) markLost(f *flight, now time.Duration) {
	f.lostAt = max(now, 1)
	l.under -= f.size()
}

// overdue finds an open flight that was sent before an arrived one and is older than patience, or nil. The caller declares
// it lost, and asks again.
func (l *flights) overdue(patience, now time.Duration) *flight {
	for l.unseen < len(l.list) && l.first+uint64(l.unseen) < l.highest {
		f := &l.list[l.unseen]
		if f.open() && now-f.sent < patience {
			return nil
		}
		l.unseen++
		if f.open() {
			return f
		}
	}
	return nil
}

// oldest is the open flight with the lowest number, or nil.
func (l *flights) oldest() (f *flight, number uint64) {
	for i := l.unseen; i < len(l.list); i++ {
		if f := &l.list[i]; f.open() {
			return f, l.first + uint64(i)
		}
	}
	return nil, 0
}

// dropCompleted drops the flights before the first one that may still be acknowledged: it is open, or was declared lost
// less than linger ago.
func (l *flights) dropCompleted(linger, now time.Duration) {
	for len(l.list) > 0 {
		f := &l.list[0]
		if !f.acked && (f.lostAt == 0 || now-f.lostAt < linger) {
			break
		}
		l.list = l.list[1:]
		l.first++
		l.unseen--
	}
	l.unseen = max(l.unseen, 0)
}
