package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/platform"
)

// Config is what Open needs. FS stays the caller's: Close does not close it.
type Config struct {
	FS     platform.FS
	Names  Names
	Verify bool // believe no cached digest: hash every file again, the live module included
	Log    zerolog.Logger
	Now    func() time.Time // nil means time.Now
}

// Dir is one install, held by this process. It is not safe for concurrent use. Use Open to make one and Close to let the
// next process have it.
type Dir struct {
	cfg     Config
	fs      platform.FS
	log     zerolog.Logger
	lock    io.Closer
	journal Journal
	cache   *hashCache
	work    *work  // what Plan prepared; nil before
	buffer  []byte // for hashing; made when it is first needed
}

// Open takes the install's lock, reads the journal and finishes what an earlier process began, up to and including the
// swap of a staged module: no child of ours runs yet. When another process holds the install, errors.Is(err,
// platform.ErrLocked) holds. Other errors are *update.Fault, or those of ctx.
//
// An error means that the files are as they were, or that a set is half: what is on disk must not be started then.
func Open(ctx context.Context, cfg Config) (*Dir, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &Dir{cfg: cfg, fs: cfg.FS, log: cfg.Log}
	err := d.open(ctx)
	if errors.Is(err, platform.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, d.fault(err)
	}
	return d, nil
}

func (d *Dir) open(ctx context.Context) (err error) {
	if d.cfg.Names, err = d.cfg.Names.checked(); err != nil {
		return err
	}
	if err := d.fs.MkdirAll(StateDir, 0o755); err != nil {
		return err
	}
	if d.lock, err = d.fs.Lock(path.Join(StateDir, lockFile)); err != nil {
		return err
	}
	if err := d.recover(ctx); err != nil {
		return errors.Join(err, d.lock.Close())
	}
	return nil
}

// recover is what Open does after it has the lock.
func (d *Dir) recover(ctx context.Context) error {
	journal, err := loadJournal(d.fs, maxJournal)
	if err != nil {
		return err
	}
	d.journal = journal
	d.cache = loadCache(d.fs, d.cfg.Names.Cache)
	if err := d.advance(ctx, Swap); err != nil {
		return err
	}
	if err := d.restoreMissing(); err != nil {
		return err
	}
	return d.dropBackup()
}

// restoreMissing gives a missing live module its backup back. The journal tells first, so that a stop in between leaves
// no module that waits for a proof it can't give.
func (d *Dir) restoreMissing() error {
	live := d.cfg.Names.Library()
	liveThere, err := d.exists(live)
	if err != nil {
		return err
	}
	backupThere, err := d.exists(live + BackupSuffix)
	if err != nil {
		return err
	}
	steps := Restore(live, liveThere, backupThere)
	if len(steps) == 0 {
		return nil
	}
	d.log.Warn().Str("file", live).Msg("live module is missing; the last proven one takes its place")
	if _, found := d.journal.pending(live); found {
		if err := d.record(d.ended(RolledBack), d.journal.pendingWithout(live)); err != nil {
			return err
		}
	}
	return d.perform(steps)
}

// ended is the state after something happened to a module: if it came with the newest transaction, that is how this one
// ended; otherwise the newest transaction stays where it is.
func (d *Dir) ended(outcome State) State {
	if d.journal.State == Swapped {
		return outcome
	}
	return d.journal.State
}

// dropBackup removes the predecessor of a module that has proven itself. A .bak of which the journal does not say so was
// put there by somebody else.
func (d *Dir) dropBackup() error {
	live := d.cfg.Names.Library()
	if p, _ := d.journal.pending(live); !p.Proven {
		return nil
	}
	if err := d.drop(live + BackupSuffix); err != nil {
		return err
	}
	return d.record(d.journal.State, d.journal.pendingWithout(live))
}

// exists reports whether anything has this name.
func (d *Dir) exists(name string) (bool, error) {
	_, err := d.fs.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Close lets go of the install and keeps unfinished parts. The hash cache is saved; failing that costs only time.
func (d *Dir) Close() error {
	err := d.Abandon()
	if saveErr := d.cache.save(d.fs, d.cfg.Names.Cache); saveErr != nil {
		d.log.Warn().Err(saveErr).Msg("hash cache not saved")
	}
	return errors.Join(err, d.lock.Close())
}

// Library is the absolute path of the live module, whether it exists or not.
func (d *Dir) Library() string { return d.fs.Path(d.cfg.Names.Library()) }

// Packs is the absolute path of the folder of the packs.
func (d *Dir) Packs() string { return d.fs.Path(d.cfg.Names.Resources) }

// HasLibrary reports whether there is a live module.
func (d *Dir) HasLibrary() bool {
	there, err := d.exists(d.cfg.Names.Library())
	return there && err == nil
}

// Pending reports whether the live module has not proven itself yet.
func (d *Dir) Pending() bool { return d.journal.unproven(d.cfg.Names.Library()) }

// State is where the newest transaction stands.
func (d *Dir) State() State { return d.journal.State }

// Promote makes a staged module live. The caller has made sure that no child has the old one loaded. Without a staged
// module it does nothing and succeeds. The error is a *update.Fault, or that of ctx.
func (d *Dir) Promote(ctx context.Context) error { return d.fault(d.advance(ctx, Swap)) }

// Confirm says that the pending module has proven itself; its predecessor is removed. Without a pending module it does
// nothing. The error is a *update.Fault; the next Open goes on from wherever it happened.
func (d *Dir) Confirm() error {
	live := d.cfg.Names.Library()
	if !d.journal.unproven(live) {
		return nil
	}
	p, _ := d.journal.pending(live)
	p.Proven = true
	if err := d.record(d.ended(Confirmed), append(d.journal.pendingWithout(live), p)); err != nil {
		return d.fault(err)
	}
	d.log.Info().Str("file", live).Stringer("digest", p.Digest).Msg("module confirmed")
	return d.fault(d.dropBackup())
}
