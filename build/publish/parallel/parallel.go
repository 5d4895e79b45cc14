// Package parallel calls a function for many numbers at the same time.
package parallel

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls work for 0 … n−1 on the given number of goroutines, at least one, and waits for all. After the first error it starts no more
// calls. The error is the first of work, or ctx's.
func Each(ctx context.Context, workers, n int, work func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for i := 0; i < n && working.Err() == nil; i++ {
		group.Go(func() error {
			if err := working.Err(); err != nil {
				return err
			}
			return work(working, i)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
