package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// reserve is what a volume must have left beside the download, in bytes: room for the journal, the cache, the log and
// the system's own comfort.
const reserve = 16 << 20

var _ update.Stage = (*Dir)(nil)

// Plan implements update.Stage. It checks every path, compares the offer with the disk, checks the free space, and
// records what the parts are meant to become. A part that an earlier transaction began for the same digest is kept. What
// an earlier Commit left prepared goes live first, except a module that waits for Promote: that is looked at anew.
func (d *Dir) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	plan, err := d.plan(ctx, mode, offer, progress)
	return plan, d.fault(err)
}

func (d *Dir) plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	if err := d.Abandon(); err != nil {
		return update.Plan{}, err
	}
	if err := checkOffer(offer); err != nil {
		return update.Plan{}, err
	}
	if err := d.withdraw(ctx); err != nil {
		return update.Plan{}, err
	}
	plan, work := update.Plan{Mode: mode}, &work{}
	for _, c := range d.choose(mode, offer) {
		if counts(mode, c.entry.Kind) {
			plan.Matched++
		}
		current, err := d.compare(ctx, &c.entry, progress)
		if err != nil {
			return update.Plan{}, err
		}
		if !current {
			work.items = append(work.items, c)
		}
	}
	if err := d.prepare(work, mode); err != nil {
		return update.Plan{}, err
	}
	d.work = work
	for _, c := range work.items {
		plan.Wants = append(plan.Wants, update.Want{File: c.file, Offset: c.offset})
		plan.Bytes += c.file.Size
		plan.Resumed += c.offset
	}
	return plan, nil
}

// checkOffer is the border: nothing of an offer reaches the disk before it passed.
func checkOffer(offer []release.File) error {
	if err := release.CheckSet(offer); err != nil {
		return err
	}
	for _, f := range offer {
		switch {
		case f.Size < 0:
			return &release.PathError{Path: f.Path, Reason: fmt.Sprintf("has %d bytes", f.Size)}
		case f.Digest.IsZero():
			return &release.PathError{Path: f.Path, Reason: "has no digest"}
		}
	}
	return nil
}

// candidate is a file of the offer that concerns this install.
type candidate struct {
	file   release.File
	entry  entry
	offset int64 // bytes of its part that can be used
}

// choose filters the offer by mode (seed 000, "Init data"; roles that we don't know are skipped).
func (d *Dir) choose(mode update.Mode, offer []release.File) []candidate {
	var chosen []candidate
	for _, f := range offer {
		e, known := d.cfg.Names.packEntry(f), f.Role == release.Resource
		if f.Role == release.Binary {
			e, known = d.cfg.Names.binaryEntry(f)
		}
		if known && d.covers(mode, e.Kind) {
			chosen = append(chosen, candidate{file: f, entry: e})
		}
	}
	return chosen
}

// covers reports whether a mode is about files of a kind. A verification looks at the module whatever the mode; packs
// belong to another compatibility version while binaries are updated.
func (d *Dir) covers(mode update.Mode, k kind) bool {
	if k == pack {
		return mode == update.Resources
	}
	return mode == update.Binaries || d.cfg.Verify
}

// counts reports whether a file of a kind makes a mode worth going on: modules in binaries mode, packs otherwise.
// Companions don't.
func counts(mode update.Mode, k kind) bool {
	return (mode == update.Binaries && k == module) || (mode == update.Resources && k == pack)
}

// compare reports whether the live file is already what the offer says, and notes what a module would replace.
func (d *Dir) compare(ctx context.Context, e *entry, progress func(file string, done, size int64)) (bool, error) {
	info, err := d.fs.Lstat(e.Live)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		err := errors.New("a folder stands where this file belongs; move it away")
		return false, &fs.PathError{Op: "compare", Path: e.Live, Err: err}
	case e.Live == d.cfg.Names.hostSymbols():
		return true, nil
	case !info.Mode().IsRegular() || (info.Size() != e.Size && e.Kind != module):
		return false, nil
	}
	digest, err := d.digestOf(ctx, e.Live, info, e.Digest.Algorithm, progress)
	if err != nil {
		return false, err
	}
	if e.Kind == module {
		e.Old = digest
	}
	return digest == e.Digest && info.Size() == e.Size, nil
}

// digestOf returns a file's digest from the cache or by reading it. info was read before, so a change while it reads shows
// the next time.
func (d *Dir) digestOf(ctx context.Context, name string, info fs.FileInfo, a release.Algorithm, progress func(file string, done, size int64)) (release.Digest, error) {
	full, id := d.fs.Path(name), platform.IdentityOf(info)
	if digest, found := d.cache.lookup(full, a, id); found && !d.cfg.Verify {
		return digest, nil
	}
	digest, err := d.read(ctx, name, a, func(done int64) { progress(name, done, info.Size()) })
	if err == nil && settled(id, d.cfg.Now()) {
		d.cache.store(full, id, digest)
	}
	return digest, err
}

// prepare finds usable parts, checks the room, makes the folders and begins the transaction. Nothing is written when
// nothing is missing.
func (d *Dir) prepare(w *work, mode update.Mode) (err error) {
	if len(w.items) == 0 {
		return nil
	}
	bound, missing := d.journal.bound(), int64(0)
	for i := range w.items {
		c := &w.items[i]
		if c.offset, err = d.resume(c.entry, bound[c.entry.Live]); err != nil {
			return err
		}
		delete(bound, c.entry.Live)
		missing += min(c.file.Size-c.offset, math.MaxInt64-reserve-missing)
	}
	kept, err := d.leftovers(bound, mode)
	if err != nil {
		return err
	}
	if err := d.checkRoom(missing); err != nil {
		return err
	}
	if err := d.makeFolders(w); err != nil {
		return err
	}
	return d.journal.begin(d.fs, w.entries(), kept)
}

// resume is how many bytes of a part can be used: those of a part that the journal binds to the same digest. Any other
// part is removed, before the journal binds its name anew.
func (d *Dir) resume(e, bound entry) (int64, error) {
	info, err := d.fs.Lstat(e.part())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	same := bound.Digest == e.Digest && bound.Size == e.Size && bound.Kind == e.Kind
	if same && info.Mode().IsRegular() && info.Size() <= e.Size {
		return info.Size(), nil
	}
	return 0, d.remove(e.part())
}

// leftovers are the parts that this plan does not want: those that its mode covers are removed, because the offer no
// longer has them, and those of the other mode stay bound to their digests.
func (d *Dir) leftovers(bound map[string]entry, mode update.Mode) (kept []entry, err error) {
	for _, live := range slices.Sorted(maps.Keys(bound)) {
		e := bound[live]
		there, err := d.exists(e.part())
		if err == nil && there && d.covers(mode, e.Kind) {
			there, err = false, d.remove(e.part())
		}
		if err != nil {
			return nil, err
		}
		if there {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// checkRoom refuses before the first byte. A system that can't tell the free space is believed to have enough.
func (d *Dir) checkRoom(missing int64) error {
	free, err := d.fs.Free()
	if err != nil {
		d.log.Warn().Err(err).Msg("free space unknown")
		return nil
	}
	need := missing + reserve
	if missing == 0 || free >= uint64(need) {
		return nil
	}
	return &update.Fault{Cause: update.DiskFull, Subject: d.fs.Path("."),
		Err: &SpaceError{Volume: d.fs.Path("."), Need: need, Free: int64(min(free, math.MaxInt64))}}
}

// makeFolders makes the folders of the parts and syncs every name on the way to them, with the one of StateDir.
func (d *Dir) makeFolders(w *work) error {
	folders := map[string]bool{}
	for _, c := range w.items {
		folder := path.Dir(c.entry.Live)
		if !folders[folder] {
			if err := d.fs.MkdirAll(folder, 0o755); err != nil {
				return err
			}
		}
		for ; !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	return d.syncDirs(folders)
}
