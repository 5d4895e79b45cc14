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
	"collet/netproto/solid"
	"collet/platform"
)

// chooser simulates a client that moves from one release to another with an undamaged old set only, or one that has nothing yet: then old is
// zero. It uses acquire.Choose first with the head and the listing, then with the sources, then with the indexes.
type chooser struct {
	releases   *releases
	line       acquire.Link
	old, fresh releaseLists
	head       release.Head
	indexes    [2]indexes // of the old and of the new release

	files   []release.ListedFile // the first file of each blob that the old set lacks
	sources []release.Source     // of these
	now     acquire.Situation
	lists   acquire.Cost // fetched before the choice
	groups  acquire.Cost // of the solid form
	signed  acquire.Cost // the sequel, or the documents that it has; the timestamp, and the notes

	sequel map[string]bool // names of the files that come with the sequel
	early  int64           // bytes of a set patch among signed and lists

	viaChanges bool // the listing came with the sequel, and the sources are looked for in the changes
}

// choose fills in the client's choice.
func (c *chooser) choose(e *Estimate) error {
	if err := c.addSigned(); err != nil {
		return err
	}
	c.addHead()
	if err := c.addExpanded(); err != nil {
		return err
	}
	choice := acquire.Choose(c.now)
	e.By, e.Takes = map[acquire.Strategy]int64{}, acquire.Unneeded
	patched := func() bool { return choice.Uses(acquire.Patched)+choice.Uses(acquire.Expanded) > 0 }
	separate := func() bool { return choice.Uses(acquire.Entire)+choice.Uses(acquire.Chunked) > 0 }
	if separate() {
		if err := c.addSolid(choice); err != nil {
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
	e.Cost, e.Lists = choice.Cost, c.signed.Bytes+c.lists.Bytes
	if patched() {
		if e.Lists -= c.early; c.now.Patch <= 0 && c.now.Expanded == 0 { // it came with the sequel, or for the listing
			e.Cost.RoundTrips--
		}
	}
	for _, more := range []acquire.Cost{c.signed, c.lists, c.groups} {
		e.Cost.Bytes, e.Cost.Requests, e.Cost.RoundTrips = e.Cost.Bytes+more.Bytes, e.Cost.Requests+more.Requests, e.Cost.RoundTrips+more.RoundTrips
	}
	return nil
}

// addSigned adds what every client asks for: the timestamp and the next root, the sequel, and the notes. Without a sequel it asks for the
// lists and the head by name. The sequel is that of a release that is offered like this one and is the newest.
func (c *chooser) addSigned() error {
	files := &sequelFiles{c.releases}
	lists, err := c.releases.signedLists()
	if err != nil {
		return err
	}
	var parts []release.SequelPart
	if c.old.entry.Number == 0 {
		parts, err = files.collectFirst(c.fresh.entry, lists)
	} else {
		parts, err = files.collect(c.old.entry, c.fresh.entry, lists)
	}
	if err != nil {
		return advice.Because(err, "run collet release verify", "sequel that leads to release %s", c.fresh.entry.Path())
	}
	c.signed = acquire.Cost{Bytes: max(platform.Size(c.releases.fs, "metadata/timestamp.json"), 0), Requests: 3}
	if _, note, found := c.head.Note("en"); found {
		c.signed.Bytes, c.signed.Requests = c.signed.Bytes+note.Size, c.signed.Requests+1
	}
	if parts == nil {
		c.signed.Bytes, c.signed.RoundTrips = c.signed.Bytes+c.fresh.entry.Head.Size, len(lists)+1
		for _, l := range lists {
			c.signed.Bytes += int64(len(l.Data))
		}
		return nil
	}
	var first map[string]int64 // without it the relative sequel is the packed one
	if c.old.entry.Number > 0 && slices.Index(c.releases.earlier(c.fresh.entry), c.old.entry) < maxRelative {
		first = c.releases.firstListed()
	}
	packed, err := files.packRelative(c.old.entry, parts, first)
	c.signed.Bytes += int64(len(packed))
	c.sequel = map[string]bool{}
	for _, p := range parts {
		c.sequel[p.Name] = true
	}
	return err
}

// comes reports whether an object comes with the sequel.
func (c *chooser) comes(o release.Object) bool { return c.sequel[o.Path()] }

// addHead adds what the head says. The listing comes from the patch or from its own object.
func (c *chooser) addHead() {
	c.now = acquire.Situation{Link: c.line, Patch: acquire.Unknown, Sources: c.head.Sources.Size}
	patch, found := c.head.PatchFrom(c.old.sum)
	if found {
		c.now.Patch = patch.Size
	}
	cost := c.fresh.listsCost(c.old.sum)
	near := c.fresh.reach(c.old.sum) > 0 && cost.Bytes < c.fresh.packed
	switch {
	case c.old.sum == c.fresh.sum:
	case near && !found: // listing and sources at once
		c.now.Sources = 0
		switch {
		case c.comes(c.head.Changes):
		case c.comes(c.head.Listing.Object): // a client looks for the sources there, also if they came, too
			c.now.Sources, c.viaChanges = cost.Bytes, true
		default:
			c.lists = cost
		}
	default:
		var here int64
		if o, expanded := c.head.ExpandedFrom(c.old.sum); expanded && (!found || o.Size < patch.Size) {
			c.lists, here = acquire.AskListing(o.Size, o.Size)
			if c.now.Expanded, c.early = o.Size-here, here; c.comes(o) {
				c.lists, c.now.Expanded, c.early = acquire.Cost{}, 0, o.Size
			}
		} else {
			c.lists, here = acquire.AskListing(c.now.Patch, c.head.Listing.Object.Size)
			switch {
			case found && c.comes(patch):
				c.lists, c.now.Patch, c.early = acquire.Cost{}, 0, patch.Size
			case found:
				c.now.Patch, c.early = c.now.Patch-here, here
			case c.comes(c.head.Listing.Object):
				c.lists = acquire.Cost{}
			}
		}
		if near {
			c.now.Sources = cost.Bytes
		}
	}
	have := setSums(c.old.listing)
	for _, f := range c.fresh.listing {
		if _, there := have[f.Sum]; there || f.Size == 0 { // a client makes empty files by itself
			continue
		}
		have[f.Sum] = f.Size
		c.files = append(c.files, f)
		_, older := c.old.listing.Find(f.Path)
		c.now.Blobs = append(c.now.Blobs, acquire.Blob{
			Older: older, Size: f.Size, Lacks: f.Size, InPatch: found, Whole: acquire.Unknown, Chunks: acquire.Unknown,
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

// addSolid adds the groups of the solid form, if its index is worth fetching for what a plan fetches one by one.
func (c *chooser) addSolid(choice acquire.Plan) error {
	index, found := c.head.Solid()
	missing, blobs := int64(0), 0
	for i, b := range c.now.Blobs {
		if m := choice.Strategy[i]; (m == acquire.Entire || m == acquire.Chunked) && b.Size <= solid.MaxGroup {
			missing, blobs = missing+b.Lacks, blobs+1
		}
	}
	if !found || !acquire.WorthSolid(blobs, missing, c.head.Bytes) {
		return nil
	}
	form, err := c.releases.solidForm(c.head)
	if err != nil {
		return err
	}
	if !c.comes(index) {
		c.lists.Bytes += index.Size
		c.lists.RoundTrips++
	}
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
			c.groups.Bytes, c.groups.Requests = c.groups.Bytes+g.Bytes, c.groups.Requests+g.Requests
			g.Bytes, g.Requests, g.Deflated, b.Lacks = 0, 0, 0, 0
			e.By[acquire.Solid] += c.files[i].Size
		}
	}
}

// addSources adds what the sources say.
func (c *chooser) addSources() {
	if c.now.Sources > 0 && (c.viaChanges || !c.comes(c.head.Sources)) {
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
