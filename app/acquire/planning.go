package acquire

import (
	"context"
	"fmt"

	"collet/app/diskfault"
	"collet/app/download"
	"collet/netproto/release"
)

// planning is what one call of Fetch knows: what is wanted, what the install and the release have for it, what came, and what failed.
// It is the input of Choose.
type planning struct {
	*resources
	connected
	delivery
	sources release.Sources // nil until needed
	indexed bool            // sources are those of the delta index
	solid   solidForm
	room    bool   // the disk has room for a set patch beside the parts
	roomy   bool   // and for what an expanded set patch needs
	printed string // the last logged plan
}

// survey examines the install: which contents other files have, and which a set patch can make because their old versions are intact.
func (p *planning) survey(ctx context.Context) error {
	missing := map[string]bool{}
	for _, w := range p.wants {
		missing[w.File.Path] = true
	}
	for _, list := range []release.Listing{p.old, p.listing} {
		for _, file := range list.Files() {
			if b := p.byDigest[file.Digest]; b != nil && !(missing[file.Path] && sameFile(p.listing, file)) {
				b.done = append(b.done, file)
			}
		}
	}
	if err := p.readExpansion(ctx); err != nil {
		return err
	}
	_, patch := p.patch(p.failures)
	for _, b := range p.blobs {
		_, expands := p.expansion.find(b.sum)
		if len(b.wants) == 0 || !patch && !expands || inListing(p.old, b.sum) {
			continue
		}
		old, found := p.old.Find(p.wants[b.wants[0]].File.Path)
		intact := true
		if _, there := p.scratch.find(b.sum); found && !there {
			var err error
			if intact, err = hasFile(ctx, p.o.Disk, release.Listing{old}.Files()[0]); err != nil {
				return err
			}
		}
		b.inPatch, b.expands = patch && intact, expands && intact
	}
	p.checkRoom()
	return nil
}

// checkRoom checks whether the disk has room for the set patch beside the parts. Other strategies need no additional room.
func (p *planning) checkRoom() {
	free, err := p.o.FS.Free()
	if err != nil {
		return // assumed to be enough, as elsewhere
	}
	need := int64(diskfault.Reserve)
	for _, w := range p.wants {
		need += w.File.Size - w.Have()
	}
	if free < uint64(need+download.MaxPieces) {
		p.objects.small.Disable()
	}
	p.checkExpandedRoom(free, need)
	patch, found := p.patch(p.failures)
	if !found {
		return
	}
	if need += patch.Size - p.objects.countReceived(patch); free < uint64(need) {
		p.room = false
		p.o.Log.Warn().Int64("need", need).Uint64("free", free).Int64("missing", need-int64(free)).Str("folder", p.o.FS.Path(".")).
			Msg("there is no room for the patch; more is fetched in its place. Free the missing bytes and start anew to avoid that")
	}
}

// situation is the input of Choose for some contents.
func (p *planning) situation(blobs []*blob) Situation {
	s := Situation{Link: p.mirrors.link(p.o.Link), Patch: Unknown}
	if patch, found := p.patch(p.failures); found && p.room {
		s.Patch = patch.Size - p.objects.countReceived(patch)
	}
	o, found := p.expanded(p.failures)
	expands := found && p.expansion != nil
	if expands {
		s.Expanded, s.Inflated, s.Rates = o.Size-p.objects.countReceived(o), p.expansion.work.Inflated, p.measured()
	}
	if p.sources == nil {
		s.Sources = p.index.sourcesLeft(p.connected)
	}
	for _, b := range blobs {
		n := p.blobFacts(b)
		n.Expands = expands && p.roomy && b.expands
		s.Blobs = append(s.Blobs, n)
	}
	return s
}

// blobFacts is what is known about a content by itself: situation and addGroups add what follows from the patch and the solid form.
func (p *planning) blobFacts(b *blob) Blob {
	n := Blob{
		Size: b.size, Lacks: p.lacks(b), Local: len(b.done) > 0, InPatch: b.inPatch, Whole: Unknown, Chunks: Unknown,
		Indexed: !b.source.Index.IsZero(), Older: p.hasOlder(b),
	}
	if whole := b.source.Whole; !whole.IsZero() {
		n.Whole, n.Packed = whole.Size-p.objects.countReceived(whole), b.source.Encoding != release.EncodedStored
	}
	if b.chunks != nil && b.chunks.plan != nil {
		n.Chunks, n.Runs = b.chunks.missing, len(b.chunks.ranges)
	}
	n.Rebuilt, _ = p.expansion.find(b.sum)
	if len(p.failures) == 0 {
		return n // the usual case
	}
	n.Failed = map[Strategy]int{}
	for _, s := range []Strategy{Copied, Patched, Expanded, Chunked, Solid, Entire} {
		n.Failed[s] = p.failures.count(b.sum, s)
	}
	return n
}

// reportPlan logs a plan that differs from the one before, and sets the expected traffic.
func (p *planning) reportPlan(plan Plan) {
	text := fmt.Sprint(plan.Uses(Copied), plan.Uses(Patched), plan.Uses(Expanded), plan.Uses(Chunked), plan.Uses(Solid), plan.Uses(Entire), p.sources == nil)
	if text != p.printed {
		p.o.Log.Info().Int("copies", plan.Uses(Copied)).Int("patched", plan.Uses(Patched)).Int("expanded", plan.Uses(Expanded)).Int("chunked", plan.Uses(Chunked)).
			Int("solid", plan.Uses(Solid)).Int("whole", plan.Uses(Entire)).Int64("bytes", plan.Cost.Bytes).Int64("of", plan.Size).
			Dur("estimate", plan.Cost.Time(p.mirrors.link(p.o.Link))).Msg("strategy chosen")
	}
	p.printed = text
	p.progress.expectTraffic(plan.Cost.Bytes)
}
