package soak

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// Options say how a server is kept busy. Program, Time and what counts something are required.
type Options struct {
	Program string        // path of collet-server
	Env     []string      // its environment, but for GOGC and GOMEMLIMIT; nil is our own
	Scratch string        // folder below which the run has its own; empty: that of temporary files
	Time    time.Duration // how long, at least Shortest
	Seed    uint64        // what chance begins with
	Idle    int           // idle connections
	Workers int           // clients at a time, beside the idle ones
	Rest    time.Duration // what a worker waits between two clients, on average
	Memory  bool          // the server keeps files in memory instead of reading them from disk

	// Tell is called about once a second, by one goroutine at a time. Nil: no reports.
	Tell func(Status)
}

// Status is how far a run is.
type Status struct {
	Elapsed, Time time.Duration
	Latest        Sample // of whatever moment
	Quiet         int    // quiet moments that count
	Downloads     int    // that were checked to their last byte
	Faults        int
}

const (
	// Shortest is the shortest run that can give a verdict.
	Shortest = 8 * time.Second
	// maxIdle and maxWorkers keep both ends on one machine, and within the server's default of 8192 connections.
	maxIdle, maxWorkers = 5000, 256

	// cycles is how many quiet moments a run of middling length has.
	cycles = 16
	// shortestCycle leaves time for load beside a quiet moment, and longestCycle makes an hour enough of them.
	shortestCycle, longestCycle = time.Second, 15 * time.Second
	// warmUpShare of a run, but not more than longestWarmUp, does not count: pools fill, and the heap finds its size.
	warmUpShare, longestWarmUp = 6, 2 * time.Minute
	// sampleEvery is how often numbers are read while there is load.
	sampleEvery = time.Second
)

// Check finds options that make no sense.
func (o Options) Check() error {
	switch {
	case runtime.GOOS == "windows":
		return errors.New("a soak needs a system that lets open files be replaced, and Windows does not")
	case o.Program == "":
		return errors.New("no server's program is named")
	case o.Time < Shortest:
		return fmt.Errorf("a run of %v is too short for a verdict: want at least %v", o.Time, Shortest)
	case o.Idle < 0 || o.Idle > maxIdle:
		return fmt.Errorf("a crowd of %d: want 0 to %d", o.Idle, maxIdle)
	case o.Workers < 1 || o.Workers > maxWorkers:
		return fmt.Errorf("%d workers: want 1 to %d", o.Workers, maxWorkers)
	case o.Rest < 0:
		return fmt.Errorf("a rest of %v: want 0 or more", o.Rest)
	}
	return nil
}

// cycle is the time from one quiet moment to the next.
func (o Options) cycle() time.Duration {
	return min(max(o.Time/cycles, shortestCycle), longestCycle)
}

// environment is the server's. Its garbage collector has the defaults: with GOGC=400 the heap has so much more that is not in use any
// more, and so few collections, that its numbers can't be compared.
func (o Options) environment() []string {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	return append(slices.Clip(env), "GOGC=", "GOMEMLIMIT=")
}

// warmUp is how long samples don't count.
func (o Options) warmUp() time.Duration { return min(o.Time/warmUpShare, longestWarmUp) }
