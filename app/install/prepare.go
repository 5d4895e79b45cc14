package install

import (
	"context"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"collet/app/diskfault"
	"collet/platform"
)

// preparation turns a plan into a transaction: it finds usable parts, makes folders and writes the journal.
type preparation struct {
	*planning
	move    *mover
	unclean bool // the previous process did not close the install
}

// prepare finds usable parts, checks the free space, makes the folders and begins the transaction. It writes nothing if no
// file is missing or dropped, unless the journal is wrong about the live files.
func (p *preparation) prepare(ctx context.Context) (err error) {
	w := &p.work
	if len(w.items) == 0 && len(p.gone) == 0 && !p.hides && !p.journalIsWrong() && len(p.journal.lists.Mixed) == 0 {
		return nil
	}
	bound, missing := p.journal.bound(), int64(0)
	for i := range w.items {
		c := &w.items[i]
		if c.offset, err = p.resume(ctx, c.entry, bound[c.entry.Live]); err != nil {
			return err
		}
		c.missing, c.resumed = c.lacks(), c.offset > 0
		delete(bound, c.entry.Live)
		missing += min(c.file.Size-c.offset, math.MaxInt64-diskfault.Reserve-missing)
	}
	kept, err := p.removeObsoleteParts(bound)
	if err != nil {
		return err
	}
	if err := p.checkRoom(missing); err != nil {
		return err
	}
	if err := makeFolders(p.fs, w); err != nil {
		return err
	}
	if err := p.writePacks(); err != nil {
		return err
	}
	if err := p.adoptOthers(ctx); err != nil {
		return err
	}
	w.begun = true
	next := lists{
		Is: p.journal.lists.Is, Was: p.journal.lists.Was, Undo: p.respelledUndo(),
		Adopted: p.adopted, Files: slices.Concat(p.gone, w.entries()), Parts: kept,
		Mixed: p.journal.lists.Mixed, WasMixed: p.journal.lists.WasMixed,
	}
	next.replaceSet(p.set)
	return p.journal.beginTransaction(p.fs, p.build, next)
}

// journalIsWrong reports whether the journal's set has another file than the live one, which is the offered one. The journal has
// then lost an update, for example because of a damaged slot, and would restore files of an outdated set.
func (p *preparation) journalIsWrong() bool {
	return slices.ContainsFunc(p.adopted, func(e entry) bool { return !p.set[e.Live].Digest.IsZero() })
}

// adoptOthers also adds the live module to the set if it is the offered one. A later start can then distinguish a damaged
// module from a new build that does not work.
func (p *preparation) adoptOthers(ctx context.Context) error {
	for _, e := range p.others {
		info, err := p.fs.Lstat(e.Live)
		if IsAbsent(err) || err == nil && (!info.Mode().IsRegular() || info.Size() != e.Size) || p.set[e.Live].Digest == e.Digest {
			continue
		}
		if err != nil {
			return err
		}
		digest, _, err := p.hash.digestOf(ctx, e, info, func(string, int64, int64) {})
		if err != nil {
			return err
		}
		if digest == e.Digest {
			p.adopted = append(p.adopted, e)
		}
	}
	return nil
}

// resume returns the number of usable bytes of a part: those of a part that the journal binds to the same digest. It
// removes any other part before the journal binds its name again.
func (p *preparation) resume(ctx context.Context, e, bound entry) (int64, error) {
	if err := p.move.removeObstacles(newBatch(""), e.part()); err != nil {
		return 0, err
	}
	same := bound.Digest == e.Digest && bound.Size == e.Size && bound.Kind == e.Kind
	if old := bound.part(); !same && bound.Live != "" && old != e.part() {
		if err := p.removePart(old); err != nil {
			return 0, err
		}
	}
	if same && bound.Aside != e.Aside {
		if err := p.move.perform([]Step{{Do: Place, From: bound.part(), To: e.part()}}); err != nil && !IsAbsent(err) {
			return 0, err
		}
	}
	info, err := p.fs.Lstat(e.part())
	if IsAbsent(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if same && info.Mode().IsRegular() && info.Size() <= e.Size {
		if keep, err := p.isWorthKeeping(ctx, e, info.Size()); err != nil || keep {
			return info.Size(), err
		}
	}
	return 0, platform.RemoveIfThere(p.fs, e.part())
}

// isWorthKeeping reports whether a part is worth keeping after an unclean end. All but large parts are synced only with the whole set, so a
// power cut may have damaged them. A complete one must match its digest. The bytes of an incomplete one are believed until it is complete,
// but a small one is fetched again.
func (p *preparation) isWorthKeeping(ctx context.Context, e entry, size int64) (bool, error) {
	if !p.unclean || e.Size >= syncAlone || size == 0 {
		return true, nil
	}
	if size < e.Size {
		return e.Size >= keptUnclean, nil
	}
	got, err := p.hash.digestFile(ctx, e.part(), e.Digest.Algorithm, nil)
	return got == e.Digest, err
}

// keptUnclean is the size in bytes from which an incomplete part is kept after an unclean end.
const keptUnclean = 1 << 20

// removePart removes a part that is no longer needed. In the aside place an earlier set may have left a folder under its
// name; that folder contains only parts and is removed too.
func (p *preparation) removePart(name string) error {
	info, err := p.fs.Lstat(name)
	switch {
	case IsAbsent(err):
		return nil
	case err != nil:
		return err
	case info.IsDir() && strings.HasPrefix(name, path.Join(StateDir, partsDir)+"/"):
		return p.move.removeObstacles(newBatch(""), name)
	default:
		return p.fs.Remove(name)
	}
}

// removeObsoleteParts handles the parts that are not in this plan. It removes those that the mode covers, because the offer no longer
// has them. It returns those of the other mode, which stay bound to their digests.
func (p *preparation) removeObsoleteParts(bound map[string]entry) (kept []entry, err error) {
	folders := map[string]bool{}
	for _, live := range slices.Sorted(maps.Keys(bound)) {
		e := bound[live]
		if !p.covers(e.Kind) {
			there, err := exists(p.fs, e.part())
			if err != nil {
				return nil, err
			}
			if there {
				kept = append(kept, e)
			}
			continue
		}
		for _, part := range e.places() {
			there, err := exists(p.fs, part)
			if err == nil && there {
				folders[path.Dir(part)], err = true, p.removePart(part)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return kept, syncDirs(p.fs, folders) // a removed part must not reappear in place of a file of the new set
}

// checkRoom fails before the first byte if the space is too small. If the free space is unknown it assumes enough.
func (p *preparation) checkRoom(missing int64) error {
	free, err := p.fs.Free()
	if err != nil {
		p.log.Warn().Err(err).Msg("free space unknown")
		return nil
	}
	need := missing + diskfault.Reserve
	if missing == 0 || free >= uint64(need) {
		return nil
	}
	return diskfault.Full(p.fs, need, nil)
}

// makeFolders creates the folders of the parts and syncs every folder on the way to them and the parent of StateDir.
func makeFolders(fsys platform.FS, w *transfer) error {
	folders := map[string]bool{".": true}
	for _, c := range w.items {
		folder := path.Dir(c.entry.part())
		if !folders[folder] {
			if err := fsys.MkdirAll(folder, 0o755); err != nil {
				return err
			}
		}
		for ; !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	return syncDirs(fsys, folders)
}

// respelledUndo are the journal's undos under the new spellings.
func (p *preparation) respelledUndo() []undo {
	list := slices.Clone(p.journal.lists.Undo)
	for i, u := range list {
		if name, changed := p.spelled[u.Live]; changed {
			list[i].Live = name
		}
	}
	return list
}

// writePacks writes the file of the offered set before a transaction leads to it, and removes the files of sets that can't
// return. The start of the transaction syncs the name of their folder.
func (p *preparation) writePacks() error {
	if p.base == nil || !p.packs {
		return nil
	}
	folder := path.Join(StateDir, packsDir)
	if err := p.fs.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := platform.WriteFile(p.fs, packsName(p.build), p.packNames()); err != nil {
		return err
	}
	entries, err := p.fs.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if slices.Contains([]string{packsName(p.build), packsName(p.journal.lists.Is), packsName(p.journal.lists.Was)}, name) {
			continue
		}
		if err := platform.RemoveIfThere(p.fs, name); err != nil {
			p.log.Warn().Err(err).Msg("list of an old set not removed")
		}
	}
	return nil
}
