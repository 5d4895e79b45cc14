package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"collet/netproto/product"
)

// ThisTarget returns the current system's name as in releases, for example "Linux-x64".
func ThisTarget() string { return string(product.TargetFor(runtime.GOOS, runtime.GOARCH)) }

// Save writes the page and JUnit's XML to files; an empty name skips one. Each file is replaced atomically.
func (r *Report) Save(html, junit string) error {
	return errors.Join(WriteFile(html, r.HTML), WriteFile(junit, r.JUnit))
}

// Writable reports, before the run, why a report can't be written to path. An empty path is allowed.
func Writable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("report %s is a folder; name a file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return fmt.Errorf("report %s can't be written: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// tempPattern is the name of a report's temporary file.
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// WriteFile writes a file through a temporary one beside it.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return fmt.Errorf("report %s: %w", path, err)
	}
	if err = errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("report %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// Spread runs n cases, jobs at a time, and passes each to done in the order of their numbers, as soon as it and all earlier ones are
// finished. do is called concurrently, done is not. After the end of ctx it starts no more cases, and returns when all started ones have
// ended; cases after an unstarted one are not passed on. A failed case that was running when ctx ended counts as not run, because the
// interruption may be the cause.
func Spread(ctx context.Context, jobs, n int, do func(ctx context.Context, i int) Case, done func(i int, c Case)) {
	stopped := false
	InOrder(jobs, n, func(i int) *Case {
		if ctx.Err() != nil {
			return nil
		}
		c := do(ctx, i)
		if ctx.Err() != nil && c.State != OK {
			c.State, c.Detail = Skipped, "not run: interrupted while it was under way"
		}
		return &c
	}, func(i int, c *Case) {
		if stopped = stopped || c == nil; !stopped {
			done(i, *c)
		}
	})
}

// InOrder calls do for 0 … n−1, jobs at a time, and done with each result, in order and one at a time.
func InOrder[T any](jobs, n int, do func(i int) T, done func(i int, result T)) {
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(max(jobs, 1), n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				results[i] <- do(i)
			}
		})
	}
	for i, result := range results {
		done(i, <-result)
	}
	workers.Wait()
}
