package download

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"collet/platform/span"
)

const (
	// rangesWindow is how many bytes may be in flight or wait for earlier ones: twice what eight requests of a megabyte need. It
	// is most of the memory of Ranges.
	rangesWindow = 16 << 20
	// rangesRequest is the largest request in bytes, so that the bytes that wait for it stay within the window.
	rangesRequest = 1 << 20
)

// Ranges fetches ranges of a file, which must be in order and must not overlap, and delivers them in order: the pieces of ranges[0],
// then those of ranges[1], and so on. offset is the position of data in the file. A piece has bytes of one range only, and an empty
// range has no piece. deliver is never called concurrently and must not keep data. Its error ends the call, which returns it
// unchanged. The bytes are unverified.
//
// Bytes in kept are not fetched again, and received bytes are kept there; nil keeps nothing. Ranges that touch each other are
// requested together. Other errors are those of Whole, without the disk's.
func (f *Fetcher) Ranges(ctx context.Context, o Object, ranges []Range, kept *Pieces, deliver func(i int, offset int64, data []byte) error) error {
	if err := checkRanges(o, ranges); err != nil {
		return err
	}
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	q := &queue{o: o, kept: kept, ranges: ranges, deliver: deliver, received: map[int64][]byte{}, room: make(chan struct{}, 1)}
	limit := o.Size
	if limit < 0 {
		limit = int64(maxOffset)
	}
	q.s = f.newScheduler(o, limit, q)
	q.s.largest = rangesRequest
	if q.ahead = coalesce(missingRanges(ranges, kept.ranges(o.Name))); len(q.ahead) > 0 {
		q.next = q.ahead[0].Start
	}
	q.s.pending = slices.Clone(q.ahead)
	if err := q.s.run(ctx); err != nil {
		return err
	}
	return q.deliverTo(ctx, maxOffset, nil)
}

// missingRanges are the parts of ranges that are not kept.
func missingRanges(ranges []Range, kept span.Set[int64]) (missing []Range) {
	for _, r := range ranges {
		missing = append(missing, kept.Gaps(r)...)
	}
	return missing
}

// maxOffset is the largest possible end of a file.
const maxOffset = 1<<62 - 1

func checkRanges(o Object, ranges []Range) error {
	end := int64(0)
	for _, r := range ranges {
		if r.Start < end || r.End < r.Start || o.Size >= 0 && r.End > o.Size {
			return fmt.Errorf("file %q: internal error: range %d to %d is out of order or outside of %d bytes", o.Name, r.Start, r.End, o.Size)
		}
		end = r.End
	}
	return nil
}

// coalesce joins ranges that touch each other. Empty ranges are left out. Ranges are in order. Which gaps are worth being fetched is decided
// by those who plan the ranges.
func coalesce(ranges []Range) (spans []Range) {
	for _, r := range ranges {
		n := len(spans)
		switch {
		case r.Len() == 0:
		case n > 0 && spans[n-1].End == r.Start:
			spans[n-1].End = r.End
		default:
			spans = append(spans, r)
		}
	}
	return spans
}

// queue brings received bytes into the order of the ranges, with the kept bytes between them. Requests call write; the scheduler's
// goroutine calls the other methods.
type queue struct {
	s       *scheduler
	o       Object
	kept    *Pieces
	ranges  []Range
	deliver func(i int, offset int64, data []byte) error
	index   int    // the range that is delivered next
	at      int64  // all wanted bytes before it were delivered
	page    []byte // for kept bytes

	mu       sync.Mutex
	next     int64            // the next byte to be received
	ahead    []Range          // requested ranges from there on
	received map[int64][]byte // waiting pieces by their first byte
	bytes    int64            // in received
	room     chan struct{}    // wakes a waiting write when there is room again
}

// waiting is the number of waiting bytes.
func (q *queue) waiting() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// fits limits the bytes that are in flight or wait to rangesWindow, but for a request that the delivery waits for.
func (q *queue) fits(at, size int64) bool {
	q.mu.Lock()
	due := at <= q.next
	q.mu.Unlock()
	return due || q.waiting()+q.s.unreceived()+size <= rangesWindow
}

// unreceived is the number of bytes that the requests in flight still have to deliver.
func (s *scheduler) unreceived() (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.requests {
		bytes += max(0, r.to-r.at)
	}
	return bytes
}

// restart drops the waiting bytes: a stream of the whole file delivers them again.
func (q *queue) restart(int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.received)
	q.bytes = 0
}

// setSize is not needed: the ranges are known.
func (*queue) setSize(int64) {}

// write keeps the bytes that are wanted and missing. Of a stream of the whole file it blocks while more than rangesWindow bytes wait;
// for other requests fits limits them.
func (q *queue) write(ctx context.Context, _ *rankedMirror, at int64, data []byte) error {
	q.kept.Add(q.o.Name, q.o.Size, at, data)
	q.mu.Lock()
	for _, r := range q.ahead {
		from, to := max(r.Start, at, q.next), min(r.End, at+int64(len(data)))
		if r.Start >= at+int64(len(data)) {
			break
		}
		if from < to && q.received[from] == nil {
			q.received[from] = slices.Clone(data[from-at : to-at])
			q.bytes += to - from
		}
	}
	q.mu.Unlock()
	wake(q.s.wake)
	for q.s.stream && q.waiting() > rangesWindow {
		if err := sleep(ctx, time.Second, q.room); err != nil {
			return err
		}
	}
	return nil
}

// wake sends a wake-up unless one is pending.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// advance delivers the bytes that are next.
func (q *queue) advance(ctx context.Context) error {
	for {
		q.mu.Lock()
		at := q.next
		piece := q.received[at]
		if piece != nil {
			delete(q.received, at)
			q.bytes -= int64(len(piece))
			q.next = at + int64(len(piece))
			for len(q.ahead) > 0 && q.ahead[0].End <= q.next {
				if q.ahead = q.ahead[1:]; len(q.ahead) > 0 {
					q.next = q.ahead[0].Start
				}
			}
		}
		q.mu.Unlock()
		if piece == nil {
			return nil
		}
		wake(q.room)
		if err := q.deliverTo(ctx, at, piece); err != nil {
			return err
		}
	}
}

// deliverTo delivers the wanted bytes before the offset at, which are kept, and then those of a piece from there on.
func (q *queue) deliverTo(ctx context.Context, at int64, piece []byte) error {
	end := at + int64(len(piece))
	for ; q.index < len(q.ranges); q.index++ {
		r := q.ranges[q.index]
		for q.at = max(q.at, r.Start); q.at < min(r.End, at); {
			if err := q.deliverKept(ctx, min(r.End, at)); err != nil {
				return err
			}
		}
		if to := min(r.End, end); q.at < to {
			from := q.at
			q.at = to
			if err := q.deliver(q.index, from, piece[from-at:to-at]); err != nil {
				return err
			}
		}
		if r.End >= end {
			return nil
		}
	}
	return nil
}

// deliverKept delivers kept bytes up to the offset to at most.
func (q *queue) deliverKept(ctx context.Context, to int64) error {
	if q.page == nil {
		q.page = make([]byte, hashPage)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	from := q.at
	n, err := q.kept.read(q.o.Name, from, q.page[:min(int64(len(q.page)), to-from)])
	if err != nil {
		return err
	}
	q.at += int64(n)
	return q.deliver(q.index, from, q.page[:n])
}
