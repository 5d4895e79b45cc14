package publish

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/platform"
)

const (
	// sequelFolder holds three files for each recent release: what a client of it needs to update, relative to what it has, packed, and
	// plain for early clients, see release.PackSequel and release.EncodeSequel.
	sequelFolder = places.Sequels
	// maxSequels is the number of releases of a channel and target that have a sequel: enough for players who return every few months.
	maxSequels = 32
	// maxRelative is the number of these that leave out what their client has: as many as have a patch by default. Each takes some
	// milliseconds of every command, more than a packed one.
	maxRelative = 5
	// maxSequelPatch is the largest set patch in a sequel, in bytes. For a larger one the saved round trip is a small part.
	maxSequelPatch = 1 << 20
	// maxSequelLists is the largest size of a listing and its sources in a sequel without a patch, in bytes.
	maxSequelLists = 256 << 10
)

// sequelFiles keeps the files in sequelFolder up to date.
type sequelFiles struct{ releases *releases }

// update updates sequelFolder to the current signed list. Each file is replaced atomically; an outdated one is useless but harmless. The
// next command that changes something completes an interrupted run.
func (s *sequelFiles) update(ctx context.Context) error {
	wanted, err := s.encodeAll(ctx)
	if err != nil {
		return err
	}
	var gone []string
	err = platform.Walk(s.releases.fs, sequelFolder, func(name string, _ fs.DirEntry) error {
		if _, stays := wanted[name]; !stays {
			gone = append(gone, name)
		}
		return nil
	}, nil)
	for _, name := range gone {
		if err == nil {
			err = s.releases.fs.Remove(name)
		}
	}
	if err != nil {
		return advice.Because(err, "", "remove what is old in %s", sequelFolder)
	}
	for name, data := range wanted {
		if there, err := platform.ReadFile(s.releases.fs, name, release.MaxSequel); err == nil && bytes.Equal(there, data) {
			continue
		}
		if err := (store{s.releases.fs}).Save(name, data); err != nil {
			return advice.Because(err, room(err), "write %s", name)
		}
	}
	return nil
}

// encodeAll encodes all sequels, by name.
func (s *sequelFiles) encodeAll(ctx context.Context) (map[string][]byte, error) {
	lists, err := s.releases.signedLists()
	if err != nil {
		return nil, err
	}
	empty, err := release.PackSequel(nil, release.KnownData{})
	if err != nil {
		return nil, err
	}
	wanted, first := map[string][]byte{}, s.releases.firstListed()
	for _, t := range s.tracks() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts, err := s.collectFirst(t.newest, lists)
		if err == nil && parts != nil {
			data, packErr := release.PackSequel(parts, release.KnownData{})
			for _, none := range t.none {
				wanted[none.PackedSequelPath()], err = data, packErr
			}
		}
		if err != nil {
			return nil, advice.Because(err, "run collet release verify", "sequel for new players of release %s", t.newest.Path())
		}
		for _, e := range t.current[max(len(t.current)-maxSequels, 0):] {
			wanted[e.PackedSequelPath()], wanted[e.RelativeSequelPath()] = empty, empty // caches keep a file better than a 404
		}
		for i, e := range t.others[:min(len(t.others), maxSequels)] {
			parts, err := s.collect(e, t.newest, lists)
			if err == nil && parts != nil {
				err = addSequels(wanted, e, parts)
			}
			if err == nil && parts != nil && i < maxRelative {
				wanted[e.RelativeSequelPath()], err = s.packRelative(e, parts, first)
			}
			if err != nil {
				return nil, advice.Because(err, "run collet release verify", "sequel to release %s", e.Path())
			}
		}
	}
	return wanted, nil
}

// sequelTrack has the entries of one channel and target that sequels lead to and from.
type sequelTrack struct {
	newest  release.Entry   // that is offered
	none    []release.Entry // what a client without a release asks for
	others  []release.Entry // earlier and killed ones, the newest first
	current []release.Entry // the newest one, and held ones above it: their clients need nothing
}

// tracks are those with a release that is offered.
func (s *sequelFiles) tracks() (list []sequelTrack) {
	by := map[release.Track][]release.Entry{}
	all := s.releases.repo.Entries()
	for _, e := range all {
		by[e.Track()] = append(by[e.Track()], e)
	}
	for _, entries := range by {
		slices.SortFunc(entries, func(a, b release.Entry) int { return cmp.Compare(b.Number, a.Number) })
		newest := slices.IndexFunc(entries, func(e release.Entry) bool { return !e.Hold && !e.Killed && e.Percent > 0 })
		if newest < 0 {
			continue
		}
		t := sequelTrack{newest: entries[newest]}
		none := t.newest
		none.Number = 0
		t.none = append(t.none, none)
		if release.OnlyProduct(all, none.Channel, none.Target) != "" { // players need not know its name
			none.Product = ""
			t.none = append(t.none, none)
		}
		for _, e := range entries {
			if e.Number >= t.newest.Number && !e.Killed { // a client that has a held release keeps it
				t.current = append(t.current, e)
			} else {
				t.others = append(t.others, e)
			}
		}
		list = append(list, t)
	}
	return list
}

// recent names the relative and packed sequels to the last releases of each track and the packed ones of new players, and the sequels to
// as many releases before these, which are outdated where only the recent ones are kept.
func (s *sequelFiles) recent(most int) (names, outdated []string) {
	for _, t := range s.tracks() {
		for _, e := range t.none {
			names = append(names, e.PackedSequelPath())
		}
		for i, e := range t.others[:min(len(t.others), 2*most)] {
			both := []string{e.RelativeSequelPath(), e.PackedSequelPath()}
			if i < most {
				names = append(names, both...)
			} else {
				outdated = append(outdated, both...)
			}
		}
	}
	slices.Sort(names)
	return names, outdated
}

// addSequels adds a sequel in all forms, the relative one without known data.
func addSequels(wanted map[string][]byte, from release.Entry, parts []release.SequelPart) (err error) {
	if wanted[from.SequelPath()], err = release.EncodeSequel(parts); err != nil {
		return err
	}
	packed, err := release.PackSequel(parts, release.KnownData{})
	wanted[from.PackedSequelPath()], wanted[from.RelativeSequelPath()] = packed, packed
	return err
}

// packRelative packs a sequel relative to what clients of a release have. first is the version of the first list with each release.
func (s *sequelFiles) packRelative(from release.Entry, parts []release.SequelPart, first map[string]int64) ([]byte, error) {
	var known release.KnownData
	if first[from.Path()] > 0 {
		head, err := platform.ReadFile(s.releases.fs, from.Head.HeadPath(), release.MaxHead)
		if err != nil {
			return nil, err
		}
		repo := s.releases.repo
		known = release.MakeKnownData(surelyKnown(from, repo.Entries(), first), release.SequelReader{Head: head, Keys: repo.RootInfo().ListKeys()})
	}
	return release.PackSequel(parts, known)
}

// surelyKnown are the listed releases that every client of a release knows, because they were in the first list that had it. A run has no
// others between its releases in any list since.
func surelyKnown(from release.Entry, listed []release.Entry, first map[string]int64) (runs [][]release.Entry) {
	all := map[string]release.Entry{}
	for path := range first {
		if e, taken, err := release.ParseEntryPath(path); err == nil && taken {
			all[path] = e // without a head, unless it is still listed
		}
	}
	for _, e := range listed {
		all[e.Path()] = e
	}
	open := false
	for _, e := range slices.SortedFunc(maps.Values(all), release.CompareEntries) {
		version, known := first[e.Path()]
		if known = known && version <= first[from.Path()] && !e.Head.IsZero(); known {
			if last := len(runs) - 1; open && runs[last][0].Track() == e.Track() {
				runs[last] = append(runs[last], e)
			} else {
				runs = append(runs, []release.Entry{e})
			}
		}
		open = known
	}
	return runs
}

// collect collects what a client of one release needs to update to another: the signed lists, the head, and one download, if it is small.
// That is the set patch from its set; without a patch the delta index; otherwise the lists. The download is included only if the release is
// offered to all clients, since other clients would fetch it in vain. collect returns nil if the result would be too large.
func (s *sequelFiles) collect(from, to release.Entry, lists []release.SequelPart) ([]release.SequelPart, error) {
	old, err := s.releases.head(from)
	if err != nil {
		return nil, err
	}
	fresh, err := s.releases.head(to)
	if err != nil {
		return nil, err
	}
	patch, patched := fresh.PatchFrom(old.Listing.Sum)
	expanded, isExpanded := fresh.ExpandedFrom(old.Listing.Sum)
	var more []release.Object
	switch {
	case to.Percent < 100, old.Listing.Sum == fresh.Listing.Sum:
	case isExpanded && expanded.Size <= maxSequelPatch: // it is the smaller one
		more = []release.Object{expanded}
	case patched && patch.Size <= maxSequelPatch:
		more = []release.Object{patch}
	case patched, isExpanded:
	case s.releases.hasSmallDeltaIndex(fresh, old.Listing.Sum):
		more = []release.Object{fresh.Changes}
	case fresh.Listing.Object.Size+fresh.Sources.Size <= maxSequelLists:
		more = []release.Object{fresh.Listing.Object, fresh.Sources}
	}
	return s.join(to, lists, more)
}

// collectFirst collects what a client needs that has no release: the signed lists, the head, and if they are small, the listing and the index
// of the solid form; without a solid form the sources. It returns nil if the result would be too large.
func (s *sequelFiles) collectFirst(to release.Entry, lists []release.SequelPart) ([]release.SequelPart, error) {
	fresh, err := s.releases.head(to)
	if err != nil {
		return nil, err
	}
	more := []release.Object{fresh.Listing.Object, fresh.Sources}
	if index, found := fresh.Solid(); found {
		more[1] = index
	}
	if to.Percent < 100 || more[0].Size+more[1].Size > maxSequelLists {
		more = nil
	}
	return s.join(to, lists, more)
}

// join joins the signed lists, the head of an entry, and objects. It returns nil if the result would be too large.
func (s *sequelFiles) join(to release.Entry, lists []release.SequelPart, more []release.Object) ([]release.SequelPart, error) {
	head, err := platform.ReadFile(s.releases.fs, to.Head.HeadPath(), release.MaxHead)
	if err != nil {
		return nil, err
	}
	parts := append(slices.Clone(lists), release.SequelPart{Name: to.Head.HeadPath(), Data: head})
	total := int64(0)
	for _, o := range more {
		data, err := s.releases.object(o)
		if err != nil {
			return nil, err
		}
		parts = append(parts, release.SequelPart{Name: o.Path(), Data: data})
	}
	for _, p := range parts {
		total += int64(len(p.Data) + len(p.Name) + 16)
	}
	if total > release.MaxSequel {
		return nil, nil
	}
	return parts, nil
}

// hasSmallDeltaIndex reports whether a release's delta index starts from a set and is small enough for clients to fetch it whole.
func (r *releases) hasSmallDeltaIndex(h release.Head, from release.Digest) bool {
	if h.Changes.IsZero() || h.Changes.Size > acquire.WholeChanges {
		return false
	}
	table, _, err := r.deltaIndex(h)
	return err == nil && table.Reach(from) > 0
}
