package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"collet/build/advice"
	"collet/build/publish/game"
	"collet/build/publish/parallel"
	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// Request is one publication. The settings supply the zero fields.
type Request struct {
	Channel string
	Target  string // publish this target only; required for the folder of an install
	Number  uint64 // 0 for the highest number plus one
	Version string // for people; the number if empty
	Percent *int   // of the clients that get the offer
	Hold    bool   // offered to no client until it is released

	Notes     map[string][]byte // by language; they precede those of the game folder
	Patches   *int              // number of earlier releases
	PatchFrom []uint64          // additional releases, by number
	Head      func(*release.Head)
	Effort    Effort

	// Describe returns the names of files in the game folder that follow from a target's other files, and are there when it returns: the
	// descriptions of a program, which have a digest over its files. nil: there are no such files.
	Describe func(target string, set release.Listing) ([]string, error)

	// Review is told what is wrong with the game, before anything is made of it. An error ends the publication. nil: nothing is checked.
	Review func(ctx context.Context, found Review) error
	// DryRun makes everything but the signed list: no client is offered anything. The next publication uses what was made. It needs no keys.
	DryRun bool
}

// ReleaseSummary is the result for one release.
type ReleaseSummary struct {
	Entry   release.Entry
	Already bool  // it was published before, and stays unchanged
	Files   int   //
	Bytes   int64 // of the files
	Whole   int64 // of all whole objects
	Patches []PatchSummary
	Solid   SolidSummary // all contents packed together

	Compatibility string // of the head; empty is any, which has no name on a server
}

// Summary is the result of a publication.
type Summary struct {
	Releases []ReleaseSummary
	Ignored  []string // names in the game folder that do not belong to a release, with the reason if it is not the name
	Objects  int      // new whole objects
	Took     time.Duration
}

// publication is the state of one Publish.
type publication struct {
	*Folder
	request  Request
	game     *game.Folder
	blobs    *blobs
	earlier  map[string][]releaseLists // releases from which patches are made, by target
	skipped  map[string][]PatchSummary // those that are damaged, by target
	before   map[string]releaseLists   // the release before, by target
	listings map[string]release.Listing
	known    map[release.Digest]release.Source // of earlier releases
	summary  Summary
}

// Publish makes a release of a game folder, for each target that it has, and signs it with keys, which must reach the thresholds of
// targets, snapshot and timestamp. A release already published under this number with the same files stays unchanged. After an interruption
// call it again.
func (f *Folder) Publish(ctx context.Context, gameFolder platform.FS, r Request, keys []*trust.PrivateKey) (Summary, error) {
	started := time.Now()
	if r.Channel == "" {
		r.Channel = f.settings.Channel
	}
	if fault := release.NameFault(r.Channel); fault != "" {
		return Summary{}, advice.Wrong("name another channel with --channel", "channel %q %s", r.Channel, fault)
	}
	if r.Effort == "" {
		r.Effort = f.settings.Effort
	}
	effort, err := r.Effort.chunkEffort()
	if err != nil {
		return Summary{}, err
	}
	f.packer.effort, f.chunker.effort, f.solids.effort = effort, effort, r.Effort.solidEffort()
	if !r.DryRun {
		if err := f.CheckKeys(keys, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp); err != nil {
			return Summary{}, err
		}
	}
	g, err := game.Read(gameFolder, r.Target)
	if err != nil {
		return Summary{}, err
	}
	p := &publication{
		Folder: f, request: r, game: g, blobs: newBlobs(f.unpacker), earlier: map[string][]releaseLists{},
		skipped: map[string][]PatchSummary{}, before: map[string]releaseLists{},
		listings: map[string]release.Listing{}, known: map[release.Digest]release.Source{},
	}
	if err := p.publishAll(ctx, keys); err != nil {
		return p.summary, err
	}
	p.summary.Ignored, p.summary.Took = g.Ignored, time.Since(started)
	return p.summary, nil
}

func (p *publication) publishAll(ctx context.Context, keys []*trust.PrivateKey) error {
	defer p.meter.enterStage(0)
	p.meter.enterStage(stageHash)
	if err := p.digester.addDigests(ctx, p.game.FS, ".", p.game.All()); err != nil {
		return err
	}
	if err := p.addDescriptions(ctx); err != nil {
		return err
	}
	p.blobs.addGame(p.game)
	if p.request.Number == 0 {
		p.request.Number = p.releases.nextNumber()
	}
	targets, err := p.selectTargets()
	if err != nil {
		return err
	}
	if err := p.review(ctx, targets); err != nil {
		return err
	}
	sources, err := p.makeObjects(ctx, targets)
	if err != nil {
		return err
	}
	entries := p.repo.Entries()
	p.meter.enterStage(stageMake)
	for _, t := range targets {
		e, err := p.publishTarget(ctx, t, sources)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if p.request.DryRun {
		return p.store.sync()
	}
	p.meter.enterStage(stageSign)
	if len(targets) > 0 {
		if err := p.commit(ctx, entries, keys); err != nil {
			return err
		}
	}
	return p.updateDerived(ctx)
}

// commit makes all files durable, then visible.
func (f *Folder) commit(ctx context.Context, entries []release.Entry, keys []*trust.PrivateKey) error {
	if err := f.store.sync(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.meter.startStep("sign", "", 0)
	if f.options.Propose != nil {
		return f.propose(ctx, entries, keys)
	}
	if err := f.repo.SetEntries(entries, keys); err != nil {
		return advice.Because(err, room(err), "change the signed list")
	}
	return nil
}

// updateDerived updates the files derived from the signed list: sequels and plain files. After a proposal the list is as before.
func (f *Folder) updateDerived(ctx context.Context) error {
	if f.options.Propose != nil {
		return nil
	}
	if err := f.sequels.update(ctx); err != nil {
		return err
	}
	return f.plain.update(ctx)
}

// entryFor is an entry with this publication's product, channel and number.
func (p *publication) entryFor(target string) release.Entry {
	return release.Entry{Product: p.settings.Product, Channel: p.request.Channel, Target: target, Number: p.request.Number}
}

// selectTargets lists the targets to publish, and reads their earlier releases.
func (p *publication) selectTargets() (targets []string, err error) {
	last := p.settings.Patches
	if p.request.Patches != nil {
		last = *p.request.Patches
	}
	for _, t := range p.game.Targets() {
		if p.listings[t], err = p.game.Set(t); err != nil {
			return nil, err
		}
		already, err := p.isPublished(t)
		if err != nil {
			return nil, err
		}
		if already {
			continue
		}
		targets = append(targets, t)
		// The newest release is read even without a patch from it: its objects are reused.
		from, skipped, err := p.releases.selectEarlier(p.entryFor(t), max(last, 1), p.request.PatchFrom)
		if err != nil {
			return nil, err
		}
		for _, o := range from {
			for _, s := range o.sources {
				p.known[s.Content] = s
			}
		}
		p.earlier[t], p.skipped[t] = from, skipped
		p.noteBefore(t, from)
		if last == 0 && len(p.request.PatchFrom) == 0 {
			p.earlier[t] = nil
		}
	}
	return targets, nil
}

// isPublished reports whether a target's release is published with the same files.
func (p *publication) isPublished(target string) (bool, error) {
	line := p.entryFor(target)
	for _, e := range p.repo.Entries() {
		if e.Track() != line.Track() {
			continue
		}
		if e.Number > line.Number {
			return false, advice.Wrong(fmt.Sprintf("take --number %d or leave it out", p.releases.nextNumber()),
				"release %d of %s for %s would be below %d, which is published", line.Number, line.Channel, target, e.Number)
		}
		if e.Number < line.Number {
			continue
		}
		h, err := p.releases.head(e)
		if err != nil {
			return false, err
		}
		sum, err := p.listings[target].Digest()
		if err != nil {
			return false, err
		}
		if h.Listing.Sum != sum {
			return false, advice.Wrong(fmt.Sprintf("take --number %d or leave it out", p.releases.nextNumber()),
				"release %d of %s for %s is published with other files, and a release never changes", e.Number, e.Channel, target)
		}
		p.summary.Releases = append(p.summary.Releases, ReleaseSummary{Entry: e, Already: true, Files: h.Count, Bytes: h.Bytes, Compatibility: h.Compatibility})
		return true, nil
	}
	return false, nil
}

// makeObjects ensures that every blob of the targets' sets has a whole object and, if it is large, a chunk index.
func (p *publication) makeObjects(ctx context.Context, targets []string) (map[release.Digest]release.Source, error) {
	sources := map[release.Digest]release.Source{}
	var fresh []release.Digest
	total := int64(0)
	for _, t := range targets {
		for _, f := range p.listings[t] {
			if _, there := sources[f.Sum]; there {
				continue
			}
			s, known := p.known[f.Sum]
			if known = known && p.store.has(s.Whole) && (s.Index.IsZero() || p.store.has(s.Index)); !known {
				s = release.Source{Content: f.Sum}
				fresh = append(fresh, f.Sum)
				total += f.Size
			}
			sources[f.Sum] = s
		}
	}
	p.meter.enterStage(stagePack)
	p.meter.startStep("pack", "", total)
	if err := p.packAll(ctx, fresh, sources); err != nil {
		return nil, err
	}
	p.summary.Objects = len(fresh)
	p.meter.enterStage(stageChunks)
	return sources, p.cutChunks(ctx, fresh, sources)
}

// packAll makes the whole objects of new blobs and enters them into the sources. A blob of several segments uses all cores by
// itself; the others share them.
func (p *publication) packAll(ctx context.Context, fresh []release.Digest, sources map[release.Digest]release.Source) error {
	bySize := slices.Clone(fresh)
	slices.SortStableFunc(bySize, func(a, b release.Digest) int { return cmp.Compare(p.blobs.size(b), p.blobs.size(a)) })
	small := slices.IndexFunc(bySize, func(sum release.Digest) bool { return p.blobs.size(sum) <= chunk.ObjectSegment })
	if small < 0 {
		small = len(bySize)
	}
	var mu sync.Mutex
	pack := func(ctx context.Context, sum release.Digest, workers int) error {
		m, err := p.packer.packWhole(ctx, p.blobs, sum, workers)
		p.meter.addBytes(p.blobs.size(sum), p.blobs.at[sum].path)
		mu.Lock()
		defer mu.Unlock()
		s := sources[sum]
		s.Whole, s.Encoding = m.Object, m.Encoding
		sources[sum] = s
		return err
	}
	for _, sum := range bySize[:small] {
		if err := pack(ctx, sum, p.workers); err != nil {
			return err
		}
	}
	return parallel.Each(ctx, p.workers, len(bySize)-small, func(ctx context.Context, i int) error { return pack(ctx, bySize[small+i], 1) })
}

// cutChunks cuts new blobs into chunks.
func (p *publication) cutChunks(ctx context.Context, fresh []release.Digest, sources map[release.Digest]release.Source) error {
	var known []*chunk.Index
	grains := map[release.Digest]chunk.Grain{}
	byBlob := map[release.Digest]chunk.Grain{}
	if len(fresh) > 0 {
		x := &indexes{releases: p.releases}
		for _, s := range sortBySet(slices.Collect(maps.Values(p.known))) {
			ix, err := x.readIndex(s)
			if err != nil {
				return advice.Because(err, "run collet release verify", "chunk indexes of an earlier release")
			}
			known = append(known, ix)
			byBlob[s.Content] = ix.Grain
		}
	}
	for t, list := range p.earlier { // a file keeps its grain
		for _, f := range p.listings[t] {
			for _, o := range list {
				old, found := o.listing.Find(f.Path)
				if g := byBlob[old.Sum]; found && g != 0 && grains[f.Sum] == 0 {
					grains[f.Sum] = g
				}
			}
		}
	}
	refs, err := p.chunker.cut(ctx, p.blobs, fresh, known, grains)
	for sum, at := range refs {
		s := sources[sum]
		s.Index, s.Entry = at.set, at.entry
		sources[sum] = s
	}
	return err
}

// publishTarget writes the missing objects of one target's release and returns its entry for the signed list.
func (p *publication) publishTarget(ctx context.Context, target string, all map[release.Digest]release.Source) (release.Entry, error) {
	to := releaseLists{entry: p.entryFor(target), listing: p.listings[target]}
	var list []release.Source
	for sum := range setSums(to.listing) {
		list = append(list, all[sum])
	}
	to.sources = release.NewSources(list)
	h, err := p.newHead(&to)
	if err != nil {
		return release.Entry{}, err
	}
	summary := ReleaseSummary{Files: h.Count, Bytes: h.Bytes, Compatibility: h.Compatibility}
	for _, s := range to.sources {
		summary.Whole += s.Whole.Size
	}
	if h.Patches, summary.Patches, err = p.patches.makeAll(ctx, p.blobs, to, p.earlier[target]); err != nil {
		return release.Entry{}, err
	}
	summary.Patches = append(summary.Patches, p.skipped[target]...)
	if summary.Solid, err = p.solids.announce(ctx, p.blobs, &h, to); err != nil {
		return release.Entry{}, err
	}
	percent := p.settings.Percent
	if p.request.Percent != nil {
		percent = *p.request.Percent
	}
	e, err := p.heads.putHead(h)
	e.Percent, e.Hold = uint8(percent), p.request.Hold
	summary.Entry = e
	p.summary.Releases = append(p.summary.Releases, summary)
	return e, err
}

// newHead writes listing, sources and notes, and returns a head without patches.
func (p *publication) newHead(to *releaseLists) (release.Head, error) {
	s, r := p.settings, p.request
	h := release.Head{
		Product: to.entry.Product, Channel: to.entry.Channel, Target: to.entry.Target, Number: to.entry.Number,
		Version: r.Version, Compatibility: s.Compatibility, Logic: s.Logic, Components: s.Components, HostABI: s.HostABI,
		HostBuild: s.HostBuild, Published: p.options.Now().UTC().Truncate(time.Second), Bytes: to.listing.Bytes(),
		Count: len(to.listing), Mirrors: s.Mirrors,
	}
	if h.Compatibility == "" {
		h.Compatibility = p.game.Compatibility[to.entry.Target]
	}
	if h.Version == "" {
		h.Version = strconv.FormatUint(h.Number, 10)
	}
	if r.Head != nil {
		r.Head(&h)
	}
	texts := maps.Clone(p.game.Notes)
	maps.Copy(texts, r.Notes)
	return h, p.heads.putLists(&h, to, texts)
}
