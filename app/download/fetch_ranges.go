package download

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// rangesWindow is how many bytes may be in flight or wait for earlier ones: twice what eight requests of a megabyte need. It
	// is most of the memory of Ranges.
	rangesWindow = 16 << 20
	// rangesRequest is the largest request in bytes, so that the bytes that wait for it stay within the window.
	rangesRequest = 1 << 20
	// smallestGap and largestGap limit the gap between two ranges that are requested as one, in bytes. A request and its answer
	// have about a kilobyte of headers. Above largestGap no measured connection saved time.
	smallestGap = 1 << 10
	largestGap  = 64 << 10
	// gapShare is the divisor for the share of the wanted bytes that gaps may add: an eighth.
	gapShare = 8
	// unknownGap is the gap in bytes until rate and latency are measured.
	unknownGap = 4 << 10
)

// Ranges fetches ranges of a file, which must be in order and must not overlap, and delivers them in order: the pieces of ranges[0],
// then those of ranges[1], and so on. offset is the position of data in the file. A piece has bytes of one range only, and an empty
// range has no piece. deliver is never called concurrently and must not keep data. Its error ends the call, which returns it
// unchanged. The bytes are unverified.
//
// Ranges with a small gap between them are requested together; the gap is not delivered. Other errors are those of Whole, without the
// disk's.
func (f *Fetcher) Ranges(ctx context.Context, o Object, ranges []Range, deliver func(i int, offset int64, data []byte) error) error {
	return f.rangesAs(ctx, o, ranges, deliver, func(int64, []byte) {})
}

// rangesAs is Ranges that also calls came with the received bytes and their offset, in the order of arrival. came is called
// concurrently and must not keep data.
func (f *Fetcher) rangesAs(ctx context.Context, o Object, ranges []Range, deliver func(i int, offset int64, data []byte) error, came func(at int64, data []byte)) error {
	if err := checkRanges(o, ranges); err != nil {
		return err
	}
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	limit := o.Size
	if limit < 0 {
		limit = int64(maxOffset)
	}
	j := newJob(f, o, limit)
	row := &queue{f: f, wake: j.wake, ranges: ranges, deliver: deliver, came: map[int64][]byte{}, taken: make(chan struct{}, 1)}
	row.spans = coalesce(ranges, f.gap())
	row.skip()
	j.pending = append(j.pending, row.spans...)
	put := row.put(ctx, j)
	j.sink = func(fl *flight, off int64, data []byte) error {
		came(off, data)
		return put(fl, off, data)
	}
	j.most, j.step, j.begin = rangesRequest, row.step, row.restart
	j.room = func(at, size int64) bool { return row.due(at) || row.held()+j.flyingBytes()+size <= rangesWindow }
	if err := j.run(ctx); err != nil {
		return err
	}
	return row.step()
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

// flyingBytes is the number of bytes that the requests in flight still have to deliver.
func (j *job) flyingBytes() (bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for fl := range j.flights {
		bytes += max(0, fl.to-fl.at)
	}
	return bytes
}

// gap is the number of bytes that cost as much time as a request: the bytes of one round trip.
func (f *Fetcher) gap() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	best, _ := choose(f.mirrors, f.o.Now().Add(MaxRetryAfter))
	if best == nil || best.rate == 0 || best.latency == 0 {
		return unknownGap
	}
	return int64(min(max(best.rate*best.latency.Seconds(), smallestGap), largestGap))
}

// coalesce joins ranges with gaps of at most gap bytes, while the gaps add at most one gapShare-th of the wanted bytes so far. Empty
// ranges are left out. Ranges are in order.
func coalesce(ranges []Range, gap int64) (spans []Range) {
	wanted, vain := int64(0), int64(0)
	for _, r := range ranges {
		if r.Len() == 0 {
			continue
		}
		wanted += r.Len()
		if n := len(spans); n > 0 {
			between := r.Start - spans[n-1].End
			if between == 0 || between <= gap && (vain+between)*gapShare <= wanted {
				spans[n-1].End = r.End
				vain += between
				continue
			}
		}
		spans = append(spans, r)
	}
	return spans
}

// queue brings received bytes into the order of the ranges. Flights call put; run's goroutine calls the other methods.
type queue struct {
	f       *Fetcher
	wake    chan struct{}
	ranges  []Range
	deliver func(i int, offset int64, data []byte) error
	spans   []Range // the coalesced ranges
	index   int     // the range that is delivered next

	mu    sync.Mutex
	next  int64            // the byte that is delivered next
	ahead []Range          // spans from there on
	came  map[int64][]byte // pieces by their first byte
	bytes int64            // in came
	taken chan struct{}    // wakes a waiting put when there is room again
}

// held is the number of waiting bytes.
func (q *queue) held() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// skip moves next to the first span.
func (q *queue) skip() {
	q.ahead = q.spans
	if len(q.ahead) > 0 {
		q.next = q.ahead[0].Start
	}
}

// due reports whether the delivery waits for the byte at.
func (q *queue) due(at int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return at <= q.next
}

// restart drops the waiting bytes: a stream of the whole file delivers them again.
func (q *queue) restart(int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.came)
	q.bytes = 0
}

// put returns the job's sink. Of a stream of the whole file it keeps the wanted and missing bytes, and blocks while more than
// rangesWindow bytes wait; for other requests job.room limits them.
func (q *queue) put(ctx context.Context, j *job) func(fl *flight, off int64, data []byte) error {
	return func(_ *flight, off int64, data []byte) error {
		q.mu.Lock()
		for _, s := range q.ahead {
			from, to := max(s.Start, off, q.next), min(s.End, off+int64(len(data)))
			if s.Start >= off+int64(len(data)) {
				break
			}
			if from < to && q.came[from] == nil {
				q.came[from] = append([]byte(nil), data[from-off:to-off]...)
				q.bytes += to - from
			}
		}
		q.mu.Unlock()
		tell(q.wake)
		for j.alone && q.held() > rangesWindow {
			if err := sleep(ctx, time.Second, q.taken); err != nil {
				return err
			}
		}
		return nil
	}
}

// tell sends a wake-up unless one is pending.
func tell(word chan<- struct{}) {
	select {
	case word <- struct{}{}:
	default:
	}
}

// step delivers the bytes that are next.
func (q *queue) step() error {
	for {
		q.mu.Lock()
		at := q.next
		piece := q.came[at]
		if piece != nil {
			delete(q.came, at)
			q.bytes -= int64(len(piece))
			q.advance(at + int64(len(piece)))
		}
		q.mu.Unlock()
		if piece == nil {
			return nil
		}
		tell(q.taken)
		if err := q.hand(at, piece); err != nil {
			return err
		}
	}
}

// advance moves next to the next wanted byte from to on. The caller holds mu.
func (q *queue) advance(to int64) {
	q.next = to
	for len(q.ahead) > 0 && q.ahead[0].End <= to {
		if q.ahead = q.ahead[1:]; len(q.ahead) > 0 {
			q.next = q.ahead[0].Start
		}
	}
}

// hand delivers the bytes of a piece that belong to ranges.
func (q *queue) hand(at int64, piece []byte) error {
	end := at + int64(len(piece))
	for ; q.index < len(q.ranges); q.index++ {
		r := q.ranges[q.index]
		if from, to := max(r.Start, at), min(r.End, end); from < to {
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
