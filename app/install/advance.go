package install

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"time"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/interrupt"
)

// record writes one record to the journal.
func (d *Dir) record(r record) error { return d.journal.write(d.fs, r) }

// ways is what this install allows for a swap.
func (d *Dir) ways() ways {
	return ways{exchange: !d.twoStep, inherits: d.journal.lists.unproven()}
}

// eachWay performs steps. If names can't be exchanged, it asks next again for steps without exchanges.
func (d *Dir) eachWay(next func() ([]Step, error)) error {
	steps, err := next()
	if err == nil {
		err = d.perform(steps)
	}
	if errors.Is(err, errors.ErrUnsupported) && !d.twoStep {
		d.twoStep = true
		return d.eachWay(next)
	}
	return err
}

// stage moves a prepared set as far as allowed while the old set is in use.
func (d *Dir) stage(ctx context.Context) error {
	seen, err := d.look(ctx)
	if err != nil {
		return err
	}
	steps := Next(d.journal.lists.Files, seen, Stage, d.ways())
	if done, err := d.onLoss(ctx, steps); done || err != nil {
		return err
	}
	return d.perform(steps)
}

// swap makes a prepared set live and records it. It waits until no process uses the old set.
func (d *Dir) swap(ctx context.Context) error {
	if d.journal.State != Prepared {
		return nil
	}
	return d.exclusively(ctx, func() error { return d.swapNow(ctx) })
}

func (d *Dir) swapNow(ctx context.Context) error {
	lost := false
	err := d.eachWay(func() (steps []Step, err error) {
		seen, err := d.look(ctx)
		if err != nil {
			return nil, err
		}
		steps = Next(d.journal.lists.Files, seen, Swap, d.ways())
		if lost, err = d.onLoss(ctx, steps); lost {
			return nil, err
		}
		return steps, err
	})
	if err != nil || lost {
		return err
	}
	files := slices.Concat(d.journal.lists.Files, d.journal.lists.Adopted)
	missed, err := d.missed(ctx)
	if err != nil {
		return err
	}
	tries := with(d.journal.Tries, d.journal.Build, func(t *Try) { t.Swaps++ })
	if !d.journal.changes(missed) {
		tries = d.journal.Tries
	}
	if err := d.record(record{State: Swapped, Tries: tries, Missed: missed}); err != nil {
		return err
	}
	d.remember(files)
	d.log.Info().Stringer("set", d.journal.Build).Int("files", len(files)).Msg("set swapped")
	if len(d.journal.lists.Undo) > 0 {
		return nil
	}
	d.pruneBlocks()
	return d.record(record{State: Confirmed, Dropped: true, Clean: true})
}

// missed lists companions that were not replaced. They are best effort; the set records the files that are really live.
func (d *Dir) missed(ctx context.Context) (names []string, err error) {
	inherits := d.ways().inherits
	for _, e := range d.journal.lists.Files {
		if e.Kind != Companion || e.Repair {
			continue
		}
		seen, err := d.content(ctx, e.Live, e.Digest, e.Old)
		if err == nil && seen == Absent && !e.gone() && !e.Old.IsZero() && !inherits[e.Live] {
			seen, err = d.putBack(ctx, e)
		}
		if platform.IsUnreadable(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(names) < maxNamed && (seen == Previous || seen == Absent && e.Old.IsZero()) {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// putBack restores the backup of a companion. Where names can't be exchanged, the old file is moved away first; the new one
// may then be locked, for example by a virus scanner. putBack returns what is live afterwards.
func (d *Dir) putBack(ctx context.Context, e entry) (Content, error) {
	there, err := d.content(ctx, e.backup(), e.Digest, e.Old)
	if err != nil || there != Previous {
		return Absent, err
	}
	if err := d.perform([]Step{{Place, e.backup(), e.Live, true}}); err != nil {
		return Absent, err
	}
	return d.content(ctx, e.Live, e.Digest, e.Old)
}

// changes reports whether the transaction leads to another set, rather than only repairing this one. Missed companions do
// not count: a companion that is locked at every start must not look like a set that never proves itself.
func (j *Journal) changes(missed []string) bool {
	return slices.ContainsFunc(j.lists.Files, func(e entry) bool { return !e.Repair && !slices.Contains(missed, e.Live) })
}

// onLoss handles Restart and Revert. done reports that no other step remains.
func (d *Dir) onLoss(ctx context.Context, steps []Step) (done bool, err error) {
	if len(steps) != 1 || steps[0].Do != Restart && steps[0].Do != Revert {
		return false, nil
	}
	d.vanished = steps[0].From
	d.log.Warn().Str("file", d.vanished).Msg("prepared bytes are gone, perhaps a virus scanner took them; they will be fetched again")
	if steps[0].Do == Restart {
		return true, d.record(d.withdrawn())
	}
	seen, err := d.look(ctx)
	if err == nil {
		err = d.perform(Found(d.journal.lists.Files, seen, d.ways()))
	}
	if err != nil {
		return false, err
	}
	err = d.rollBackOf(ctx, d.libraryOf(d.journal.lists.Files), d.journal.Build, excuse)
	if errors.Is(err, ErrNoWayBack) {
		r := record{State: RolledBack}
		if r.Stay, err = d.live(ctx, d.journal.lists.Files); err == nil {
			r.Mixed, err = d.astray(ctx, d.journal.lists.Files)
		}
		if err == nil {
			r.Clean = len(d.journal.lists.Undo) == 0 && len(r.Mixed) == 0
			err = d.record(r)
		}
		return true, err
	}
	return true, err
}

// withdrawn is the record that ends a transaction before its swap.
func (d *Dir) withdrawn() record {
	return record{State: RolledBack, Clean: len(d.journal.lists.Undo) == 0 && len(d.journal.lists.Mixed) == 0}
}

// libraryOf is the module of a transaction.
func (d *Dir) libraryOf(files []entry) string {
	if i := slices.IndexFunc(files, func(e entry) bool { return e.Kind == Module }); i >= 0 {
		return files[i].Live
	}
	return d.cfg.Names.Library()
}

// swapUnlessUsed swaps a prepared set. It leaves the set prepared if another process uses the old one and the swap has not
// begun.
func (d *Dir) swapUnlessUsed(ctx context.Context) error {
	alone, err := d.fs.Lock(path.Join(StateDir, ReadersFile))
	if err == nil {
		return d.asSole(alone, func() error { return d.swapNow(ctx) })
	}
	if !errors.Is(err, platform.ErrLocked) {
		return err
	}
	seen, err := d.look(ctx)
	if err != nil || touched(d.journal.lists.Files, seen) {
		return errors.Join(err, d.swap(ctx))
	}
	d.log.Info().Msg("another process uses the old set; the new one waits")
	return nil
}

// exclusively waits until no other process uses the set, and keeps other processes out while f runs.
func (d *Dir) exclusively(ctx context.Context, f func() error) error {
	if d.sole {
		return f()
	}
	shared := d.reading != nil
	if err := d.stopReading(); err != nil {
		return err
	}
	alone, err := d.alone(ctx)
	if err == nil {
		err = d.asSole(alone, f)
	}
	if shared {
		err = errors.Join(err, d.startReading(ctx))
	}
	return err
}

// asSole runs f while this process holds the readers' lock exclusively, and then releases the lock.
func (d *Dir) asSole(alone io.Closer, f func() error) error {
	d.sole = true
	err := f()
	d.sole = false
	return errors.Join(err, alone.Close())
}

// readersPoll is the polling interval of a swap for the readers' lock. The system has no blocking call that can be
// cancelled.
const readersPoll = 200 * time.Millisecond

func (d *Dir) alone(ctx context.Context) (io.Closer, error) {
	for told := false; ; told = true {
		alone, err := d.fs.Lock(path.Join(StateDir, ReadersFile))
		if !errors.Is(err, platform.ErrLocked) {
			return alone, err
		}
		if !told {
			d.log.Info().Msg("the swap waits until nobody uses the old set")
			d.cfg.OnWait()
		}
		if err := interrupt.Sleep(ctx, readersPoll+rand.N(readersPoll/4)); err != nil {
			return nil, err
		}
	}
}

// startReading takes the shared readers' lock, which prevents swaps by other processes.
func (d *Dir) startReading(context.Context) (err error) {
	d.reading, err = d.fs.LockShared(path.Join(StateDir, ReadersFile))
	if errors.Is(err, fs.ErrPermission) {
		d.reading, err = nil, nil // another user's install: its swaps do not wait for this process
	}
	return err
}

func (d *Dir) stopReading() error {
	if d.reading == nil {
		return nil
	}
	err := d.reading.Close()
	d.reading = nil
	return err
}

// withdraw makes room for another plan. A set whose swap has begun goes forward, because it must not stay incomplete. A set
// that is only prepared is withdrawn.
func (d *Dir) withdraw(ctx context.Context) error {
	if d.journal.State != Prepared {
		return nil
	}
	seen, err := d.look(ctx)
	if err != nil {
		return err
	}
	steps, possible := Withdraw(d.journal.lists.Files, seen)
	if !possible {
		return d.swap(ctx)
	}
	if err := d.perform(steps); err != nil {
		return err
	}
	return d.record(d.withdrawn())
}

// look determines the content of every name of the transaction, as far as needed.
func (d *Dir) look(ctx context.Context) ([]Seen, error) {
	files, inherits := d.journal.lists.Files, d.ways().inherits
	seen := make([]Seen, len(files))
	for i, e := range files {
		s := &seen[i]
		places := map[string]*Content{e.Live: &s.Live}
		if !e.gone() {
			places[e.part()] = &s.Part
		}
		if !e.gone() && e.Kind != Pack {
			places[e.staged()] = &s.Staged
		}
		if !inherits[e.Live] && !e.Repair {
			places[e.backup()] = &s.Backup
		}
		for name, content := range places {
			var err error
			*content, err = d.content(ctx, name, e.Digest, e.Old)
			if e.Broken && name == e.Live && platform.IsUnreadable(err) {
				*content, err = Other, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return seen, nil
}

// content classifies one name by its hash. It skips the hashing if this process hashed the same bytes on arrival, or if its
// Plan accepted the digest from the hash cache. It runs only while a transaction is open. Either digest may be zero.
func (d *Dir) content(ctx context.Context, name string, wanted, previous release.Digest) (Content, error) {
	if d.work.finished(name) {
		return Wanted, nil
	}
	info, err := d.fs.Lstat(name)
	switch {
	case IsAbsent(err):
		return Absent, nil
	case err != nil:
		return Absent, err
	case info.IsDir():
		return Folder, nil
	case !info.Mode().IsRegular():
		return Other, nil
	}
	got := d.planned(name, info, cmp.Or(previous.Algorithm, wanted.Algorithm))
	for _, known := range []struct {
		digest  release.Digest
		content Content
	}{{previous, Previous}, {wanted, Wanted}} {
		if known.digest.IsZero() {
			continue
		}
		if got.Algorithm != known.digest.Algorithm {
			if got, err = d.read(ctx, name, known.digest.Algorithm, nil); err != nil {
				return Other, err
			}
		}
		if got == known.digest {
			return known.content, nil
		}
	}
	return Other, nil
}

// read hashes a whole file. progress may be nil.
func (d *Dir) read(ctx context.Context, name string, a release.Algorithm, progress func(done int64)) (release.Digest, error) {
	h := a.NewHash()
	if err := d.readFrom(ctx, d.fs, name, h, progress); err != nil {
		return release.Digest{}, err
	}
	return a.SumOf(h), nil
}

// readFrom writes a whole file to h.
func (d *Dir) readFrom(ctx context.Context, from platform.FS, name string, h io.Writer, progress func(done int64)) error {
	f, err := from.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = d.drain(ctx, h, f, progress)
	return err
}

// readSize is the size of a read while hashing: large enough that system calls cost nothing, small compared to the memory
// budget.
const readSize = 256 << 10

// drain hashes the rest of r in constant memory and returns its size. It stops soon after ctx ends. progress may be nil.
func (d *Dir) drain(ctx context.Context, h io.Writer, r io.Reader, progress func(done int64)) (done int64, err error) {
	if d.buffer == nil {
		d.buffer = make([]byte, readSize)
	}
	for {
		n, err := r.Read(d.buffer)
		_, _ = h.Write(d.buffer[:n]) // Hash.Write never fails
		done += int64(n)
		if progress != nil {
			progress(done)
		}
		if err == io.EOF {
			return done, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return done, err
		}
	}
}
