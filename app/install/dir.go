package install

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
)

// Config is what Open needs. FS stays the caller's: Close does not close it.
type Config struct {
	FS     platform.FS
	Names  Names
	Verify bool  // believe no cached digest: hash every file again, the live module included. An unclean end implies it
	Trust  Trust // which digests native code is taken by; the zero value takes none
	Log    zerolog.Logger
	Now    func() time.Time // nil means time.Now
	// OnWait is called when a swap has to wait until others have ended their use of the set. Nil means that nobody wants to
	// know.
	OnWait func()
	// Base is a folder below this one, which is only read: a file of the release that only Base has counts as current. Nil
	// means that there is none. It stays the caller's, too.
	Base platform.FS
}

// Dir is one install, held by this process. It is not safe for concurrent use. Use Open to make one and Close to let the
// next process have it.
type Dir struct {
	cfg     Config
	fs      platform.FS
	log     zerolog.Logger
	lock    io.Closer
	reading io.Closer // our share of the readers' lock; nil during a swap
	sole    bool      // this process alone has the readers' lock
	shared  io.Closer // our share of the base's readers' lock; nil where it has none
	journal Journal
	cache   *hashCache
	work    *work          // what Plan prepared; nil before
	offered []release.File // what the last Plan was about, not changed; nil before
	buffer  []byte         // for hashing; made when it is first needed
	glanced *glance        // what Glance found, until the next Plan; nil for nothing
	unclean bool           // the process before us did not close the install
	twoStep bool           // names can't be exchanged here

	lost     string // a file of a prepared set whose bytes Open found gone; empty: none
	vanished string // what turned out to be gone during the last swap; empty: nothing
	held     Try    // what the last Plan held back
}

// Open takes the install's lock, reads the journal and finishes what an earlier process began, up to and including the
// swap of a prepared set, unless another process still uses the old one. When another process holds the install,
// errors.Is(err, platform.ErrLocked) holds, and the error is a *HeldError that names it. A user who may not write the install can't
// hold its lock, and needs none: nothing is changed then. Other errors are *update.Fault, or those of ctx.
//
// An error means that the files are as they were, or that a set is half: what is on disk must not be started then.
func Open(ctx context.Context, cfg Config) (*Dir, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnWait == nil {
		cfg.OnWait = func() {}
	}
	d := &Dir{cfg: cfg, fs: cfg.FS, log: cfg.Log}
	err := d.open(ctx)
	if errors.Is(err, platform.ErrLocked) {
		name := d.fs.Path(path.Join(StateDir, lockFile))
		return nil, &HeldError{Path: name, Holders: platform.Holders(name), Err: err}
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
	d.lock, err = d.fs.Lock(path.Join(StateDir, lockFile))
	if errors.Is(err, fs.ErrPermission) {
		d.log.Debug().Err(err).Msg("another user's install: it is not locked, and not written")
		d.lock, err = io.NopCloser(nil), nil
	}
	if err != nil {
		return err
	}
	if err := d.recover(ctx); err != nil {
		return errors.Join(err, d.letGo())
	}
	return nil
}

// recover is what Open does after it has the lock.
func (d *Dir) recover(ctx context.Context) (err error) {
	if d.journal, err = loadJournal(d.fs, maxJournal); err != nil {
		return err
	}
	if err := d.mark(); err != nil {
		return err
	}
	d.cache = lazyCache(d.fs, d.cfg.Names.Cache)
	steps := []func(context.Context) error{d.settle, d.goOn, d.giveUp, d.restore, d.cleanIfPossible, d.startReading, d.shareBase}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.cfg.Verify = d.cfg.Verify || len(d.journal.lists.Mixed) > 0 // also the module is compared with the offer then
	d.lost, d.vanished = d.vanished, ""                           // it will be fetched again, so it need not be told
	return nil
}

// mark leaves the mark of an open install and notes whether one was there. The mark is synced with the first transaction:
// without one, nothing of ours can be damaged by a power cut.
func (d *Dir) mark() error {
	name := path.Join(StateDir, openFile)
	there, err := d.exists(name)
	if err != nil || there {
		d.unclean = there
		d.cfg.Verify = d.cfg.Verify || there
		return err
	}
	f, err := d.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrPermission) || platform.IsReadOnly(err) || platform.IsDiskFull(err) {
		return nil // a folder that can't be written is not damaged by us either
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// goOn goes on where the journal says that another process stopped.
func (d *Dir) goOn(ctx context.Context) error {
	switch state := d.journal.State; {
	case state == RollingBack:
		return d.goBack(ctx)
	case d.cfg.Names.Program && (state == Prepared || state == Swapped):
		return d.goOnProgram(ctx)
	case state == Prepared:
		return d.swapUnlessUsed(ctx)
	}
	return nil
}

// giveUp takes a set back that was begun again and again without a word.
func (d *Dir) giveUp(ctx context.Context) error {
	if !d.Pending() || !tryOf(d.journal.Tries, d.journal.lists.Is).hopeless() {
		return nil
	}
	return d.unlessStuck(d.rollBack(ctx, blame))
}

// unlessStuck takes the error away from a way back that does not exist: what is live is all that there is.
func (d *Dir) unlessStuck(err error) error {
	if errors.Is(err, ErrNoWayBack) {
		return nil
	}
	return err
}

// exists reports whether anything has this name.
func (d *Dir) exists(name string) (bool, error) {
	_, err := d.fs.Lstat(name)
	if isAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// isAbsent reports whether nothing has a name, also because a file stands where one of its folders should be.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotFolder(err) }

// Close lets go of the install and keeps unfinished parts. The hash cache is saved; failing that costs only time.
func (d *Dir) Close() error {
	err := d.Abandon()
	if saveErr := d.cache.save(d.fs, d.cfg.Names.Cache); saveErr != nil {
		d.log.Warn().Err(saveErr).Msg("hash cache not saved")
	}
	if d.unclean && d.cfg.Verify {
		d.log.Info().Msg("the files were not checked after the unclean end; the next start will")
	} else if removeErr := removeIfThere(d.fs, path.Join(StateDir, openFile)); removeErr != nil {
		d.log.Warn().Err(removeErr).Msg("the next start will take this end for an unclean one")
	}
	return errors.Join(err, d.letGo())
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

// Pending reports whether the live set of this host has not proven itself yet.
func (d *Dir) Pending() bool { return len(d.journal.pending(d.cfg.Names.Library())) > 0 }

// Distrust makes the next Plan hash everything, because something in the set turned out not to work.
func (d *Dir) Distrust() { d.cfg.Verify = true }

// Unclean reports whether the process before this one left the install open: it was killed, or the machine stopped.
func (d *Dir) Unclean() bool { return d.unclean }

// Lost is a file of a prepared set whose bytes were gone when the install was opened; empty for none. They are fetched again. A
// stop of ours never leads to it, because what is prepared is on the disk: somebody took them, or the disk lied.
func (d *Dir) Lost() string { return d.lost }

// Set is the identity of the live set and its number of files; zero where no transaction led to it. The error is a
// *update.Fault.
func (d *Dir) Set() (identity release.Digest, files int, err error) {
	if err := d.loadLists(); err != nil {
		return release.Digest{}, 0, d.fault(err)
	}
	return d.journal.lists.Is, len(d.journal.lists.Set), nil
}

// State is where the newest transaction stands.
func (d *Dir) State() State { return d.journal.State }
