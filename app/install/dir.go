package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/app/diskfault"
	"collet/platform"
)

// Config holds the parameters of Open. The caller owns FS: Close does not close it.
type Config struct {
	FS     platform.FS
	Names  Names
	Verify bool  // ignore cached digests: hash every file again, including the live module. An unclean end implies it
	Trust  Trust // which digests suffice for native code; the zero value accepts none
	Log    zerolog.Logger
	Now    func() time.Time // nil means time.Now
	// OnWait is called when a swap or Open starts to wait for other processes that use or update the set. Nil means no
	// call.
	OnWait func()
	// Base is a read-only folder below this one: a file of the release that exists only in Base counts as current. Nil
	// means no base. The caller owns it, too.
	Base platform.FS
}

// Dir is one install, locked by this process. It is not safe for concurrent use. Open makes one; Close releases it to other
// processes. It consists of parts, each with its own state:
//
//	Contents, Health      what callers read, and what they say about starts of the live set
//	transfer, planning    the files of one update, from Plan to Commit
//	transaction           the journal, the swap and the way back; its mover changes names, its locks keep others out
//	hasher                digests: hash cache and block checksums
type Dir struct {
	*Contents
	*Health
	trust     Trust
	tx        *transaction
	work      *transfer // the result of the last Plan; nil before
	unclean   bool      // the previous process did not close the install
	deferSwap bool      // the live set is in use: Commit never makes another one live
	lost      string    // a file of a prepared set whose bytes Open found missing; may be empty
}

// newDir joins the parts of an install. It does not access the disk.
func newDir(cfg Config, cache *hashCache) *Dir {
	d := &Dir{trust: cfg.Trust}
	blocks := newBlockStore(cfg.FS, cfg.Names.Cache, cfg.Base != nil, cfg.Log)
	f := &folder{
		fs: cfg.FS, base: cfg.Base, names: cfg.Names, log: cfg.Log, journal: new(Journal),
		hash:    &hasher{fs: cfg.FS, log: cfg.Log, now: cfg.Now, cache: cache, blocks: blocks, verify: cfg.Verify},
		missing: func() int64 { return d.work.missing() },
	}
	d.tx = &transaction{
		folder: f,
		move:   &mover{fs: cfg.FS, log: cfg.Log, journal: f.journal, hash: f.hash},
		locks:  &locks{fs: cfg.FS, base: cfg.Base, log: cfg.Log, onWait: cfg.OnWait},
	}
	d.Contents, d.Health = &Contents{folder: f}, &Health{tx: d.tx}
	return d
}

// Open locks the install, reads the journal and finishes the work of an earlier process. That includes the swap of a
// prepared set, unless another process still uses the old one. If another process holds the install, errors.Is(err,
// platform.ErrLocked) holds and the error is a *diskfault.InUseError that names it. A user without write permission can't lock the
// install and needs no lock: nothing is changed then. Other errors are *update.Fault, or those of ctx.
//
// After an error the files are unchanged, or the set is incomplete: the files on disk must not be started then.
func Open(ctx context.Context, cfg Config) (*Dir, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnWait == nil {
		cfg.OnWait = func() {}
	}
	var err error
	if cfg.Names, err = cfg.Names.Checked(); err != nil {
		return nil, FaultOf(cfg.FS, 0, err)
	}
	d := newDir(cfg, lazyCache(cfg.FS, cfg.Names.Cache))
	err = d.lockAndRecover(ctx)
	if errors.Is(err, platform.ErrLocked) {
		name := d.fs.Path(path.Join(StateDir, LockFile))
		return nil, &diskfault.InUseError{Path: name, Holders: platform.Holders(name), Err: err}
	}
	if err != nil {
		return nil, d.fault(err)
	}
	return d, nil
}

func (d *Dir) lockAndRecover(ctx context.Context) error {
	if err := d.fs.MkdirAll(StateDir, 0o755); err != nil {
		return err
	}
	if err := d.tx.locks.acquire(); err != nil {
		return err
	}
	if err := d.recover(ctx); err != nil {
		return errors.Join(err, d.tx.locks.release())
	}
	return nil
}

// recover is the part of Open after the lock is taken.
func (d *Dir) recover(ctx context.Context) error {
	j, err := loadJournal(d.fs, maxJournal)
	if err != nil {
		return err
	}
	*d.journal = j
	if err := d.mark(); err != nil {
		return err
	}
	syncEarlier := func(context.Context) error { return d.tx.syncEarlierChanges(d.unclean) }
	read := func(context.Context) error { return d.tx.locks.startReading() }
	repair := &moduleRepair{d.tx}
	for _, step := range []func(context.Context) error{
		syncEarlier, d.resume, d.Health.rollBackFailing, repair.restoreMissing, d.tx.cleanIfPossible, read, d.tx.locks.shareBase,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.hash.verify = d.hash.verify || len(d.journal.lists.Mixed) > 0 // the module is then compared with the offer, too
	d.lost, d.tx.vanished = d.tx.vanished, ""                       // the file will be fetched again, so it need not be reported
	return nil
}

// mark creates the file that marks an open install, and records whether it already existed. The first transaction syncs it:
// without a transaction a power cut can't damage files of the install.
func (d *Dir) mark() error {
	name := path.Join(StateDir, OpenFile)
	there, err := exists(d.fs, name)
	if err != nil || there {
		d.unclean = there
		d.hash.verify = d.hash.verify || there
		return err
	}
	f, err := d.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err) {
		return nil // without write permission this process can't damage the folder either
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// resume continues the transaction of an earlier process.
func (d *Dir) resume(ctx context.Context) error {
	switch state := d.journal.State; {
	case state == RollingBack:
		return d.tx.goBack(ctx)
	case d.names.Program && (state == Prepared || state == Swapped):
		return (&Program{d}).resume(ctx)
	case state == Prepared:
		return d.tx.swapUnlessUsed(ctx)
	}
	return nil
}

// Close releases the install and keeps unfinished parts. It saves the hash cache; a failure to do so only costs time.
func (d *Dir) Close() error {
	err := d.Abandon()
	if saveErr := d.hash.cache.save(d.fs, d.names.Cache); saveErr != nil {
		d.log.Warn().Err(saveErr).Msg("hash cache not saved")
	}
	if d.unclean && d.hash.verify {
		d.log.Info().Msg("the files were not checked after the unclean end; the next start will")
	} else if removeErr := platform.RemoveIfThere(d.fs, path.Join(StateDir, OpenFile)); removeErr != nil {
		d.log.Warn().Err(removeErr).Msg("the next start will take this end for an unclean one")
	}
	return errors.Join(err, d.tx.locks.release())
}

// Distrust makes the next Plan hash everything, after a file of the set turned out not to work.
func (d *Dir) Distrust() { d.hash.verify = true }

// Unclean reports whether the previous process left the install open: it was killed, or the machine stopped.
func (d *Dir) Unclean() bool { return d.unclean }

// Lost is a file of a prepared set whose bytes were missing when the install was opened; otherwise empty. The file is
// fetched again. A stop of this program is never the reason, because prepared files are synced: another program removed
// them, or the disk failed.
func (d *Dir) Lost() string { return d.lost }

// State is the state of the newest transaction.
func (d *Dir) State() State { return d.journal.State }
