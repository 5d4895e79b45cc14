package publish

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/netproto/chunk"
	"collet/netproto/deflate"
	"collet/netproto/release"
)

// chooser simulates a client that moves from one release to another with an undamaged old set only. It uses acquire.Choose first with the
// head and the listing, then with the sources, then with the indexes.
type chooser struct {
	releases   *releases
	line       acquire.Link
	old, fresh origin
	head       release.Head
	indexes    [2]indexes // of the old and of the new release

	files   []release.ListedFile // the first file of each blob that the old set lacks
	sources []release.Source     // of these
	now     acquire.Situation
	lists   acquire.Cost // fetched before the choice
}

// choose fills in the client's choice.
func (c *chooser) choose(e *Estimate) error {
	c.addHead()
	if err := c.addExpanded(); err != nil {
		return err
	}
	choice := acquire.Choose(c.now)
	e.By, e.Takes = map[acquire.Strategy]int64{}, acquire.Unneeded
	patched := func() bool { return choice.Uses(acquire.Patched)+choice.Uses(acquire.Expanded) > 0 }
	separate := func() bool { return choice.Uses(acquire.Entire)+choice.Uses(acquire.Chunked) > 0 }
	if separate() {
		if err := c.addSolid(); err != nil {
			return err
		}
		choice = c.unpackSolid(e)
	}
	if separate() {
		c.addSources()
		choice = c.unpackSolid(e)
	}
	if separate() {
		c.now.Groups = nil
		if !patched() {
			c.now.Patch = acquire.Unknown
		}
		for i := range c.now.Blobs {
			c.now.Blobs[i].Group, c.now.Blobs[i].Form = 0, 0
			c.now.Blobs[i].Expands = c.now.Blobs[i].Expands && patched()
		}
		if err := c.addIndexes(); err != nil {
			return err
		}
		choice = acquire.Choose(c.now)
	}
	for i, m := range choice.Strategy {
		if m != acquire.Unneeded {
			e.By[m] += c.files[i].Size
		}
	}
	for _, m := range slices.Sorted(maps.Keys(e.By)) {
		if e.Takes == acquire.Unneeded || e.By[m] > e.By[e.Takes] {
			e.Takes = m
		}
	}
	e.Cost = acquire.Cost{
		Bytes: choice.Cost.Bytes + c.lists.Bytes, Requests: choice.Cost.Requests + c.lists.Requests,
		RoundTrips: choice.Cost.RoundTrips + c.lists.RoundTrips, CPU: choice.Cost.CPU,
	}
	return nil
}

// addHead adds what the head says. The listing comes from the patch or from its own object.
func (c *chooser) addHead() {
	c.now = acquire.Situation{Link: c.line, Patch: acquire.Unknown, Sources: c.head.Sources.Size}
	patch, found := c.head.PatchFrom(c.old.sum)
	if found {
		c.now.Patch = patch.Size
	}
	cost := c.fresh.listsCost(c.old.sum)
	near := c.fresh.reach(c.old.sum) > 0 && cost.Bytes < c.fresh.lists
	switch {
	case c.old.sum == c.fresh.sum:
	case near && !found: // listing and sources at once
		c.lists, c.now.Sources = cost, 0
	default:
		var here int64
		if o, expanded := c.head.ExpandedFrom(c.old.sum); expanded && (!found || o.Size < patch.Size) {
			c.lists, here = acquire.AskListing(o.Size, o.Size)
			c.now.Expanded = o.Size - here
		} else {
			c.lists, here = acquire.AskListing(c.now.Patch, c.head.Listing.Object.Size)
			c.now.Patch -= here
		}
		if near {
			c.now.Sources = cost.Bytes
		}
	}
	have := setSums(c.old.listing)
	for _, f := range c.fresh.listing {
		if _, there := have[f.Sum]; there {
			continue
		}
		have[f.Sum] = f.Size
		c.files = append(c.files, f)
		_, older := c.old.listing.Find(f.Path)
		c.now.Blobs = append(c.now.Blobs, acquire.Blob{
			Older: older, Size: f.Size, Lacks: max(f.Size, 1), InPatch: found, Whole: acquire.Unknown, Chunks: acquire.Unknown,
		})
	}
}

// addExpanded adds what the expanded set patch says at its beginning.
func (c *chooser) addExpanded() error {
	o, found := c.head.ExpandedFrom(c.old.sum)
	if !found || len(c.files) == 0 {
		return nil
	}
	in, err := openFile(c.releases.fs, o.Path())
	if err != nil {
		return advice.Because(err, "run collet release verify", "expanded patch %s", o.Path())
	}
	defer in.Close()
	p, err := deflate.OpenPatch(io.NewSectionReader(in, 0, o.Size), c.old.listing, c.fresh.sum)
	if err != nil {
		return advice.Because(err, "run collet release verify", "expanded patch %s", o.Path())
	}
	forms := p.Rebuilt()
	for i, f := range c.files {
		n := &c.now.Blobs[i]
		n.Rebuilt, n.Expands = forms[f.Sum]
	}
	c.now.Inflated = p.Work().Inflated
	return nil
}

// addSolid adds the groups of the solid form, if its index is worth fetching.
func (c *chooser) addSolid() error {
	index, found := c.head.Solid()
	missing := int64(0)
	for _, b := range c.now.Blobs {
		missing += b.Lacks
	}
	if !found || !acquire.WorthSolid(len(c.now.Blobs), missing, c.head.Bytes) {
		return nil
	}
	form, err := c.releases.solidForm(c.head)
	if err != nil {
		return err
	}
	c.lists.Bytes += index.Size
	c.lists.RoundTrips++
	for _, g := range form.Groups {
		c.now.Groups = append(c.now.Groups, acquire.SolidGroup{Size: g.Size(), Packed: g.Packed(), Bytes: g.Packed(), Requests: len(g.Parts), Deflated: g.Deflated()})
	}
	places := form.Places()
	for i, f := range c.files {
		if at, grouped := places[f.Sum]; grouped {
			c.now.Blobs[i].Group, c.now.Blobs[i].Form = at.Group+1, at.Form
		}
	}
	return nil
}

// unpackSolid chooses with the groups of the solid form. What they give is there then, and the others are chosen again.
func (c *chooser) unpackSolid(e *Estimate) acquire.Plan {
	for {
		choice := acquire.Choose(c.now)
		if choice.Uses(acquire.Solid) == 0 {
			return choice
		}
		for i, m := range choice.Strategy {
			if m != acquire.Solid {
				continue
			}
			b := &c.now.Blobs[i]
			g := &c.now.Groups[b.Group-1]
			c.lists.Bytes, c.lists.Requests = c.lists.Bytes+g.Bytes, c.lists.Requests+g.Requests
			g.Bytes, g.Requests, g.Deflated, b.Lacks = 0, 0, 0, 0
			e.By[acquire.Solid] += c.files[i].Size
		}
	}
}

// addSources adds what the sources say.
func (c *chooser) addSources() {
	if c.now.Sources > 0 {
		c.lists.Bytes += c.now.Sources
		c.lists.RoundTrips++
	}
	c.now.Sources = 0
	for i, f := range c.files {
		s, _ := c.fresh.sources.Find(f.Sum)
		c.sources = append(c.sources, s)
		n := &c.now.Blobs[i]
		n.Whole, n.Packed, n.Indexed = s.Whole.Size, s.Encoding != release.EncodedStored, !s.Index.IsZero()
	}
}

// addIndexes adds the chunk indexes worth fetching.
func (c *chooser) addIndexes() error {
	c.indexes = [2]indexes{{releases: c.releases}, {releases: c.releases}}
	sets := map[release.Object][]int{}
	for i, f := range c.files {
		if o := c.sources[i].Index; !o.IsZero() && len(acquire.Ancestors(c.old.listing, c.fresh.listing, f)) > 0 {
			sets[o] = append(sets[o], i)
		}
	}
	objects := slices.SortedFunc(maps.Keys(sets), func(a, b release.Object) int { return cmp.Compare(a.Path(), b.Path()) })
	for _, o := range objects {
		var alike []acquire.Blob
		for _, i := range sets[o] {
			alike = append(alike, c.now.Blobs[i])
		}
		if !acquire.WorthIndex(alike, o.Size, c.line) {
			continue
		}
		c.lists.Bytes += o.Size
		c.lists.Requests++
		for _, i := range sets[o] {
			if err := c.planChunks(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// planChunks computes which chunks of a blob its earlier versions lack.
func (c *chooser) planChunks(i int) error {
	ix, err := c.indexes[1].readIndex(c.sources[i])
	if err != nil {
		return err
	}
	plan, err := chunk.NewPlan([]*chunk.Index{ix})
	if err != nil {
		return err
	}
	for n, at := range acquire.Ancestors(c.old.listing, c.fresh.listing, c.files[i]) {
		s, _ := c.old.sources.Find(c.old.listing[at].Sum)
		if s.Index.IsZero() {
			continue // a client cuts the file and may find more
		}
		was, err := c.indexes[0].readIndex(s)
		if err != nil {
			return err
		}
		plan.OfferIndex(n, was)
	}
	ranges := plan.Missing(c.line.Gap())
	blob := &c.now.Blobs[i]
	blob.Chunks, blob.Runs = 0, len(ranges)
	for _, r := range ranges {
		blob.Chunks += r.Size
	}
	return nil
}
