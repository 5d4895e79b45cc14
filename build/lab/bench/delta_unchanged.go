package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"collet/netproto/release"
	"collet/platform/interrupt"
)

const (
	// mostOfHashing is what publishing an unchanged set may take, in times of hashing it once.
	mostOfHashing = 1.2
	// unchangedFiles is how many files the set has.
	unchangedFiles = 16
	// settling is how long files have to be left alone until their times tell the publisher that they did not change.
	settling = 4 * time.Second
)

// unchanged publishes a large set again: as it is, and with every file's times changed, so that all of it has to be read
// again. Both are compared with hashing the set once, on all cores.
func (b *bench) unchanged(ctx context.Context) error {
	s := &shop{b: b, dir: filepath.Join(b.dir, "unchanged")}
	defer os.RemoveAll(s.dir)
	if err := os.MkdirAll(s.set(1), 0o755); err != nil {
		return err
	}
	size := b.Transfer << 20
	for i := range unchangedFiles {
		// The same noise in all of them, of other sizes: contents differ, and each is made once.
		if err := writeNoise(filepath.Join(s.set(1), fmt.Sprintf("Pack%02d.zip", i)), size/unchangedFiles+int64(i)); err != nil {
			return err
		}
	}
	if err := b.layModule(s.game(1)); err != nil {
		return err
	}
	if err := s.init(ctx); err != nil {
		return err
	}
	for range 2 { // the second one remembers what it read
		if _, err := s.publish(ctx, 1); err != nil {
			return err
		}
		if err := interrupt.Sleep(ctx, settling); err != nil {
			return err
		}
	}
	var hashes, still, touched []float64
	again := func(ratios *[]float64) error {
		took, err := hashTree(s.set(1))
		if err != nil {
			return err
		}
		r, err := s.publish(ctx, 1)
		hashes, *ratios = append(hashes, took.Seconds()), append(*ratios, r.wall.Seconds()/took.Seconds())
		return err
	}
	for range b.Pairs {
		if err := again(&still); err != nil {
			return err
		}
	}
	for range b.Pairs {
		if err := errors.Join(touch(s.set(1)), again(&touched)); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "publishing an unchanged set of %d MB, %d runs; hashing it once takes %.2f s\n", size>>20, b.Pairs, middle(hashes))
	b.verdict("publish unchanged, ratio to hashing once", middle(still), mostOfHashing, "")
	b.verdict("the same, every file's time changed", middle(touched), mostOfHashing, "")
	return nil
}

// touch changes the times of all files, so that no remembered digest stands for them.
func touch(folder string) error {
	now := time.Now()
	names, err := filesBelow(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Chtimes(filepath.Join(folder, name), now, now); err != nil {
			return err
		}
	}
	return nil
}

// hashTree computes the SHA-256 of every file, on all cores.
func hashTree(folder string) (time.Duration, error) {
	began := time.Now()
	names, err := filesBelow(folder)
	if err != nil {
		return 0, err
	}
	faults := make([]error, len(names))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				faults[i] = hashFile(filepath.Join(folder, names[i]))
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	group.Wait()
	for _, fault := range faults {
		if fault != nil {
			return 0, fault
		}
	}
	return time.Since(began), nil
}

func hashFile(name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := release.SHA256.NewHash()
	n, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{in}, make([]byte, 128<<10))
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", name, fs.ErrInvalid)
	}
	return err
}
