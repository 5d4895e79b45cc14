package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/platform"
	"collet/platform/interrupt"
)

// locks are the locks of an open install: the install itself, and the set while it is used. It is not safe for concurrent
// use.
//
//	acquire ─► own ─────────────────────────────────────► release
//	startReading ─► reading ─► exclusively: sole ─► reading ─► release
//	shareBase ─► shared ────────────────────────────────► release
type locks struct {
	fs, base platform.FS // base may be nil
	log      zerolog.Logger
	onWait   func()

	own     io.Closer // one process at a time opens the install; nil before acquire
	reading io.Closer // shared lock of users of the set; nil during a swap
	sole    bool      // this process holds the users' lock exclusively
	shared  io.Closer // the same of the base; nil if the base has none
}

// Lock takes the lock of the install in a folder without opening it, for who puts the first set there. It does not wait: if another
// process has it, the error is platform.ErrLocked. The caller closes it.
func Lock(folder platform.FS) (io.Closer, error) {
	if err := folder.MkdirAll(StateDir, 0o755); err != nil {
		return nil, err
	}
	return folder.Lock(path.Join(StateDir, LockFile))
}

// acquire takes the lock of the install. A user without write permission needs none.
func (l *locks) acquire() (err error) {
	l.own, err = l.fs.Lock(path.Join(StateDir, LockFile))
	if errors.Is(err, fs.ErrPermission) {
		l.log.Debug().Err(err).Msg("another user's install: it is not locked, and not written")
		l.own, err = io.NopCloser(nil), nil
	}
	return err
}

// exclusively waits until no other process uses the set, and keeps other processes out while f runs.
func (l *locks) exclusively(ctx context.Context, f func() error) error {
	if l.sole {
		return f()
	}
	shared := l.reading != nil
	if err := l.stopReading(); err != nil {
		return err
	}
	alone, err := l.wait(ctx, l.fs.Lock, path.Join(StateDir, ReadersFile), "the swap waits until the old set is unused")
	if err == nil {
		err = l.whileSole(alone, f)
	}
	if shared {
		err = errors.Join(err, l.startReading())
	}
	return err
}

// whileSole runs f while this process holds the readers' lock exclusively, and then releases the lock.
func (l *locks) whileSole(alone io.Closer, f func() error) error {
	l.sole = true
	err := f()
	l.sole = false
	return errors.Join(err, alone.Close())
}

// readersPoll is the polling interval for a lock. The system has no blocking call that can be cancelled.
const readersPoll = 200 * time.Millisecond

// wait calls lock until no other process has the lock. It says so once, with message.
func (l *locks) wait(ctx context.Context, lock func(name string) (io.Closer, error), name, message string) (io.Closer, error) {
	for told := false; ; told = true {
		got, err := lock(name)
		if !errors.Is(err, platform.ErrLocked) {
			return got, err
		}
		if !told {
			l.log.Info().Msg(message)
			l.onWait()
		}
		if err := interrupt.Sleep(ctx, readersPoll+rand.N(readersPoll/4)); err != nil {
			return nil, err
		}
	}
}

// startReading takes the shared readers' lock, which prevents swaps by other processes.
func (l *locks) startReading() (err error) {
	l.reading, err = l.fs.LockShared(path.Join(StateDir, ReadersFile))
	if errors.Is(err, fs.ErrPermission) {
		l.reading, err = nil, nil // another user's install: its swaps do not wait for this process
	}
	return err
}

func (l *locks) stopReading() error {
	if l.reading == nil {
		return nil
	}
	err := l.reading.Close()
	l.reading = nil
	return err
}

// shareBase takes the shared readers' lock of the base, so that swaps there wait for this process. It waits for a swap in
// progress. A base without transactions has no such lock, and this process does not create one.
func (l *locks) shareBase(ctx context.Context) error {
	name := path.Join(StateDir, ReadersFile)
	if l.base == nil {
		return nil
	}
	if _, err := l.base.Lstat(name); err != nil {
		return nil
	}
	shared, err := l.wait(ctx, l.base.LockShared, name, "the installation is being updated")
	if err != nil && ctx.Err() == nil {
		l.log.Debug().Err(err).Msg("an update of the installation will not wait for this start")
		return nil
	}
	l.shared = shared
	return err
}

// release releases all locks.
func (l *locks) release() error {
	var shared error
	if l.shared != nil {
		shared = l.shared.Close()
	}
	return errors.Join(shared, l.stopReading(), l.own.Close())
}
