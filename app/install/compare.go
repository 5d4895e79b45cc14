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
	*folder
	trust   Trust
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
	work    transfer
}

// newPlanning filters the offer of a glance by mode. It skips files with unknown roles.
func newPlanning(f *folder, trust Trust, mode update.Mode, g *glance) (*planning, error) {
	p := &planning{
		folder: f, trust: trust, mode: mode, build: g.build, set: g.set, offered: g.files[:0], // in place: the glance is not used again
		work: transfer{fs: f.fs, hash: f.hash},
	}
	if f.names.Program {
		p.work.program = f.names.Library()
	}
	if p.set == nil || g.about != f.journal.mark() {
		p.set = f.journal.lists.set()
	}
	for _, c := range g.files {
		p.packs = p.packs || c.entry.Kind == Pack
		if p.covers(c.entry.Kind) {
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

// covers reports whether the mode covers files of a kind. Every mode covers packs. Modules are replaced only if the server
// requests it or during a verification.
func (p *planning) covers(k Kind) bool {
	return k == Pack || p.mode == update.Binaries || p.hash.verify
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
		case p.set[c.entry.Live].Digest != c.entry.Digest && c.entry.Live != p.names.hostSymbols():
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
		if e.Kind == Pack && p.packs || e.Kind == Companion && p.symbols && belongs(Companion, live, p.names.Library()) {
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
	e := &c.entry
	if c.current && !p.hash.verify {
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
	case e.Live == p.names.hostSymbols():
		return true, nil
	case !info.Mode().IsRegular():
		return false, nil
	}
	digest, held, err := p.hash.digestOf(ctx, *e, info, progress)
	if platform.IsUnreadable(err) {
		p.log.Warn().Err(err).Msg("the disk can't read this file; it is fetched again")
		e.Broken = true
		return false, nil
	}
	if err != nil || digest == e.Digest && info.Size() == e.Size {
		return err == nil, err
	}
	c.salvage, err = p.hash.salvage(ctx, p.fs, *e, info.Size(), held, func(done int64) { progress(e.Live, done, info.Size()) })
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
	return p.fs.Lstat(c.entry.Live)
}

// checkBlocked rejects an offer that needs a folder where a file stands, unless the plan removes that file.
func (p *planning) checkBlocked(folder string) error {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := p.fs.Lstat(folder)
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
	entries, err := p.fs.ReadDir(folder)
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
	e, bound := p.journal.bound()[folder+strings.TrimPrefix(base, PartPrefix)]
	return bound && slices.Contains(e.places(), name) && p.covers(e.Kind)
}

// changes reports whether the plan changes the set, rather than only repairing it.
func (p *planning) changes() bool {
	return len(p.gone) > 0 || slices.ContainsFunc(p.work.items, func(c candidate) bool { return !c.entry.Repair })
}

// recheckGone removes dropped files from the plan that are missing or have other content.
func (p *planning) recheckGone(ctx context.Context) error {
	var gone []entry
	for _, e := range p.gone {
		seen, err := p.hash.content(ctx, e.Live, e.Digest, e.Old)
		if err != nil {
			return err
		}
		if seen == Previous {
			gone = append(gone, e)
		} else {
			delete(p.set, e.Live)
		}
	}
	p.gone = gone
	return nil
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
