package device

import (
	"context"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform/interrupt"
)

// diskJob is one request that waits for the disk.
type diskJob struct {
	message wire.Message
	size    int    // bytes of the payload
	done    func() // releases the payload
}

// diskQueue is a queue of requests of at most limit bytes in all, or of a single one. One goroutine puts, one takes.
type diskQueue struct {
	limit int
	more  chan struct{} // holds one token when there is something to take
	room  chan struct{} // holds one token when something was taken

	mu    sync.Mutex
	jobs  []diskJob
	bytes int
}

func newDiskQueue(limit int) *diskQueue {
	return &diskQueue{limit: limit, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// perRequest is the overhead of a request beside its payload, in bytes.
const perRequest = 256

// put waits for room. The error is that of ctx.
func (q *diskQueue) put(ctx context.Context, j diskJob) error {
	j.size += perRequest
	for !q.tryPut(j) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	signal(q.more)
	return nil
}

func (q *diskQueue) tryPut(j diskJob) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) > 0 && q.bytes+j.size > q.limit {
		return false
	}
	q.jobs, q.bytes = append(q.jobs, j), q.bytes+j.size
	return true
}

// next waits for a request. After idle it returns without one. The error is that of ctx.
func (q *diskQueue) next(ctx context.Context, idle time.Duration) (j diskJob, any bool, err error) {
	if j, any = q.tryTake(); any {
		return j, true, ctx.Err()
	}
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-q.more:
		case <-timer.C:
			return diskJob{}, false, nil
		case <-ctx.Done():
			return diskJob{}, false, context.Cause(ctx)
		}
		if j, any = q.tryTake(); any {
			return j, true, nil
		}
	}
}

// empty reports whether nothing waits.
func (q *diskQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs) == 0
}

func (q *diskQueue) tryTake() (diskJob, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return diskJob{}, false
	}
	j := q.jobs[0]
	q.jobs[0] = diskJob{}
	q.jobs, q.bytes = q.jobs[1:], q.bytes-j.size
	signal(q.room)
	return j, true
}

// holder holds hash answers back until the desk has sent no request for a while (docs/PROTOCOL.md, "What a device
// of ours does").
type holder struct {
	more chan struct{} // holds one token after an addition or a request

	mu      sync.Mutex
	answers [][]byte
	bytes   int
	last    time.Time // of the last request
}

func newHolder() *holder { return &holder{more: make(chan struct{}, 1)} }

// requestArrived records a request.
func (h *holder) requestArrived() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = time.Now()
	signal(h.more)
}

// add queues an answer. It returns false when too much is held already: then the answer has to be sent at once.
func (h *holder) add(answer []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes+len(answer) > maxHeld {
		return false
	}
	h.answers, h.bytes = append(h.answers, answer), h.bytes+len(answer)
	signal(h.more)
	return true
}

// due returns the answers if it is time, else how long to wait; 0 means no limit.
func (h *holder) due() (answers [][]byte, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.answers) == 0 {
		return nil, 0
	}
	if wait = holdHashes - time.Since(h.last); wait > 0 {
		return nil, wait
	}
	answers, h.answers, h.bytes = h.answers, nil, 0
	return answers, 0
}

// sendHeldAnswers sends the answers that the holder releases.
func (s *deviceSession) sendHeldAnswers(ctx context.Context) error {
	for {
		answers, wait := s.held.due()
		for _, answer := range answers {
			if err := s.conn.Send(ctx, answer); err != nil {
				return err
			}
		}
		if wait > 0 {
			if interrupt.Sleep(ctx, wait) != nil {
				return nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.held.more:
		}
	}
}
