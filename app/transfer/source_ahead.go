package transfer

import (
	"context"
	"io"
	"sync"
)

// ahead runs tasks beside each other and gives their results in order. At most so many run at once, and what has a result
// that nobody took, or is on its way to one, weighs at most aheadBytes together, or is one alone. Whoever makes one closes
// it.
type aheadRow struct {
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

func newAhead(ctx context.Context, limit int) *aheadRow {
	ctx, cancel := context.WithCancel(ctx)
	return &aheadRow{ctx: ctx, cancel: cancel, limit: limit}
}

// add appends a task. It may be begun before next is called.
func (a *aheadRow) add(weight int64, do func(ctx context.Context) (any, error)) {
	a.tasks = append(a.tasks, &task{weight: weight, do: do, done: make(chan struct{})})
}

// begin starts what there is room for.
func (a *aheadRow) begin() {
	for a.begun < len(a.tasks) && a.begun-a.taken < a.limit {
		t := a.tasks[a.begun]
		if a.heavy > 0 && a.heavy+t.weight > aheadBytes {
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
func (a *aheadRow) next() (any, error) {
	a.begin()
	t := a.tasks[a.taken]
	<-t.done
	a.taken++
	a.heavy -= t.weight
	a.tasks[a.taken-1] = nil
	a.begin()
	return t.result, t.err
}

// close ends what still runs, waits for it, and lets go of results that nobody took.
func (a *aheadRow) close() {
	a.cancel()
	a.run.Wait()
	for _, t := range a.tasks[a.taken:a.begun] {
		if closer, is := t.result.(io.Closer); is && t.err == nil {
			_ = closer.Close() // it was only read
		}
	}
}
