package acquire

import (
	"context"
	"io"
	"sync"
)

// prefetcher runs tasks beside each other and gives their results in order. At most so many run at once, and what has a result
// that was not read, or is on its way to one, weighs at most maxPrefetch together, or is one alone. The caller closes
// it.
type prefetcher struct {
	ctx    context.Context // of the call of Fetch; ended by close
	cancel context.CancelFunc
	limit  int

	tasks []*task
	begun int
	taken int
	heavy int64
	run   sync.WaitGroup
}

// task is one of them.
type task struct {
	weight int64
	do     func(ctx context.Context) (any, error)
	done   chan struct{}
	result any
	err    error
}

func newPrefetcher(ctx context.Context, limit int) *prefetcher {
	ctx, cancel := context.WithCancel(ctx)
	return &prefetcher{ctx: ctx, cancel: cancel, limit: limit}
}

// add appends a task. It may be begun before next is called.
func (a *prefetcher) add(weight int64, do func(ctx context.Context) (any, error)) {
	a.tasks = append(a.tasks, &task{weight: weight, do: do, done: make(chan struct{})})
}

// begin starts what there is room for.
func (a *prefetcher) begin() {
	for a.begun < len(a.tasks) && a.begun-a.taken < a.limit {
		t := a.tasks[a.begun]
		if a.heavy > 0 && a.heavy+t.weight > maxPrefetch {
			return
		}
		a.heavy += t.weight
		a.begun++
		a.run.Go(func() {
			t.result, t.err = t.do(a.ctx)
			close(t.done)
		})
	}
}

// next waits for the next result.
func (a *prefetcher) next() (any, error) {
	a.begin()
	t := a.tasks[a.taken]
	<-t.done
	a.taken++
	a.heavy -= t.weight
	a.tasks[a.taken-1] = nil
	a.begin()
	return t.result, t.err
}

// close ends what still runs, waits for it, and lets go of unread results.
func (a *prefetcher) close() {
	a.cancel()
	a.run.Wait()
	for _, t := range a.tasks[a.taken:a.begun] {
		if closer, is := t.result.(io.Closer); is && t.err == nil {
			_ = closer.Close() // it was only read
		}
	}
}
