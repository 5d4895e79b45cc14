package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// Reserve is the free space in bytes that an update leaves on the volume for the journal, the cache, the log and the
// system.
const Reserve = 16 << 20

var _ update.Stage = (*Dir)(nil)

// Plan implements update.Stage. It checks every path, compares the offer with the disk, checks the free space, and records
// the intended content of the parts. A part that an earlier transaction began for the same digest is kept. A set that an
// earlier Commit left prepared is withdrawn first and compared again.
//
// Native code whose digests Config.Trust does not accept is rejected as update.Untrusted before anything is fetched.
//
// A set that was rolled back after failed starts is not planned again: the plan reports it as held back.
func (d *Dir) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	plan, err := d.plan(ctx, mode, offer, progress)
	return plan, d.fault(err)
}

func (d *Dir) plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(file string, done, size int64)) (update.Plan, error) {
	if err := d.Abandon(); err != nil {
		return update.Plan{}, err
	}
	if !d.glanced.isAbout(offer) {
		if err := checkOffer(offer); err != nil {
			return update.Plan{}, err
		}
	}
	if err := d.withdraw(ctx); err != nil {
		return update.Plan{}, err
	}
	d.vanished, d.held = "", Try{} // missing files are about to be planned
	if err := d.loadLists(); err != nil {
		return update.Plan{}, err
	}
	p, err := d.newPlanning(mode, offer)
	if err != nil {
		return update.Plan{}, err
	}
	if err := p.compare(ctx, progress); err != nil {
		return update.Plan{}, err
	}
	if known := tryOf(d.journal.Tries, p.build); p.changes() && known.Refused() {
		d.held = known
		d.log.Warn().Stringer("set", p.build).Msg("this set was taken back after failed starts; it is held back")
		return update.Plan{Mode: mode, Matched: p.matched, HeldBack: true}, nil
	}
	if err := p.checkNative(); err != nil {
		return update.Plan{}, err
	}
	p.lookBelow()
	if err := p.prepare(ctx); err != nil {
		return update.Plan{}, err
	}
	d.work = new(p.work) // a copy, so that the rest of the planning can be freed
	plan := update.Plan{Mode: mode, Matched: p.matched}
	for _, c := range p.work.items {
		want := update.Want{File: c.file, Missing: c.missing}
		plan.Wants = append(plan.Wants, want)
		plan.Bytes += c.file.Size
		plan.Resumed += want.Have()
	}
	plan.Damage = p.damage()
	return plan, nil
}

// loadLists reads the lists that a clean journal left unread. Lists that were damaged since then only cost the time they
// would have saved.
func (d *Dir) loadLists() error {
	ok, err := d.journal.load(d.fs)
	if err == nil && !ok {
		d.log.Warn().Msg("the list of the installed set is damaged; the set counts as unknown")
		d.journal.loaded, d.journal.events = true, nil
	}
	return err
}

// checkOffer validates an offer; no part of it reaches the disk before.
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

// candidate is an offered file that belongs to this install.
type candidate struct {
	file    release.File
	entry   entry
	info    fs.FileInfo // the live file shortly before; nil: missing, or not examined yet
	current bool        // the hash cache had the offered digest for it then
	offset  int64       // usable bytes of its part

	resumed bool           // the part was begun before this plan
	salvage *salvage       // intact blocks of the live file; nil without any
	missing []update.Range // ranges to fetch
}

// planning is one comparison of an offer with the disk.
type planning struct {
	dir     *Dir
	mode    update.Mode
	set     map[string]entry // live files that came from a release
	offered []candidate      // files covered by this mode
	build   release.Digest   // identity of the offered set, in every mode
	packs   bool             // the offer has packs: packs that it lacks were dropped
	symbols bool             // the same for companions
	matched int
	others  []entry // offered files that this mode does not cover
	adopted []entry
	gone    []entry           // files that the release has dropped, or that the base has
	spelled map[string]string // respelled names of the set: old name to new name
	hides   bool              // the runtime needs a list of the valid packs of the base
	work    work
}

// newPlanning filters the offer by mode. It skips files with unknown roles.
func (d *Dir) newPlanning(mode update.Mode, offer []release.File) (*planning, error) {
	g := d.sighted(offer)
	d.offered = offer
	p := &planning{dir: d, mode: mode, build: g.build, set: g.set, offered: g.files[:0]} // in place: the glance is not used again
	if p.set == nil || g.about != d.journal.mark() {
		p.set = d.journal.lists.set()
	}
	for _, c := range g.files {
		p.packs = p.packs || c.entry.Kind == Pack
		if d.covers(mode, c.entry.Kind) {
			p.symbols = p.symbols || c.entry.Kind == Module
			p.offered = append(p.offered, c)
		} else {
			p.others = append(p.others, c.entry)
		}
	}
	// Modules come first: damage of a module then shows before the packs are fetched.
	slices.SortStableFunc(p.offered, func(a, b candidate) int { return cmp.Compare(order(a.entry.Kind), order(b.entry.Kind)) })
	return p, p.respell()
}

// order is the position of a kind in the order of fetching.
func order(k Kind) int { return slices.Index([]Kind{Module, Companion, Pack}, k) }

// covers reports whether a mode covers files of a kind. Every mode covers packs. Modules are replaced only if the server
// requests it or during a verification.
func (d *Dir) covers(mode update.Mode, k Kind) bool {
	return k == Pack || mode == update.Binaries || d.cfg.Verify
}

// counts reports whether a file of a kind is a subject of the mode: modules in binaries mode, packs in resources mode.
func counts(mode update.Mode, k Kind) bool {
	return (mode == update.Binaries && k == Module) || (mode == update.Resources && k == Pack)
}

// compare finds missing files, live files that the set does not record, and files that the release has dropped.
func (p *planning) compare(ctx context.Context, progress func(file string, done, size int64)) error {
	if err := p.compareSet(ctx); err != nil {
		return err
	}
	p.foresee(progress)
	var lacking []int // indexes in offered
	for i := range p.offered {
		c := &p.offered[i]
		if counts(p.mode, c.entry.Kind) {
			p.matched++
		}
		current, err := p.compareFile(ctx, c, progress)
		below := false
		if err == nil && !current {
			below, err = p.compareBase(ctx, c.entry, progress)
		}
		if err == nil && !current && !below {
			err = p.salvageBase(ctx, c, progress)
		}
		switch {
		case err != nil:
			return err
		case below:
		case !current:
			lacking = append(lacking, i)
		case p.set[c.entry.Live].Digest != c.entry.Digest && c.entry.Live != p.dir.cfg.Names.hostSymbols():
			p.adopted = append(p.adopted, c.entry)
		}
	}
	p.work.items = slices.Grow(p.work.items, len(lacking))
	for _, i := range lacking {
		p.work.items = append(p.work.items, p.offered[i])
	}
	return nil
}

// compareSet finds files of the set that the offer lacks.
func (p *planning) compareSet(ctx context.Context) error {
	for _, live := range p.notOffered() {
		e := p.set[live]
		if e.Kind == Pack && p.packs || e.Kind == Companion && p.symbols && belongs(Companion, live, p.dir.cfg.Names.Library()) {
			p.gone = append(p.gone, entry{Kind: e.Kind, Live: live, Old: e.Digest, OldSize: e.Size})
		}
	}
	return p.recheckGone(ctx)
}

// notOffered are the names of the set that are not offered, sorted.
func (p *planning) notOffered() []string {
	known := 0
	for _, c := range p.offered {
		if _, is := p.set[c.entry.Live]; is {
			known++
		}
	}
	if known == len(p.set) {
		return nil // the usual case
	}
	rest := maps.Clone(p.set)
	for _, c := range p.offered {
		delete(rest, c.entry.Live)
	}
	return slices.Sorted(maps.Keys(rest))
}

// compareFile reports whether the live file is the offered one, and records the file it would replace.
func (p *planning) compareFile(ctx context.Context, c *candidate, progress func(file string, done, size int64)) (bool, error) {
	d, e := p.dir, &c.entry
	if c.current && !d.cfg.Verify {
		return true, nil
	}
	known, ours := p.set[e.Live]
	e.Repair = ours && known.Digest == e.Digest
	info, err := p.lstat(c)
	switch {
	case isNotFolder(err):
		e.Aside = true // a file occupies the name of its folder
		return false, p.checkBlocked(path.Dir(e.Live))
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return false, p.checkFolder(e.Live)
	case e.Live == d.cfg.Names.hostSymbols():
		return true, nil
	case !info.Mode().IsRegular():
		return false, nil
	}
	digest, held, err := d.digestOf(ctx, *e, info, progress)
	if platform.IsUnreadable(err) {
		d.log.Warn().Err(err).Msg("the disk can't read this file; it is fetched again")
		e.Broken = true
		return false, nil
	}
	if err != nil || digest == e.Digest && info.Size() == e.Size {
		return err == nil, err
	}
	c.salvage, err = d.salvage(ctx, d.fs, *e, info.Size(), held, func(done int64) { progress(e.Live, done, info.Size()) })
	if err != nil {
		return false, err
	}
	if !e.Repair {
		e.Old, e.OldSize, e.Foreign = digest, info.Size(), !ours && len(p.set) > 0
	}
	return false, nil
}

// lstat examines the live file of a candidate, unless that was done before.
func (p *planning) lstat(c *candidate) (fs.FileInfo, error) {
	if c.info != nil {
		return c.info, nil
	}
	return p.dir.fs.Lstat(c.entry.Live)
}

// checkBlocked rejects an offer that needs a folder where a file stands, unless the plan removes that file.
func (p *planning) checkBlocked(folder string) error {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := p.dir.fs.Lstat(folder)
		if IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() && !p.goes(folder) {
			return &fs.PathError{Op: "compare", Path: folder, Err: errFileInTheWay}
		}
		return nil
	}
	return nil
}

var errFileInTheWay = errors.New("a file stands where a folder of the game belongs; move it away")

// goes reports whether the plan removes a file of the set.
func (p *planning) goes(live string) bool {
	return slices.ContainsFunc(p.gone, func(e entry) bool { return e.Live == live })
}

// checkFolder rejects an offer that needs a file where a folder stands, unless the plan removes everything in the folder.
func (p *planning) checkFolder(folder string) error {
	entries, err := p.dir.fs.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			err = p.checkFolder(name)
		} else if !p.goes(name) && !p.isOldPart(name) {
			err = &fs.PathError{Op: "compare", Path: name, Err: errNotEmpty}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOldPart reports whether a file is a part of an earlier transaction. If it is in the way, its file is no longer offered,
// and leftovers removes it.
func (p *planning) isOldPart(name string) bool {
	folder, base := path.Split(name)
	e, bound := p.dir.journal.bound()[folder+strings.TrimPrefix(base, PartPrefix)]
	return bound && slices.Contains(e.places(), name) && p.dir.covers(p.mode, e.Kind)
}

// digestOf returns a live file's digest, from the cache or by reading it. A read also returns the checksums of the blocks,
// up to the entry's size. info was taken before the read, so a change during the read shows at the next start.
func (d *Dir) digestOf(ctx context.Context, e entry, info fs.FileInfo, progress func(file string, done, size int64)) (release.Digest, blockSums, error) {
	full, id := d.fs.Path(e.Live), platform.IdentityOf(info)
	if digest, found := d.cache.lookup(full, e.Digest.Algorithm, id); found && !d.cfg.Verify {
		return digest, nil, nil
	}
	digest, held, err := d.readBlocks(ctx, d.fs, e, func(done int64) { progress(e.Live, done, info.Size()) })
	if err == nil && settled(id, d.cfg.Now()) {
		d.cache.store(full, id, digest)
	}
	return digest, held, err
}

// changes reports whether the plan changes the set, rather than only repairing it.
func (p *planning) changes() bool {
	return len(p.gone) > 0 || slices.ContainsFunc(p.work.items, func(c candidate) bool { return !c.entry.Repair })
}
