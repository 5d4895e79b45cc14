package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// idleFiles is how many files the set has of which none changed.
	idleFiles = 10_000
	// idleContents is how many contents they have between them: what is looked at is files.
	idleContents = 100
	// idleTrips is how many round trips it may take to find that out.
	idleTrips = 2
	// tripNoise is by how much the number of round trips may come out too high: it is a difference of medians, and a twelfth
	// of what one trip more would make of the time.
	tripNoise = 0.25
	// mostOfWalk is what it may take, in times of a bare stat walk and those round trips.
	mostOfWalk = 1.5
	// idleRuns is how often it is looked; the median counts.
	idleRuns = 9
)

// idle looks for updates when there are none, over the links with a delay and without loss. The number of round trips is what the time grows
// by when one takes longer.
func (b *bench) idle(ctx context.Context, chosen []netLink) error {
	s := &shop{b: b, dir: filepath.Join(b.dir, "idle")}
	defer os.RemoveAll(s.dir)
	if err := s.many(ctx); err != nil {
		return err
	}
	install := filepath.Join(s.dir, "client")
	if err := s.install(ctx, install, s.folder()); err != nil {
		return err
	}
	walk, err := walks(install)
	if err != nil {
		return err
	}
	var times, trips []float64
	for _, w := range chosen {
		if w.loss > 0 || w.delay == 0 {
			continue
		}
		took, err := b.idleOver(ctx, s, install, w)
		if err != nil {
			return fmt.Errorf("nothing to do over %s: %w", w.name, err)
		}
		trip := (2 * w.delay).Seconds()
		floor := walk.Seconds() + idleTrips*trip
		fmt.Fprintf(b.out, "nothing to do, %d files, %s: %.3f s; a bare stat walk %.3f s, with %d round trips %.3f s\n",
			idleFiles, w.name, took, walk.Seconds(), idleTrips, floor)
		b.verdict("nothing to do at "+w.name+", ratio to that", took/floor, mostOfWalk, "")
		times, trips = append(times, took), append(trips, trip)
	}
	if n := len(times); n > 1 && trips[n-1] != trips[0] {
		b.verdict("nothing to do, round trips", (times[n-1]-times[0])/(trips[n-1]-trips[0]), idleTrips+tripNoise, "")
	}
	return nil
}

// many publishes a set of many small files.
func (s *shop) many(ctx context.Context) error {
	if err := os.MkdirAll(s.set(1), 0o755); err != nil {
		return err
	}
	for i := range idleFiles {
		name := filepath.Join(s.set(1), fmt.Sprintf("%02d", i%100), fmt.Sprintf("Pack%05d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "pack %d\n", i%idleContents), 0o644); err != nil {
			return err
		}
	}
	if err := s.b.layModule(s.game(1)); err != nil {
		return err
	}
	if err := s.init(ctx); err != nil {
		return err
	}
	_, err := s.publish(ctx, 1)
	return err
}

// idleOver is the median time of looking, in seconds.
func (b *bench) idleOver(ctx context.Context, s *shop, install string, w netLink) (float64, error) {
	line, err := w.open(ctx)
	if err != nil {
		return 0, err
	}
	defer line.close()
	f := &fair{shop: s}
	if err := f.offer(); err != nil {
		return 0, err
	}
	stop, err := f.serve(ctx, b, line)
	if err != nil {
		return 0, err
	}
	defer stop()
	var took []float64
	for range idleRuns {
		args := s.clientArgs(install, f.web+"release")
		r, err := runIn(line.near, exec.CommandContext(ctx, args[0], args[1:]...))
		if err == nil {
			err = isCurrent(r)
		}
		if err != nil {
			return 0, err
		}
		took = append(took, r.wall.Seconds())
	}
	return middle(took), nil
}

// walks is the median time of looking at every file of a folder.
func walks(folder string) (time.Duration, error) {
	var all []time.Duration
	for range idleRuns {
		began := time.Now()
		err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil {
				_, err = entry.Info()
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	return median(all), nil
}
