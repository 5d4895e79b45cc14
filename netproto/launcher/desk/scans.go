package desk

import (
	"context"
	"errors"
	"sync"
	"time"
)

// scans lets several devices share one scan of the working copy. The zero value is ready; safe for concurrent use.
type scans struct {
	mu      sync.Mutex
	current *oneScan
}

// oneScan is a scan in progress, or the last one.
type oneScan struct {
	began time.Time
	done  chan struct{}
	scanned
	err error
}

// after returns a scan that began at a moment or later: a matching one in progress, or a new one by this call. If the
// scan of another caller ends because of that caller's ctx, this call starts its own.
func (s *scans) after(ctx context.Context, moment time.Time, scan func(context.Context) (scanned, error)) (scanned, error) {
	for {
		one, mine := s.join(moment)
		if mine {
			one.scanned, one.err = scan(ctx)
			close(one.done)
			return one.scanned, one.err
		}
		select {
		case <-ctx.Done():
			return scanned{}, ctx.Err()
		case <-one.done:
		}
		canceled := errors.Is(one.err, context.Canceled) || errors.Is(one.err, context.DeadlineExceeded)
		if !canceled {
			return one.scanned, one.err
		}
		s.forget(one)
	}
}

func (s *scans) join(moment time.Time) (one *oneScan, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && !s.current.began.Before(moment) {
		return s.current, false
	}
	s.current = &oneScan{began: time.Now(), done: make(chan struct{})}
	return s.current, true
}

func (s *scans) forget(one *oneScan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == one {
		s.current = nil
	}
}

// queue runs functions in order on one goroutine, which exists while functions are queued. The zero value is ready.
type queue struct {
	mu    sync.Mutex
	todo  []func()
	alive bool
}

// add adds a function; group waits for it. Functions watch ctx themselves.
func (q *queue) add(_ context.Context, group *sync.WaitGroup, do func()) {
	group.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.todo = append(q.todo, func() { defer group.Done(); do() })
	if !q.alive {
		q.alive = true
		go q.work()
	}
}

func (q *queue) work() {
	for {
		q.mu.Lock()
		if len(q.todo) == 0 {
			q.alive = false
			q.mu.Unlock()
			return
		}
		do := q.todo[0]
		q.todo = q.todo[1:]
		q.mu.Unlock()
		do()
	}
}
