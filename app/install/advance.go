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

// record writes one record.
func (d *Dir) record(r record) error { return d.journal.write(d.fs, r) }

// ways is what this install offers for a swap.
func (d *Dir) ways() ways {
	return ways{exchange: !d.twoStep, inherits: d.journal.lists.unproven()}
}

// eachWay performs steps; where it turns out that names can't be exchanged it asks for others.
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

// stage brings what is prepared as far as it may go while the old set is in use.
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

// swap makes a prepared set live and records it. It waits for the last user of the old one.
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

// missed lists companions that are what they were: they are best effort, and the set is what is really there.
func (d *Dir) missed(ctx context.Context) (names []string, err error) {
	inherits := d.ways().inherits
	for _, e := range d.journal.lists.Files {
		if e.Kind != companion || e.Repair {
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

// putBack brings back what a companion was. Where names can't be exchanged the old one leaves first, and then the new one
// may be held, as by a virus scanner. It tells what is live then.
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

// changes reports whether the transaction leads to another set, and does not only mend this one. What was missed changes
// nothing: a companion that is held at every start must not look like a set that never proves itself.
func (j *Journal) changes(missed []string) bool {
	return slices.ContainsFunc(j.lists.Files, func(e entry) bool { return !e.Repair && !slices.Contains(missed, e.Live) })
}

// onLoss handles steps that say that prepared bytes are gone. done tells that there is nothing else to perform.
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

// withdrawn is the end of a transaction that did not happen.
func (d *Dir) withdrawn() record {
	return record{State: RolledBack, Clean: len(d.journal.lists.Undo) == 0 && len(d.journal.lists.Mixed) == 0}
}

// libraryOf is the module that a transaction is about.
func (d *Dir) libraryOf(files []entry) string {
	if i := slices.IndexFunc(files, func(e entry) bool { return e.Kind == module }); i >= 0 {
		return files[i].Live
	}
	return d.cfg.Names.Library()
}

// swapUnlessUsed swaps, or leaves a set that nothing has touched yet prepared while another process uses the old one.
func (d *Dir) swapUnlessUsed(ctx context.Context) error {
	alone, err := d.fs.Lock(path.Join(StateDir, readersFile))
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

// exclusively waits until nobody else uses the set, and keeps everybody out while f runs.
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

// asSole runs f while this process alone has the readers' lock, and lets go of it.
func (d *Dir) asSole(alone io.Closer, f func() error) error {
	d.sole = true
	err := f()
	d.sole = false
	return errors.Join(err, alone.Close())
}

// readersPoll is how often a swap looks whether the last user of the set is gone; the system has no call that waits and can
// be cancelled.
const readersPoll = 200 * time.Millisecond

func (d *Dir) alone(ctx context.Context) (io.Closer, error) {
	for told := false; ; told = true {
		alone, err := d.fs.Lock(path.Join(StateDir, readersFile))
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

// startReading takes our share of the readers' lock, which keeps the set as it is.
func (d *Dir) startReading(context.Context) (err error) {
	d.reading, err = d.fs.LockShared(path.Join(StateDir, readersFile))
	if errors.Is(err, fs.ErrPermission) {
		d.reading, err = nil, nil // another user's install: his swaps don't wait for us
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

// withdraw makes room for another plan. A set whose swap has begun goes forward, because it must not stay half; one that
// is only prepared is taken back.
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

// look finds out what every name of the transaction holds, as far as it matters.
func (d *Dir) look(ctx context.Context) ([]Seen, error) {
	files, inherits := d.journal.lists.Files, d.ways().inherits
	seen := make([]Seen, len(files))
	for i, e := range files {
		s := &seen[i]
		places := map[string]*Content{e.Live: &s.Live}
		if !e.gone() {
			places[e.part()] = &s.Part
		}
		if !e.gone() && e.Kind != pack {
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

// content hashes one name, unless this process hashed exactly these bytes while they arrived, or believed the hash cache when
// it planned. Nothing else is believed: this runs only while a transaction is open. Either digest may be zero.
func (d *Dir) content(ctx context.Context, name string, wanted, previous release.Digest) (Content, error) {
	if d.work.finished(name) {
		return Wanted, nil
	}
	info, err := d.fs.Lstat(name)
	switch {
	case isAbsent(err):
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

// readFrom has a whole file hashed.
func (d *Dir) readFrom(ctx context.Context, from platform.FS, name string, h io.Writer, progress func(done int64)) error {
	f, err := from.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = d.drain(ctx, h, f, progress)
	return err
}

// readSize is how much is read at once while hashing: large enough that the calls cost nothing, small beside any budget.
const readSize = 256 << 10

// drain hashes what is left of r in constant memory and tells how much it was. It stops soon after ctx ends. progress may
// be nil.
func (d *Dir) drain(ctx context.Context, h io.Writer, r io.Reader, progress func(done int64)) (done int64, err error) {
	if d.buffer == nil {
		d.buffer = make([]byte, readSize)
	}
	for {
		n, err := r.Read(d.buffer)
		_, _ = h.Write(d.buffer[:n]) // no hash ever fails
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
