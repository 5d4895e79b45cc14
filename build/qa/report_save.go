package qa

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"collet/netproto/product"
)

// ThisTarget names the system that we run on as releases do, for example "Linux-x64".
func ThisTarget() string { return string(product.TargetFor(runtime.GOOS, runtime.GOARCH)) }

// Save writes the page and JUnit's XML into files; an empty name writes none. A file appears whole or not at all, and
// replaces what was there.
func (r *Report) Save(html, junit string) error {
	return errors.Join(save(html, r.HTML), save(junit, r.JUnit))
}

// Writable reports, before any work, why a report could not be written to path. An empty path is fine.
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

// tempPattern names the file beside a report that is being written.
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// save writes a file through a temporary one beside it.
func save(path string, write func(io.Writer) error) (err error) {
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

// Spread does n cases, jobs at a time, and hands each one to done in the order of their numbers, as soon as it and all
// before it are there. do is called concurrently, done is not. It starts no further cases once ctx has ended, and returns
// when all that were started have ended; cases behind one that was not started are not handed over. A case that was under
// way when ctx ended counts as not run, unless it went well: what it met may come from the interruption.
func Spread(ctx context.Context, jobs, n int, do func(ctx context.Context, i int) Case, done func(i int, c Case)) {
	ready := make([]chan Case, n)
	for i := range ready {
		ready[i] = make(chan Case, 1)
	}
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range min(max(jobs, 1), n) {
		workers.Go(func() {
			for i := range numbers {
				c := do(ctx, i)
				if ctx.Err() != nil && c.State != CaseOK {
					c.State, c.Detail = CaseSkipped, "not run: interrupted while it was under way"
				}
				ready[i] <- c
			}
		})
	}
	workers.Go(func() { feed(ctx, numbers, ready) })
	for i, c := range ready {
		if found, there := <-c; there {
			done(i, found)
		}
	}
	workers.Wait()
}

// feed hands out the numbers until ctx ends, and closes the places of those that it does not hand out.
func feed(ctx context.Context, numbers chan<- int, ready []chan Case) {
	defer close(numbers)
	for i := range ready {
		select {
		case <-ctx.Done():
		default:
			select {
			case numbers <- i:
				continue
			case <-ctx.Done():
			}
		}
		for _, c := range ready[i:] {
			close(c)
		}
		return
	}
}
