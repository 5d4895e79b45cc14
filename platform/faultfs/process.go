package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"collet/platform"
)

// maxTrace is how many operations, the first ones, the trace keeps: more than a process in a test makes, and 16 MB.
const maxTrace = 1 << 17

// Options configure the observation of a process. The functions are called on the goroutine of the call, while the disk is not locked,
// so that they may cut its power, change files through another process, or kill this one.
type Options struct {
	Reads  bool     // count calls that change nothing, too
	Before func(Op) // called before each counted operation that will be performed
	After  func(Op) // called after each counted operation, unless the process ended with it
}

// FS is a disk as seen by one process. It is safe for concurrent use. Disk.Open makes one.
type FS struct {
	disk    *Disk
	options Options

	mu                                sync.Mutex
	count                             int
	trace                             []Op
	rules                             []*armed
	fails                             map[int]error
	stopBefore, stopInside, stopAfter int

	// What the system keeps about the process; disk.mu protects it.
	dead   atomic.Bool
	closed bool
	files  map[*file]bool
}

// Open starts a process that uses the disk.
func (d *Disk) Open(o Options) *FS {
	return &FS{disk: d, options: o, fails: map[int]error{}, files: map[*file]bool{}}
}

// Disk is the volume that the process uses.
func (f *FS) Disk() *Disk { return f.disk }

// StopBefore ends the process when operation number k begins, before its effect. Stops are set before that operation, one of each kind;
// k = 0 removes the stop.
func (f *FS) StopBefore(k int) { f.set(func() { f.stopBefore = k }) }

// StopInside ends the process in the middle of operation number k: the first half of a write's bytes arrive. Other operations are
// performed completely.
func (f *FS) StopInside(k int) { f.set(func() { f.stopInside = k }) }

// StopAfter ends the process after the effect of operation number k, before the caller gets its result.
func (f *FS) StopAfter(k int) { f.set(func() { f.stopAfter = k }) }

// FailAt makes only operation number k fail with err, without an effect, as at a bad sector.
func (f *FS) FailAt(k int, err error) { f.set(func() { f.fails[k] = err }) }

// Inject appends rules.
func (f *FS) Inject(rules ...Rule) {
	f.set(func() {
		for _, r := range rules {
			f.rules = append(f.rules, &armed{Rule: r, left: r.Bytes})
		}
	})
}

// Heal removes all rules.
func (f *FS) Heal() { f.set(func() { f.rules = nil }) }

func (f *FS) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// Count is the number of counted operations.
func (f *FS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Ops are the counted operations, at most the first 131072. An operation under way has no error yet.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.trace)
}

// Kill ends the process: its files are closed, its locks are released, and every call returns ErrStopped without an effect. Its writes
// are kept, in memory if they were not synced.
func (f *FS) Kill() {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.dead.Store(true)
	for open := range f.files {
		open.release()
	}
	f.disk.give(func(l *lock) bool { return l.fs == f })
}

// call performs one operation on the disk, unless a stop or a rule prevents it. effect gets the number of bytes that go through, negative
// for all, and is called without locks.
func (f *FS) call(o Op, effect func(limit int) error) error {
	if f.dead.Load() {
		return o.wrap(ErrStopped)
	}
	counts := f.options.Reads || o.Changes()
	v := f.begin(&o, counts)
	if v.last && v.spared {
		f.Kill()
		return o.wrap(ErrStopped)
	}
	if counts && f.options.Before != nil {
		f.options.Before(o)
	}
	err := v.err
	if !v.spared {
		if happened := effect(v.limit); happened != nil {
			err = happened
		}
	}
	if v.last {
		f.Kill()
	}
	if v.last || errors.Is(err, ErrStopped) {
		return o.wrap(ErrStopped)
	}
	if o.Err = f.described(o, err); counts {
		f.finish(o)
	}
	return o.Err
}

// described wraps an error, except those that callers compare.
func (f *FS) described(o Op, err error) error {
	if err == io.EOF || err == platform.ErrLocked {
		return err
	}
	return o.wrap(err)
}

// begin numbers an operation and returns the verdict.
func (f *FS) begin(o *Op, counts bool) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if counts {
		f.count++
		o.Number = f.count
		if len(f.trace) < maxTrace {
			f.trace = append(f.trace, *o)
		}
		if v, stops := f.stop(o); stops {
			return v
		}
	}
	if err := f.fails[o.Number]; err != nil && counts {
		return verdict{err: err, spared: true}
	}
	for _, r := range f.rules {
		if v, applies := r.judge(*o); applies {
			return v
		}
	}
	return pass
}

// stop decides whether the process ends with an operation.
func (f *FS) stop(o *Op) (v verdict, stops bool) {
	switch o.Number {
	case f.stopBefore:
		return verdict{spared: true, last: true}, true
	case f.stopInside:
		if o.Verb == Write {
			return verdict{limit: int(o.Size / 2), last: true}, true
		}
		return verdict{limit: -1, last: true}, true
	case f.stopAfter:
		return verdict{limit: -1, last: true}, true
	default:
		return pass, false
	}
}

// finish records the result of an operation.
func (f *FS) finish(o Op) {
	f.mu.Lock()
	if o.Number <= len(f.trace) {
		f.trace[o.Number-1].Err = o.Err
	}
	f.mu.Unlock()
	if f.options.After != nil {
		f.options.After(o)
	}
}

// writing runs an effect that changes something, if the process has not ended.
func (f *FS) writing(effect func() error) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.dead.Load() {
		return ErrStopped
	}
	return effect()
}

// reading runs an effect that changes nothing, if the process has not ended.
func (f *FS) reading(effect func() error) error {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	if f.dead.Load() {
		return ErrStopped
	}
	return effect()
}

// change is a call by name that changes something.
func (f *FS) change(o Op, effect func() error) error {
	return f.call(o, func(int) error {
		return f.writing(func() error {
			if f.closed {
				return fs.ErrClosed
			}
			return effect()
		})
	})
}

// look is a call by name that changes nothing.
func (f *FS) look(o Op, effect func() error) error {
	return f.call(o, func(int) error {
		return f.reading(func() error {
			if f.closed {
				return fs.ErrClosed
			}
			return effect()
		})
	})
}
