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
// processes.
type Dir struct {
	cfg     Config
	fs      platform.FS
	log     zerolog.Logger
	lock    io.Closer
	reading io.Closer // this process's shared readers' lock; nil during a swap
	sole    bool      // this process holds the readers' lock exclusively
	shared  io.Closer // this process's shared readers' lock of the base; nil if the base has none
	journal Journal
	cache   *hashCache
	blocks  blockStore
	work    *work          // the result of the last Plan; nil before
	offered []release.File // the offer of the last Plan, not modified; nil before
	buffer  []byte         // for hashing; allocated on first use
	glanced *glance        // the result of Glance, until the next Plan; may be nil
	unclean bool           // the previous process did not close the install
	twoStep bool           // names can't be exchanged here

	lost     string // a file of a prepared set whose bytes Open found missing; may be empty
	vanished string // a file found missing during the last swap; may be empty
	held     Try    // the set that the last Plan held back
}

// Open locks the install, reads the journal and finishes the work of an earlier process. That includes the swap of a
// prepared set, unless another process still uses the old one. If another process holds the install, errors.Is(err,
// platform.ErrLocked) holds and the error is a *HeldError that names it. A user without write permission can't lock the
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
	d := &Dir{cfg: cfg, fs: cfg.FS, log: cfg.Log}
	err := d.open(ctx)
	if errors.Is(err, platform.ErrLocked) {
		name := d.fs.Path(path.Join(StateDir, LockFile))
		return nil, &HeldError{Path: name, Holders: platform.Holders(name), Err: err}
	}
	if err != nil {
		return nil, d.fault(err)
	}
	return d, nil
}

func (d *Dir) open(ctx context.Context) (err error) {
	if d.cfg.Names, err = d.cfg.Names.Checked(); err != nil {
		return err
	}
	if err := d.fs.MkdirAll(StateDir, 0o755); err != nil {
		return err
	}
	d.lock, err = d.fs.Lock(path.Join(StateDir, LockFile))
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

// recover is the part of Open after the lock is taken.
func (d *Dir) recover(ctx context.Context) (err error) {
	if d.journal, err = loadJournal(d.fs, maxJournal); err != nil {
		return err
	}
	if err := d.mark(); err != nil {
		return err
	}
	d.cache = lazyCache(d.fs, d.cfg.Names.Cache)
	d.blocks = newBlockStore(d.fs, d.cfg.Names.Cache, d.log)
	steps := []func(context.Context) error{d.settle, d.goOn, d.giveUp, d.restore, d.cleanIfPossible, d.startReading, d.shareBase}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.cfg.Verify = d.cfg.Verify || len(d.journal.lists.Mixed) > 0 // the module is then compared with the offer, too
	d.lost, d.vanished = d.vanished, ""                           // the file will be fetched again, so it need not be reported
	return nil
}

// mark creates the file that marks an open install, and records whether it already existed. The first transaction syncs it:
// without a transaction a power cut can't damage files of the install.
func (d *Dir) mark() error {
	name := path.Join(StateDir, OpenFile)
	there, err := exists(d.fs, name)
	if err != nil || there {
		d.unclean = there
		d.cfg.Verify = d.cfg.Verify || there
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

// goOn continues the transaction of an earlier process.
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

// giveUp rolls a set back after too many starts without a result.
func (d *Dir) giveUp(ctx context.Context) error {
	if !d.Pending() || !tryOf(d.journal.Tries, d.journal.lists.Is).hopeless() {
		return nil
	}
	return unlessStuck(d.rollBack(ctx, blame))
}

// unlessStuck ignores ErrNoWayBack: without a backup the live set stays.
func unlessStuck(err error) error {
	if errors.Is(err, ErrNoWayBack) {
		return nil
	}
	return err
}

// exists reports whether the name exists.
func exists(fsys platform.FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if IsAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// IsAbsent reports whether err means that a name does not exist, also because one of its folders is a file.
func IsAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotFolder(err) }

// Close releases the install and keeps unfinished parts. It saves the hash cache; a failure to do so only costs time.
func (d *Dir) Close() error {
	err := d.Abandon()
	if saveErr := d.cache.save(d.fs, d.cfg.Names.Cache); saveErr != nil {
		d.log.Warn().Err(saveErr).Msg("hash cache not saved")
	}
	if d.unclean && d.cfg.Verify {
		d.log.Info().Msg("the files were not checked after the unclean end; the next start will")
	} else if removeErr := removeIfThere(d.fs, path.Join(StateDir, OpenFile)); removeErr != nil {
		d.log.Warn().Err(removeErr).Msg("the next start will take this end for an unclean one")
	}
	return errors.Join(err, d.letGo())
}

// Library is the absolute path of the live module, which may not exist.
func (d *Dir) Library() string { return d.fs.Path(d.cfg.Names.Library()) }

// Packs is the absolute path of the folder of the packs.
func (d *Dir) Packs() string { return d.fs.Path(d.cfg.Names.Resources) }

// HasLibrary reports whether the live module exists.
func (d *Dir) HasLibrary() bool {
	there, err := exists(d.fs, d.cfg.Names.Library())
	return there && err == nil
}

// Pending reports whether the live set of this host is unproven.
func (d *Dir) Pending() bool { return len(d.journal.pending(d.cfg.Names.Library())) > 0 }

// Distrust makes the next Plan hash everything, after a file of the set turned out not to work.
func (d *Dir) Distrust() { d.cfg.Verify = true }

// Unclean reports whether the previous process left the install open: it was killed, or the machine stopped.
func (d *Dir) Unclean() bool { return d.unclean }

// Lost is a file of a prepared set whose bytes were missing when the install was opened; otherwise empty. The file is
// fetched again. A stop of this program is never the reason, because prepared files are synced: another program removed
// them, or the disk failed.
func (d *Dir) Lost() string { return d.lost }

// Set is the identity of the live set and its number of files; zero without a transaction. The error is a *update.Fault.
func (d *Dir) Set() (identity release.Digest, files int, err error) {
	if err := d.loadLists(); err != nil {
		return release.Digest{}, 0, d.fault(err)
	}
	return d.journal.lists.Is, len(d.journal.lists.Set), nil
}

// State is the state of the newest transaction.
func (d *Dir) State() State { return d.journal.State }
