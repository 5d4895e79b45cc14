package faultfs

import (
	"io"
	"os"
	"slices"

	"collet/platform"
)

// Lock implements platform.FS.
func (f *FS) Lock(name string) (io.Closer, error) { return f.lock(Lock, name) }

// LockShared implements platform.FS.
func (f *FS) LockShared(name string) (io.Closer, error) { return f.lock(LockShared, name) }

func (f *FS) lock(verb Verb, name string) (io.Closer, error) {
	held := &lock{fs: f, name: name, shared: verb == LockShared}
	err := f.change(Op{Verb: verb, Name: name, Made: f.missing(name)}, func() error {
		n, err := f.disk.open(name, os.O_RDONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		held.node = n
		return f.disk.take(held)
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// lock is a lock that is held until Close, or until the process ends.
type lock struct {
	fs     *FS
	node   *node
	name   string
	shared bool
	free   bool
}

// take acquires a lock, unless a conflicting one is held; d.mu is held.
func (d *Disk) take(l *lock) error {
	for _, other := range d.locks {
		if other.node == l.node && !(other.shared && l.shared) {
			return platform.ErrLocked
		}
	}
	d.locks = append(d.locks, l)
	return nil
}

// give releases locks; d.mu is held.
func (d *Disk) give(those func(*lock) bool) { d.locks = slices.DeleteFunc(d.locks, those) }

// Close releases the lock. A second call does nothing.
func (l *lock) Close() error {
	return l.fs.call(Op{Verb: Unlock, Name: l.name}, func(int) error {
		return l.fs.writing(func() error {
			if !l.free {
				l.free = true
				l.fs.disk.give(func(other *lock) bool { return other == l })
			}
			return nil
		})
	})
}
