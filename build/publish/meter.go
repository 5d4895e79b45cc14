package publish

import (
	"context"
	"errors"
	"sync"
)

// meter adds up the progress of several goroutines.
type meter struct {
	mu     sync.Mutex
	report func(Progress)
	at     Progress
}

func newMeter(report func(Progress)) *meter {
	if report == nil {
		report = func(Progress) {}
	}
	return &meter{report: report}
}

// start begins an operation.
func (m *meter) start(doing, what string, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = Progress{Doing: doing, What: what, Total: total}
	m.report(m.at)
}

// add counts finished bytes.
func (m *meter) add(n int64, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done += n
	m.at.What = what
	m.report(m.at)
}

// set sets the progress.
func (m *meter) set(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done, m.at.Total = done, total
	m.report(m.at)
}

// spread calls work for 0 … n−1 on the given number of goroutines and waits for all. After the first error it starts no more calls.
func spread(ctx context.Context, workers, n int, work func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := range next {
				if err := work(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}
