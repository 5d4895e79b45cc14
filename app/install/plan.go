package install

import (
	"cmp"
	"io/fs"
	"slices"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform/span"
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

// lacks returns the ranges to fetch: those after the end of the part that the live file can't supply.
func (c candidate) lacks() []update.Range {
	var missing span.Set[int64]
	if c.salvage != nil {
		missing = slices.Clone(c.salvage.bad)
	} else {
		missing.Add(span.Of(0, c.file.Size))
	}
	missing.Remove(span.Of(0, c.offset))
	return missing
}

// due is the first missing range that ends after offset; after the last one it is an empty range at the end of the file.
func (c candidate) due(offset int64) update.Range {
	for _, r := range c.missing {
		if offset < r.End {
			return r
		}
	}
	return update.Range{Start: c.file.Size, End: c.file.Size}
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
		work: transfer{fs: f.fs, hash: f.hash, executables: f.names.runsProgram()},
	}
	if f.names.Program {
		p.work.program = f.names.Library()
	}
	if p.set == nil || g.about != f.journal.mark() {
		p.set = f.journal.lists.setByName()
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
	slices.SortStableFunc(p.offered, func(a, b candidate) int { return cmp.Compare(fetchOrder(a.entry.Kind), fetchOrder(b.entry.Kind)) })
	return p, p.respell()
}

// fetchOrder is the position of a kind in the order of fetching.
func fetchOrder(k Kind) int { return slices.Index([]Kind{Module, Companion, Pack}, k) }

// covers reports whether the mode covers files of a kind. Every mode covers packs. Modules are replaced only if the server
// requests it or during a verification.
func (p *planning) covers(k Kind) bool {
	return k == Pack || p.mode == update.Binaries || p.hash.verify
}

// isSubject reports whether a file of a kind is a subject of the mode: modules in binaries mode, packs in resources mode.
func isSubject(mode update.Mode, k Kind) bool {
	return (mode == update.Binaries && k == Module) || (mode == update.Resources && k == Pack)
}
