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
	held := &lock{owner: &f.process, name: name, shared: verb == LockShared}
	err := f.modify(Op{Verb: verb, Name: name, Made: f.missing(name)}, func() error {
		n, err := f.disk.openFile(name, os.O_RDONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		held.node = n
		return f.disk.locks.acquire(held)
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// lock is a lock that is held until Close, or until the process ends.
type lock struct {
	owner  *process
	node   *node
	name   string
	shared bool
	free   bool
}

// lockTable is the held locks. Disk.mu protects it.
type lockTable []*lock

// acquire adds a lock, unless a conflicting one is held.
func (t *lockTable) acquire(l *lock) error {
	for _, other := range *t {
		if other.node == l.node && !(other.shared && l.shared) {
			return platform.ErrLocked
		}
	}
	*t = append(*t, l)
	return nil
}

// release removes locks.
func (t *lockTable) release(those func(*lock) bool) { *t = slices.DeleteFunc(*t, those) }

// Close releases the lock. A second call does nothing.
func (l *lock) Close() error {
	return l.owner.call(Op{Verb: Unlock, Name: l.name}, func(int) error {
		return l.owner.writing(func() error {
			if !l.free {
				l.free = true
				l.owner.disk.locks.release(func(other *lock) bool { return other == l })
			}
			return nil
		})
	})
}
