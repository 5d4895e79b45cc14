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

// reserve is what a volume must have left beside the download, in bytes: room for the journal, the cache, the log and
// the system's own comfort.
const reserve = 16 << 20

var _ update.Stage = (*Dir)(nil)

// Plan implements update.Stage. It checks every path, compares the offer with the disk, checks the free space, and
// records what the parts are meant to become. A part that an earlier transaction began for the same digest is kept. A set
// that an earlier Commit left prepared is taken back first, and looked at anew.
//
// An offer that would bring native code by digests that Config.Trust does not take is refused as update.Untrusted before
// anything is fetched.
//
// A set that was taken back after failed starts is not planned again: the plan says that it is held back.
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
	d.vanished, d.held = "", Try{} // what is missing is about to be planned
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
	if known := tryOf(d.journal.Tries, p.build); p.changes() && known.refused() {
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
	d.work = new(p.work) // a copy: the rest of the planning is not kept
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

// loadLists reads what a clean journal left unread. Lists that were damaged since only cost what they would have saved.
func (d *Dir) loadLists() error {
	ok, err := d.journal.load(d.fs)
	if err == nil && !ok {
		d.log.Warn().Msg("the list of the installed set is damaged; the set counts as unknown")
		d.journal.loaded, d.journal.events = true, nil
	}
	return err
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
	file    release.File
	entry   entry
	info    fs.FileInfo // what was seen of the live file a moment ago; nil: nothing, or nobody has looked
	current bool        // it was the offered one then, as the hash cache has it
	offset  int64       // bytes of its part that can be used

	resumed bool           // the part was begun before this plan
	salvage *salvage       // what can be had from the live file; nil where nothing can
	missing []update.Range // what has to be fetched
}

// planning is one comparison of an offer with the disk.
type planning struct {
	dir     *Dir
	mode    update.Mode
	set     map[string]entry // what is live, as far as it came from a release
	offered []candidate      // files that this mode is about
	build   release.Digest   // identity of the offered set, whatever the mode is
	packs   bool             // the offer has packs: those that it lacks were dropped
	symbols bool             // the same for companions
	matched int
	others  []entry // files of the offer that this mode leaves alone
	adopted []entry
	gone    []entry           // what the release has no more, or has below
	spelled map[string]string // names of the set that are spelled anew: the old name's new one
	hides   bool              // the runtime is to be told that not all packs below count
	work    work
}

// newPlanning filters the offer by mode (seed 000, "Init data"; roles that we don't know are skipped).
func (d *Dir) newPlanning(mode update.Mode, offer []release.File) (*planning, error) {
	g := d.sighted(offer)
	d.offered = offer
	p := &planning{dir: d, mode: mode, build: g.build, set: g.set, offered: g.files[:0]} // the list may be long, and the glance is used up
	if p.set == nil || g.about != d.journal.mark() {
		p.set = d.journal.lists.set()
	}
	for _, c := range g.files {
		p.packs = p.packs || c.entry.Kind == pack
		if d.covers(mode, c.entry.Kind) {
			p.symbols = p.symbols || c.entry.Kind == module
			p.offered = append(p.offered, c)
		} else {
			p.others = append(p.others, c.entry)
		}
	}
	// Modules come first: a damaged one is known before the packs are fetched.
	slices.SortStableFunc(p.offered, func(a, b candidate) int { return cmp.Compare(order(a.entry.Kind), order(b.entry.Kind)) })
	return p, p.respell()
}

// order is which kind of file is fetched first.
func order(k kind) int { return slices.Index([]kind{module, companion, pack}, k) }

// covers reports whether a mode is about files of a kind. Packs are part of every set; a module is changed only where the
// server asks for it, or a verification finds it damaged.
func (d *Dir) covers(mode update.Mode, k kind) bool {
	return k == pack || mode == update.Binaries || d.cfg.Verify
}

// counts reports whether a file of a kind makes a mode worth going on: modules in binaries mode, packs otherwise.
func counts(mode update.Mode, k kind) bool {
	return (mode == update.Binaries && k == module) || (mode == update.Resources && k == pack)
}

// compare finds what is missing, what the set has but does not know, and what the release dropped.
func (p *planning) compare(ctx context.Context, progress func(file string, done, size int64)) error {
	if err := p.compareSet(ctx); err != nil {
		return err
	}
	p.foresee(progress)
	var lacking []int // of offered
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
		if e.Kind == pack && p.packs || e.Kind == companion && p.symbols && belongs(companion, live, p.dir.cfg.Names.Library()) {
			p.gone = append(p.gone, entry{Kind: e.Kind, Live: live, Old: e.Digest, OldSize: e.Size})
		}
	}
	return p.recheckGone(ctx)
}

// notOffered are the names of the set that are not offered, in order.
func (p *planning) notOffered() []string {
	known := 0
	for _, c := range p.offered {
		if _, is := p.set[c.entry.Live]; is {
			known++
		}
	}
	if known == len(p.set) {
		return nil // as at nearly every start
	}
	rest := maps.Clone(p.set)
	for _, c := range p.offered {
		delete(rest, c.entry.Live)
	}
	return slices.Sorted(maps.Keys(rest))
}

// compareFile reports whether the live file is already what the offer says, and notes what it would replace.
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
		e.Aside = true // a file stands where its folder will be
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

// lstat looks at an offered file that nobody has seen yet.
func (p *planning) lstat(c *candidate) (fs.FileInfo, error) {
	if c.info != nil {
		return c.info, nil
	}
	return p.dir.fs.Lstat(c.entry.Live)
}

// checkBlocked refuses an offer that needs a folder where a file stands that does not go with it.
func (p *planning) checkBlocked(folder string) error {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := p.dir.fs.Lstat(folder)
		if isAbsent(err) {
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

// goes reports whether a file of the set goes with this plan.
func (p *planning) goes(live string) bool {
	return slices.ContainsFunc(p.gone, func(e entry) bool { return e.Live == live })
}

// checkFolder refuses an offer that needs a file where a folder stands, unless all that is in it goes with the plan.
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

// isOldPart reports whether a file is a part of an earlier transaction: where it lies in the way its file is not offered any
// more, and leftovers removes it.
func (p *planning) isOldPart(name string) bool {
	folder, base := path.Split(name)
	e, bound := p.dir.journal.bound()[folder+strings.TrimPrefix(base, PartPrefix)]
	return bound && slices.Contains(e.places(), name) && p.dir.covers(p.mode, e.Kind)
}

// digestOf returns a live file's digest from the cache or by reading it, then with the sums of its blocks as far as the
// entry goes. info was read before, so a change while it reads shows the next time.
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

// changes reports whether the plan would change the set, and not only mend it.
func (p *planning) changes() bool {
	return len(p.gone) > 0 || slices.ContainsFunc(p.work.items, func(c candidate) bool { return !c.entry.Repair })
}
