package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"collet/platform"
)

// FS is a disk as seen by one process. It is safe for concurrent use. Disk.Open makes one.
type FS struct{ process }

// process performs the calls of a program, and is what the system keeps about it.
type process struct {
	schedule
	disk *Disk
	dead atomic.Bool

	// Disk.mu protects these:
	closed bool
	files  map[*file]bool
}

// Open starts a process that uses the disk.
func (d *Disk) Open(o Options) *FS {
	return &FS{process{disk: d, schedule: schedule{options: o, fails: map[int]error{}}, files: map[*file]bool{}}}
}

// Disk is the volume that the process uses.
func (p *process) Disk() *Disk { return p.disk }

// Kill ends the process: its files are closed, its locks are released, and every call returns ErrStopped without an effect. Its writes
// are kept, in memory if they were not synced.
func (p *process) Kill() {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	p.dead.Store(true)
	for open := range p.files {
		open.release()
	}
	p.disk.locks.release(func(l *lock) bool { return l.owner == p })
}

// call performs one operation on the disk, unless a stop or a rule prevents it. effect gets the number of bytes that go through, negative
// for all, and is called without locks.
func (p *process) call(o Op, effect func(limit int) error) error {
	if p.dead.Load() {
		return o.wrap(ErrStopped)
	}
	counts := p.options.Reads || o.Changes()
	v := p.countOperation(&o, counts)
	if v.last && v.spared {
		p.Kill()
		return o.wrap(ErrStopped)
	}
	if counts && p.options.Before != nil {
		p.options.Before(o)
	}
	err := v.err
	if !v.spared {
		if happened := effect(v.limit); happened != nil {
			err = happened
		}
	}
	if v.last {
		p.Kill()
	}
	if v.last || errors.Is(err, ErrStopped) {
		return o.wrap(ErrStopped)
	}
	if o.Err = described(o, err); counts {
		p.finish(o)
	}
	return o.Err
}

// described wraps an error, except those that callers compare.
func described(o Op, err error) error {
	if err == io.EOF || err == platform.ErrLocked {
		return err
	}
	return o.wrap(err)
}

// writing runs an effect that changes something, if the process has not ended.
func (p *process) writing(effect func() error) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	if p.dead.Load() {
		return ErrStopped
	}
	return effect()
}

// reading runs an effect that changes nothing, if the process has not ended.
func (p *process) reading(effect func() error) error {
	p.disk.mu.RLock()
	defer p.disk.mu.RUnlock()
	if p.dead.Load() {
		return ErrStopped
	}
	return effect()
}

// modify is a call by name that changes something.
func (p *process) modify(o Op, effect func() error) error {
	return p.call(o, func(int) error {
		return p.writing(func() error {
			if p.closed {
				return fs.ErrClosed
			}
			return effect()
		})
	})
}

// query is a call by name that changes nothing.
func (p *process) query(o Op, effect func() error) error {
	return p.call(o, func(int) error {
		return p.reading(func() error {
			if p.closed {
				return fs.ErrClosed
			}
			return effect()
		})
	})
}
