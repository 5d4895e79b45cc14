package publish

import (
	"context"

	"collet/app/acquire"
	"collet/netproto/chunk"
	"collet/netproto/release"
)

// Way is one download strategy between two releases, in bytes to fetch.
type Way struct {
	Bytes int64 // -1 if the strategy is not available
	Asked int   // requests, at least
}

// Estimate says how much a client fetches to move from one release to another. The ways are without signed lists and head.
type Estimate struct {
	Target          string
	Old, New        uint64
	Files, Contents int   // that differ
	Fresh           int64 // bytes of blobs that are new
	Whole           Way   // listing and sources, or the changes of both, and whole objects of what is new
	Chunks          Way   // the same lists, indexes and missing chunks; whole objects of what has no index
	Patch           Way   // the set patch
	Expanded        Way   // the expanded set patch

	// What a client with an undamaged old set chooses on this link; it mixes the strategies.
	Takes acquire.Strategy           // strategy for most of the new bytes; acquire.Unneeded if there are no new bytes
	By    map[acquire.Strategy]int64 // bytes of new blobs by strategy
	Cost  acquire.Cost               // of all that it receives
	Lists int64                      // bytes of that which are signed lists, heads, lists of files, and notes
}

// Estimate compares the strategies from release old to release fresh of a channel, for each target that has both. A zero line stands for
// the values that clients assume before they have measured their link.
func (f *Folder) Estimate(ctx context.Context, channel, target string, old, fresh uint64, line acquire.Link) ([]Estimate, error) {
	from, err := f.releases.findEntries(Which{channel, target, old})
	if err != nil {
		return nil, err
	}
	var list []Estimate
	for _, a := range from {
		to, err := f.releases.findEntries(Which{channel, a.Target, fresh})
		if err != nil {
			return nil, err
		}
		e, err := f.releases.estimate(ctx, a, to[0], line, true)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// estimate is Estimate for one target. Without chunks that way is not planned, which takes most of the time.
func (r *releases) estimate(ctx context.Context, from, to release.Entry, line acquire.Link, chunks bool) (Estimate, error) {
	e := Estimate{Target: to.Target, Old: from.Number, New: to.Number, Patch: Way{Bytes: -1}, Expanded: Way{Bytes: -1}, Chunks: Way{Bytes: -1}}
	old, err := r.readLists(from)
	if err != nil {
		return e, err
	}
	fresh, err := r.readLists(to)
	if err != nil {
		return e, err
	}
	h, err := r.head(to)
	if err == nil {
		err = fresh.readDeltaIndex(r, h)
	}
	if err != nil {
		return e, err
	}
	have := setSums(old.listing)
	for _, file := range fresh.listing {
		if was, found := old.listing.Find(file.Path); !found || was != file {
			e.Files++
		}
	}
	lists := fresh.listsCost(old.sum)
	e.Whole = Way{Bytes: lists.Bytes, Asked: lists.RoundTrips}
	var lacking []release.Source
	for sum, n := range setSums(fresh.listing) {
		if _, there := have[sum]; !there {
			s, _ := fresh.sources.Find(sum)
			lacking = append(lacking, s)
			e.Contents, e.Fresh = e.Contents+1, e.Fresh+n
			e.Whole.Bytes, e.Whole.Asked = e.Whole.Bytes+s.Whole.Size, e.Whole.Asked+1
		}
	}
	if chunks {
		if e.Chunks, err = r.chunkWay(ctx, old, fresh, lacking, line); err != nil {
			return e, err
		}
	}
	if o, found := h.PatchFrom(old.sum); found {
		e.Patch = Way{o.Size, 1}
	} else if old.sum == fresh.sum {
		e.Patch = Way{0, 0}
	}
	if o, found := h.ExpandedFrom(old.sum); found {
		e.Expanded = Way{o.Size, 1}
	}
	c := chooser{releases: r, line: line, old: old, fresh: fresh, head: h}
	return e, c.choose(&e)
}

// estimateFirst says what a client without any file of the game fetches. Only the client's choice is filled in.
func (r *releases) estimateFirst(to release.Entry, fresh releaseLists, line acquire.Link) (Estimate, error) {
	e := Estimate{Target: to.Target, New: to.Number, Files: len(fresh.listing)}
	h, err := r.head(to)
	if err != nil {
		return e, err
	}
	c := chooser{releases: r, line: line, fresh: fresh, head: h}
	return e, c.choose(&e)
}

// chunkWay plans like a client that has the old set. A blob without an index is fetched whole.
func (r *releases) chunkWay(ctx context.Context, old, fresh releaseLists, lacking []release.Source, line acquire.Link) (w Way, err error) {
	lists := fresh.listsCost(old.sum)
	w = Way{Bytes: lists.Bytes, Asked: lists.RoundTrips}
	var files []*chunk.Index
	x, fetched := &indexes{releases: r}, map[release.Object]bool{}
	for _, s := range lacking {
		if s.Index.IsZero() {
			w.Bytes += s.Whole.Size
			w.Asked++
		}
	}
	for _, s := range sortBySet(lacking) {
		ix, err := x.readIndex(s)
		if err != nil {
			return w, err
		}
		files = append(files, ix)
		if !fetched[s.Index] {
			fetched[s.Index] = true
			w.Bytes += s.Index.Size
			w.Asked++
		}
	}
	if len(files) == 0 {
		return w, ctx.Err()
	}
	plan, err := chunk.NewPlan(files)
	if err != nil {
		return w, err
	}
	for i, s := range sortBySet(old.sources) {
		ix, err := x.readIndex(s)
		if err != nil {
			return w, err
		}
		plan.OfferIndex(i, ix)
	}
	for _, r := range plan.Missing(line.Gap()) {
		w.Bytes += r.Size
		w.Asked++
	}
	return w, ctx.Err()
}
