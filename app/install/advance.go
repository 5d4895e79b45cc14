package install

import (
	"context"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"

	"collet/netproto/release"
	"collet/platform"
)

// advance runs the steps that lead from PREPARED to the goal, and records SWAPPED when everything is live.
func (d *Dir) advance(ctx context.Context, goal Goal) error {
	if d.journal.State != Prepared {
		return nil
	}
	seen, err := d.look(ctx)
	if err != nil {
		return err
	}
	steps := Next(d.journal, seen, goal)
	if len(steps) == 1 && steps[0].Do == Restart {
		d.log.Warn().Str("file", steps[0].From).Msg("prepared bytes are gone; they will be fetched again")
		if err := d.record(RolledBack, d.journal.Pending); err != nil {
			return err
		}
		return d.restoreMissing()
	}
	if err := d.perform(steps); err != nil {
		return err
	}
	if goal < Swap && d.waitsForSwap() {
		return nil
	}
	if err := d.record(Swapped, d.journal.pendingAfter()); err != nil {
		return err
	}
	d.remember()
	return nil
}

// record moves the transaction on.
func (d *Dir) record(state State, pending []pendingModule) error {
	return d.journal.write(d.fs, record{State: state, Pending: pending})
}

// waitsForSwap reports whether the transaction has files that become live only by a swap.
func (d *Dir) waitsForSwap() bool {
	for _, e := range d.journal.Files {
		if e.Kind != pack {
			return true
		}
	}
	return false
}

// withdraw makes room for another plan. Packs that are prepared go forward, because a set must not stay half; a module
// that is prepared is taken back. One whose swap has begun goes forward too: what a child may have loaded is no longer
// under its live name.
func (d *Dir) withdraw(ctx context.Context) error {
	if err := d.advance(ctx, Stage); err != nil || d.journal.State != Prepared {
		return err
	}
	seen, err := d.look(ctx)
	if err != nil {
		return err
	}
	steps, possible := Withdraw(d.journal, seen)
	if !possible {
		return d.advance(ctx, Swap)
	}
	if err := d.perform(steps); err != nil {
		return err
	}
	return d.record(RolledBack, d.journal.Pending)
}

// look finds out what every name of the transaction holds, as far as it matters.
func (d *Dir) look(ctx context.Context) ([]Seen, error) {
	seen := make([]Seen, len(d.journal.Files))
	for i, e := range d.journal.Files {
		var err error
		if seen[i].Part, err = d.content(ctx, e.part(), e); err != nil {
			return nil, err
		}
		if e.Kind != pack || seen[i].Part != Wanted {
			if seen[i].Live, err = d.content(ctx, e.Live, e); err != nil {
				return nil, err
			}
		}
		if e.Kind != pack {
			if seen[i].Staged, err = d.content(ctx, e.staged(), e); err != nil {
				return nil, err
			}
		}
	}
	return seen, nil
}

// content hashes one name, unless this process hashed exactly these bytes while they arrived. Nothing else is believed:
// this runs only while a transaction is open.
func (d *Dir) content(ctx context.Context, name string, e entry) (Content, error) {
	if d.work.finished(name) {
		return Wanted, nil
	}
	info, err := d.fs.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	if !info.Mode().IsRegular() || e.Digest.IsZero() || (info.Size() != e.Size && e.Old.IsZero()) {
		return Other, nil
	}
	digest, err := d.read(ctx, name, e.Digest.Algorithm, nil)
	switch {
	case err != nil:
		return Absent, err
	case digest == e.Digest && info.Size() == e.Size:
		return Wanted, nil
	case digest == e.Old:
		return Previous, nil
	default:
		return Other, nil
	}
}

// perform does steps in order. Parts that are placed have their folders synced together, before anything else happens:
// ten thousand packs cost one sync of their folder.
func (d *Dir) perform(steps []Step) error {
	placed := map[string]bool{}
	for _, s := range steps {
		d.log.Debug().Str("step", string(s.Do)).Str("from", s.From).Str("to", s.To).Msg("disk")
		if s.Do == Place {
			placed[path.Dir(s.To)] = true
		} else if err := d.syncDirs(placed); err != nil {
			return err
		}
		if err := d.performOne(s); err != nil {
			return err
		}
	}
	return d.syncDirs(placed)
}

func (d *Dir) performOne(s Step) error {
	switch s.Do {
	case Place:
		return d.fs.Rename(s.From, s.To)
	case Move:
		return d.move(s.From, s.To)
	case Replace:
		return d.replace(s.From, s.To)
	case Try:
		if err := d.move(s.From, s.To); err != nil {
			d.log.Warn().Err(err).Str("file", s.To).Msg("companion not updated")
		}
		return nil
	case Drop:
		return d.drop(s.From)
	default:
		return errors.New("install: internal error: step " + string(s.Do))
	}
}

// move renames within one folder and makes it durable.
func (d *Dir) move(from, to string) error {
	if err := d.fs.Rename(from, to); err != nil {
		return err
	}
	return d.fs.SyncDir(path.Dir(to))
}

// replace keeps the old file under .bak. Where the system can exchange two names, the live one is never missing.
func (d *Dir) replace(staged, live string) error {
	err := d.fs.Exchange(staged, live)
	switch {
	case err == nil:
		if err := d.fs.SyncDir(path.Dir(live)); err != nil {
			return err
		}
		return d.move(staged, live+BackupSuffix)
	case errors.Is(err, errors.ErrUnsupported):
		if err := d.move(live, live+BackupSuffix); err != nil {
			return err
		}
		return d.move(staged, live)
	default:
		return err
	}
}

// drop removes a file and makes that durable. One that is not there costs nothing.
func (d *Dir) drop(name string) error {
	if there, err := d.exists(name); err != nil || !there {
		return err
	}
	return errors.Join(d.fs.Remove(name), d.fs.SyncDir(path.Dir(name)))
}

// syncDirs makes the names in folders durable and empties the set.
func (d *Dir) syncDirs(folders map[string]bool) error {
	for folder := range folders {
		if err := d.fs.SyncDir(folder); err != nil {
			return err
		}
	}
	clear(folders)
	return nil
}

// remember puts what a finished transaction verified into the hash cache, so that the next start hashes nothing.
// Companions may have stayed what they were.
//
// The files were renamed a moment ago, so their identities are not settled. Where there is an inode that is accepted: to
// hide a change, somebody would have to write within the tick of our rename and to restore the time of our last write.
func (d *Dir) remember() {
	for _, e := range d.journal.Files {
		info, err := d.fs.Lstat(e.Live)
		if err != nil || e.Kind == companion || info.Size() != e.Size {
			continue
		}
		if id := platform.IdentityOf(info); id.Inode != 0 || settled(id, d.cfg.Now()) {
			d.cache.store(d.fs.Path(e.Live), id, e.Digest)
		}
	}
}

// read hashes a whole file. progress may be nil.
func (d *Dir) read(ctx context.Context, name string, a release.Algorithm, progress func(done int64)) (release.Digest, error) {
	f, err := d.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return release.Digest{}, err
	}
	defer f.Close()
	h := a.NewHash()
	if _, err := d.drain(ctx, h, f, progress); err != nil {
		return release.Digest{}, err
	}
	return a.SumOf(h), nil
}

// readSize is how much is read at once while hashing: large enough that the calls cost nothing, small beside any budget.
const readSize = 256 << 10

// drain hashes what is left of r in constant memory and tells how much it was. It stops soon after ctx ends. progress may
// be nil.
func (d *Dir) drain(ctx context.Context, h hash.Hash, r io.Reader, progress func(done int64)) (done int64, err error) {
	if d.buffer == nil {
		d.buffer = make([]byte, readSize)
	}
	for {
		n, err := r.Read(d.buffer)
		h.Write(d.buffer[:n])
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
