package acquire

import (
	"context"
	"io"
	"sync"
)

// prefetcher runs tasks concurrently and returns their results in order. At most limit tasks run or have an unread result. Together these
// weigh at most maxPrefetch, unless it is only one. The caller closes it.
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

// task is one task of a prefetcher, with its result.
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

// addTask appends a task. The next call of nextResult starts it, if the limits allow.
func (a *prefetcher) addTask(weight int64, do func(ctx context.Context) (any, error)) {
	a.tasks = append(a.tasks, &task{weight: weight, do: do, done: make(chan struct{})})
}

// startTasks starts tasks within the limits.
func (a *prefetcher) startTasks() {
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

// nextResult waits for the next result.
func (a *prefetcher) nextResult() (any, error) {
	a.startTasks()
	t := a.tasks[a.taken]
	<-t.done
	a.taken++
	a.heavy -= t.weight
	a.tasks[a.taken-1] = nil
	a.startTasks()
	return t.result, t.err
}

// close cancels running tasks, waits for them, and closes unread results.
func (a *prefetcher) close() {
	a.cancel()
	a.run.Wait()
	for _, t := range a.tasks[a.taken:a.begun] {
		if closer, is := t.result.(io.Closer); is && t.err == nil {
			_ = closer.Close() // an error does not matter after reading
		}
	}
}
