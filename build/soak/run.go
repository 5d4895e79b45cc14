package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"collet/platform/interrupt"
)

const (
	// settleTime is how long the server may need, once all clients have left, to notice and to finish.
	settleTime = 10 * time.Second
	// settlePoll is how often that is looked at.
	settlePoll = 30 * time.Millisecond
	// stalledPerPhase is the number of stalled clients in each phase of load.
	stalledPerPhase = 6
	// sweeps is how many more collections a quiet moment has, and sweepLooks how many samples are read after each of them: the smallest
	// heap of all counts.
	sweeps, sweepLooks = 3, 4
	// quietShare of a cycle is left for the quiet moment.
	quietShare = 8
	// leavePatience bounds the end of a run, also of one that was interrupted.
	leavePatience = 15 * time.Second
	// downloadEvery is in how many cycles, on average, an idle client downloads a file of the first catalogue.
	downloadEvery = 2
)

// Result is what a run amounts to. It is a value.
type Result struct {
	Counts
	Options Options
	Took    time.Duration
	Early   bool          // it was interrupted
	Samples []Sample      // quiet moments that count
	Peak    Sample        // the largest numbers under load; At means nothing
	CPU     time.Duration // of the server's process
	Rows    []Row         // the verdict; none if there were too few samples
	NoRows  error         // why there is none
}

// Holds reports whether nothing grew and nothing was wrong.
func (r *Result) Holds() bool {
	return r.NoRows == nil && r.Faulty == 0 && !slices.ContainsFunc(r.Rows, func(row Row) bool { return !row.Holds })
}

// run is one soak.
type run struct {
	Options
	began   time.Time
	host    *host
	folder  *packageFolder
	counts  *counter
	idle    *idleClients
	workers []*worker
	random  *rand.Rand // of the run itself; workers have their own

	mu      sync.Mutex
	samples []Sample
	peak    Sample
	cpu     float64 // seconds
}

// Run starts a server, keeps it busy and judges what has grown. It returns a result also when ctx ended it early. The
// error says that it could not be done at all: options that make no sense, a server that does not start, or no room for
// its files.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Scratch, "collet-soak-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	r := &run{Options: o, counts: newCounter(), random: rand.New(rand.NewPCG(o.Seed, 0))}
	if r.folder, err = newPackageFolder(dir, rand.New(rand.NewPCG(o.Seed, 1))); err != nil {
		return nil, err
	}
	if r.host, err = startHost(ctx, o, dir); err != nil {
		return nil, err
	}
	r.counts.change(func(n *Counts) {
		for _, p := range r.host.pairs() {
			n.Pairs[p.String()] = 0
		}
	})
	r.idle = newIdleClients(r.host, r.folder, r.counts, o.Idle)
	for i := range o.Workers {
		r.workers = append(r.workers, &worker{
			h: r.host, folder: r.folder, counts: r.counts, random: rand.New(rand.NewPCG(o.Seed, 2+uint64(i))),
		})
	}
	return r.soak(ctx), nil
}

// soak does everything between the server's start and its end. An unexpected end of the server ends it, too.
func (r *run) soak(ctx context.Context) *Result {
	r.began = time.Now()
	running, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { r.watch(running) })
	watcher.Go(func() {
		defer stop()
		select {
		case <-r.host.process.Done():
		case <-running.Done():
		}
	})
	for running.Err() == nil && r.goesOn() {
		if err := r.cycle(running); err != nil {
			if running.Err() == nil {
				r.counts.fault("%v", err)
			}
			break
		}
	}
	stop()
	watcher.Wait()
	took := time.Since(r.began)
	r.disconnectAll(ctx)
	result := &Result{
		Counts: r.counts.now(), Options: r.Options, Took: took, Early: ctx.Err() != nil, Samples: r.samples, Peak: r.peak,
		CPU: time.Duration(r.cpu * float64(time.Second)),
	}
	result.Rows, result.NoRows = Judge(result.Samples)
	return result
}

// cycle is load, and a quiet moment behind it.
func (r *run) cycle(ctx context.Context) error {
	if err := r.idle.connect(ctx); err != nil {
		return err
	}
	cycle := r.cycleTime()
	if err := r.load(ctx, cycle-cycle/quietShare); err != nil {
		return err
	}
	if err := r.idle.connect(ctx); err != nil {
		return err
	}
	s, err := r.quiet(ctx, float64(r.Idle))
	if err == nil && s.At >= r.warmUp() {
		r.mu.Lock()
		r.samples = append(r.samples, s)
		r.mu.Unlock()
	}
	return err
}

// goesOn reports whether there is time for another cycle. A machine that is too slow for a verdict gets as much again.
func (r *run) goesOn() bool {
	took := time.Since(r.began)
	return r.Time-took > r.Options.cycle()/2 || len(r.samples) < leastSamples && took < 2*r.Time
}

// cycleTime divides what is left evenly, so that the last cycle is no shorter than others.
func (r *run) cycleTime() time.Duration {
	left, cycle := r.Time-time.Since(r.began), r.Options.cycle()
	return max(left/max((left+cycle/2)/cycle, 1), shortestCycle)
}

// load runs all workers for a time. When it returns, all clients but the idle ones have left.
func (r *run) load(ctx context.Context, d time.Duration) (err error) {
	// No deadline: a dialer compares that with the clock and would fail a moment before the phase is over.
	phase, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	var work sync.WaitGroup
	for _, w := range r.workers {
		work.Go(func() { w.work(phase, r.Rest) })
	}
	for _, s := range chooseStalled(r.random, stalledPerPhase) {
		work.Go(func() { s.hold(phase, r.host, r.counts) })
	}
	if r.random.IntN(downloadEvery) == 0 {
		r.idle.downloadFirst(phase, r.random)
	}
	err = r.publish(ctx, phase, d)
	if err != nil {
		cancel()
	}
	work.Wait()
	return err
}

// publish changes what is offered, twice in a phase of load. A publication that has begun is brought to its end.
func (r *run) publish(ctx, phase context.Context, d time.Duration) error {
	for range 2 {
		_ = interrupt.Sleep(phase, time.Duration(r.random.Int64N(int64(d/2))))
		if phase.Err() != nil {
			return nil
		}
		if err := r.publishOnce(ctx); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

func (r *run) publishOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	signal := r.random.IntN(2) == 0
	reload := func(ctx context.Context) error { return r.host.reload(ctx, signal) }
	if r.random.IntN(4) == 0 {
		if err := r.folder.publishInvalid(ctx, reload); err != nil {
			return err
		}
		r.counts.change(func(n *Counts) { n.Refused++ })
	}
	if err := r.folder.change(ctx, reload); err != nil {
		return err
	}
	r.counts.change(func(n *Counts) { n.Published++ })
	return nil
}

// quiet waits until the server has noticed that the workers left, as far as it does, and reads a sample. What it reads of the heap can
// only be too much: garbage stays in use until it is swept, which happens beside, and a ping to an idle client takes a compressor of
// more than a megabyte, which a pool keeps until the second collection. So the smallest heap counts.
func (r *run) quiet(ctx context.Context, connections float64) (Sample, error) {
	if err := r.waitIdle(ctx, connections); err != nil {
		return Sample{}, err
	}
	now, err := r.host.gauge.collected(ctx)
	if err != nil {
		return Sample{}, err
	}
	s := now.sample()
	for look := range sweeps * sweepLooks {
		if look%sweepLooks == 0 {
			if _, err = r.host.gauge.collect(ctx, now, 1); err != nil {
				return Sample{}, err
			}
		}
		_ = interrupt.Sleep(ctx, settlePoll)
		if now, err = r.host.gauge.readMetrics(ctx); err != nil {
			return Sample{}, err
		}
		swept := now.sample()
		swept.Heap = min(swept.Heap, s.Heap)
		s = swept
	}
	s.At = time.Since(r.began)
	if s.Connections != connections {
		r.counts.fault("in a quiet moment the server has %v connections, want those of %v idle clients", s.Connections, connections)
	}
	r.mu.Lock()
	r.cpu = now.sum("process_cpu_seconds_total")
	r.mu.Unlock()
	return s, nil
}

// waitIdle returns when there are as many connections as there should be and the number of goroutines and descriptors rests,
// or when that takes too long: then what is too much is part of the sample.
func (r *run) waitIdle(ctx context.Context, connections float64) error {
	var last Sample
	for began := time.Now(); time.Since(began) < settleTime; _ = interrupt.Sleep(ctx, settlePoll) {
		now, err := r.host.gauge.readMetrics(ctx)
		if err != nil {
			return err
		}
		s := now.sample()
		if s.Connections == connections && s.Goroutines == last.Goroutines && s.Descriptors == last.Descriptors {
			return nil
		}
		last = s
	}
	return ctx.Err()
}

// watch reads numbers while there is load, for the peak and for the progress report.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now, err := r.host.gauge.readMetrics(ctx)
		if err != nil {
			continue // the cycle notices, too, and tells
		}
		s := now.sample()
		s.At = time.Since(r.began)
		r.mu.Lock()
		p := &r.peak
		p.Goroutines, p.Descriptors = max(p.Goroutines, s.Goroutines), max(p.Descriptors, s.Descriptors)
		p.Connections, p.Heap, p.Resident = max(p.Connections, s.Connections), max(p.Heap, s.Heap), max(p.Resident, s.Resident)
		quiet := len(r.samples)
		r.mu.Unlock()
		if t := r.counts.now(); r.Tell != nil {
			r.Tell(Status{Elapsed: s.At, Time: r.Time, Latest: s, Quiet: quiet, Downloads: t.Downloads(), Faults: t.Faulty})
		}
	}
}

// disconnectAll disconnects all clients, checks that the server has no connections left, and stops it.
func (r *run) disconnectAll(ctx context.Context) {
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leavePatience)
	defer cancel()
	select {
	case <-r.host.process.Done():
		r.idle.leave(ctx)
	default:
		r.idle.leave(leaving)
		if err := r.waitIdle(leaving, 0); err != nil {
			r.counts.fault("after all clients left: %v", err)
		} else if now, err := r.host.gauge.readMetrics(leaving); err != nil || now.sample().Connections != 0 {
			r.counts.fault("after all clients left, the server has %v connections, %v", now.sample().Connections, err)
		}
	}
	for _, fault := range slices.Backward(r.host.stopServer()) {
		r.counts.recordFirst(fault)
	}
	r.missing()
}

// missing finds generations and transports that nothing was downloaded by, in a run that was long enough for all.
func (r *run) missing() {
	done := r.counts.now()
	if done.Downloads() < enoughDownloads {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(done.Pairs)) {
		if done.Pairs[name] == 0 {
			r.counts.fault("nothing was downloaded by %s", name)
		}
	}
}

// enoughDownloads is when each pair had its turn several times.
const enoughDownloads = 200
