package install

import (
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

// compare finds missing files, live files that the set does not record, and files that the release has dropped.
func (p *planning) compare(ctx context.Context, progress func(file string, done, size int64)) error {
	if err := p.compareSet(ctx); err != nil {
		return err
	}
	p.announceTotal(progress)
	var lacking []int // indexes in offered
	for i := range p.offered {
		c := &p.offered[i]
		if isSubject(p.mode, c.entry.Kind) {
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
	digest, actual, err := p.hash.digestOf(ctx, *e, info, progress)
	if platform.IsUnreadable(err) {
		p.log.Warn().Err(err).Msg("the disk can't read this file; it is fetched again")
		e.Broken = true
		return false, nil
	}
	if err != nil || digest == e.Digest && info.Size() == e.Size {
		return err == nil, err
	}
	c.salvage, err = p.hash.salvage(ctx, p.fs, *e, info.Size(), actual, func(done int64) { progress(e.Live, done, info.Size()) })
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
		if !info.IsDir() && !p.removes(folder) {
			return &fs.PathError{Op: "compare", Path: folder, Err: errFileInTheWay}
		}
		return nil
	}
	return nil
}

// removes reports whether the plan removes a file of the set.
func (p *planning) removes(live string) bool {
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
		} else if !p.removes(name) && !p.isOldPart(name) {
			err = &fs.PathError{Op: "compare", Path: name, Err: errNotEmpty}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOldPart reports whether a file is a part of an earlier transaction. If it is in the way, its file is no longer offered,
// and removeObsoleteParts removes it.
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

// salvageBase looks for intact blocks of a damaged file in the base, if the folder has none.
func (p *planning) salvageBase(ctx context.Context, c *candidate, progress func(file string, done, size int64)) error {
	if p.base == nil || c.salvage != nil {
		return nil
	}
	info, err := p.base.Lstat(c.entry.Live)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	c.salvage, err = p.hash.salvage(ctx, p.base, c.entry, info.Size(), nil, func(done int64) { progress(c.entry.Live, done, info.Size()) })
	if err != nil {
		p.log.Warn().Err(err).Str("file", c.entry.Live).Msg("file of the installation not read; all of it is fetched")
	}
	return ctx.Err()
}

// announceTotal reports the number of bytes to hash if it is known in advance: when everything will be hashed, or the hash cache
// is empty. In other cases it does nothing, to avoid a second lstat of every file.
func (p *planning) announceTotal(progress func(file string, done, size int64)) {
	total := int64(0)
	if !p.hash.verify && p.hash.cache.known() > 0 {
		return
	}
	for _, c := range p.offered {
		info, err := p.fs.Lstat(c.entry.Live)
		if err != nil && p.base != nil {
			info, err = p.base.Lstat(c.entry.Live)
		}
		if err == nil && info.Mode().IsRegular() && c.entry.Live != p.names.hostSymbols() {
			total += info.Size()
		}
	}
	if total > 0 {
		progress("", 0, total)
	}
}

// damage lists and logs the damaged files: files of the set, and files with known block checksums that are not in the set.
func (p *planning) damage() *update.Damages {
	var all update.Damages
	room := update.MaxDamage
	for _, c := range p.work.items {
		_, ours := p.set[c.entry.Live]
		if !c.entry.Repair && (ours || c.salvage == nil) {
			continue
		}
		one := update.Damage{File: c.entry.Live, Size: c.file.Size}
		switch {
		case c.salvage != nil:
			one.Ranges = c.salvage.bad
		case c.file.Size > 0:
			one.Ranges = []update.Range{{End: c.file.Size}}
		}
		if n := len(one.Ranges); n > max(room, 1) {
			one.Ranges = []update.Range{{Start: one.Ranges[0].Start, End: one.Ranges[n-1].End}}
		}
		room -= len(one.Ranges)
		all.Files = append(all.Files, one)
		p.log.Warn().Str("file", one.File).Msg(describe(one))
	}
	if len(all.Files) == 0 {
		return nil
	}
	return &all
}

// describe is a log text for damage, with the last byte of each range.
func describe(one update.Damage) string {
	if len(one.Ranges) == 0 {
		return fmt.Sprintf("more than its %d bytes in %s", one.Size, one.File)
	}
	return fmt.Sprintf("damaged bytes %s of %d in %s", one.Where(), one.Size, one.File)
}

// checkNative rejects a plan with native code that the install does not trust. It is the only place of this decision, so it
// applies to every verdict and every reason for a plan: an update, a verification, a repair, the start after an unclean
// end.
func (p *planning) checkNative() error {
	trust := p.trust
	if trust == TrustFNV && p.names.Program {
		trust = TrustSHA256 // the program makes all other trust decisions
	}
	for _, c := range p.work.items {
		if c.entry.Kind == Pack && !p.names.runsProgram() {
			continue
		}
		if err := trust.fault(c.entry.Digest.Algorithm); err != nil {
			return &update.Fault{Cause: update.Untrusted, Subject: c.file.Path, Err: err}
		}
	}
	return nil
}
