package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"collet/build/advice"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// worth is the size of a patch, in percent of the whole objects, from which on it is dropped.
const worth = 90

// PatchSummary is the result for one patch.
type PatchSummary struct {
	From  uint64 // release number
	Bytes int64  // of the patch; 0 without a patch
	Whole int64  // bytes of the whole objects that it replaces
	Why   string // why there is no patch, or where it comes from; empty for a new one
}

// origin is an earlier release that players may have.
type origin struct {
	entry   release.Entry
	listing release.Listing
	sum     release.Digest
	sources release.Sources
	lists   int64          // bytes of the packed listing and sources, which a patch saves, too
	changes *delta.Changes // delta index; nil if it has none or is not needed
	object  release.Object // the object of changes
}

// readOrigin reads the lists of an earlier release.
func (f *Folder) readOrigin(e release.Entry) (o origin, err error) {
	h, err := f.head(e)
	if err != nil {
		return o, err
	}
	o.entry, o.sum, o.lists = e, h.Listing.Sum, h.Listing.Object.Size+h.Sources.Size
	if o.listing, err = f.listing(h); err == nil {
		o.sources, err = f.sources(h)
	}
	if err != nil {
		return o, advice.Because(err, "", "release %s", e.Path())
	}
	return o, nil
}

// origins selects the releases from which patches are made: the last few of a channel and target, and the named ones. A release whose lists
// can't be read is skipped, unless it is named, so that a damaged old release does not block a new one.
func (f *Folder) origins(line release.Entry, last int, named []uint64) (chosen []origin, passed []PatchSummary, err error) {
	list := f.earlier(line)
	for _, n := range named {
		if !slices.ContainsFunc(list, func(e release.Entry) bool { return e.Number == n }) {
			return nil, nil, advice.Wrong("collet release list shows those that are", "there is no earlier release %s/%s/%s/%d to make a patch from", line.Product, line.Channel, line.Target, n)
		}
	}
	for i, e := range list {
		if i >= last && !slices.Contains(named, e.Number) {
			continue
		}
		o, err := f.readOrigin(e)
		switch {
		case err == nil:
			chosen = append(chosen, o)
		case slices.Contains(named, e.Number):
			return nil, nil, err
		default:
			passed = append(passed, PatchSummary{From: e.Number, Why: "that release is damaged: see collet release verify"})
		}
	}
	return chosen, passed, nil
}

// patches makes the patches of one release from its origins. Origins with the same set share one.
func (f *Folder) patches(ctx context.Context, c *contents, to origin, from []origin) (refs []release.PatchRef, list []PatchSummary, err error) {
	for _, o := range from {
		if err := c.addSet(o.listing, o.sources); err != nil {
			return nil, nil, advice.Because(err, "run collet release verify", "release %s", o.entry.Path())
		}
	}
	seen := map[release.Digest]PatchSummary{}
	for _, o := range from {
		s, done := seen[o.sum]
		switch {
		case done:
			s.Why = fmt.Sprintf("the same as from %d", s.From)
		case o.sum == to.sum:
			s.Why = "it is the same set"
		default:
			var ref release.PatchRef
			if ref, s, err = f.patch(ctx, c, o, to); err != nil {
				return nil, nil, err
			}
			if s.Bytes > 0 {
				refs = append(refs, ref)
			}
			s.From = o.entry.Number
			seen[o.sum] = s
		}
		s.From = o.entry.Number
		list = append(list, s)
	}
	return refs, list, nil
}

// replaced is how many bytes a client with the old set fetches without a patch: lists and whole objects.
func replaced(old, fresh origin) (sum int64) {
	sum = fresh.listsFrom(old.sum).Bytes
	have := map[release.Digest]bool{}
	for _, f := range old.listing {
		have[f.Sum] = true
	}
	for _, f := range fresh.listing {
		if s, found := fresh.sources.Find(f.Sum); found && !have[f.Sum] {
			have[f.Sum] = true
			sum += s.Whole.Size
		}
	}
	return sum
}

// patch makes one patch, or reuses an existing one.
func (f *Folder) patch(ctx context.Context, c *contents, old, fresh origin) (ref release.PatchRef, s PatchSummary, err error) {
	ref.From = old.sum
	s.Whole = replaced(old, fresh)
	key := patchKey(old.sum, fresh.sum)
	if m, known := f.ledger.find(key); known && (m.object.IsZero() || f.has(m.object)) {
		s.Bytes, s.Why, ref.Object = m.object.Size, "made before", m.object
		if m.object.IsZero() {
			s.Why = tooLarge
			return ref, s, nil
		}
		f.touch(m.object)
		return ref, s, nil
	}
	out, err := f.create()
	if err != nil {
		return ref, s, err
	}
	f.meter.start(fmt.Sprintf("patch from %d", old.entry.Number), fresh.entry.Target, 0)
	stats, err := delta.MakeSetPatch(ctx, out, c.side(ctx, old.listing), c.side(ctx, fresh.listing), delta.SetPatchOptions{
		Workers: f.options.Workers, MaxMemory: f.settings.PatchMemory << 20, MaxBytes: s.Whole * worth / 100, Progress: f.meter.set,
	})
	if errors.Is(err, delta.ErrPatchTooLarge) {
		out.drop()
		s.Why = tooLarge
		return ref, s, f.ledger.add(key, made{})
	}
	if err == nil {
		ref.Object, err = sumFile(out, stats.Bytes)
	}
	if err != nil {
		out.drop()
		return ref, s, advice.Because(err, room(err), "make the patch from release %d to %d for %s", old.entry.Number, fresh.entry.Number, fresh.entry.Target)
	}
	if err := f.tryPatch(ctx, c, out, old, fresh); err != nil {
		out.drop()
		return ref, s, advice.Because(err, "report this; publish with --patches 0 until then", "the patch from release %d to %d for %s does not apply", old.entry.Number, fresh.entry.Number, fresh.entry.Target)
	}
	s.Bytes = stats.Bytes
	return ref, s, f.finish(out, ref.Object, func() error { return f.ledger.add(key, made{object: ref.Object}) })
}

const tooLarge = "it would save too little"

// tryPatch applies a patch like a client, so that a wrong patch is never published.
func (f *Folder) tryPatch(ctx context.Context, c *contents, patch io.ReadSeeker, old, fresh origin) error {
	if _, err := patch.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p, err := delta.OpenSetPatch(patch, old.listing, fresh.sum)
	if err != nil {
		return err
	}
	return p.Apply(ctx, c.side(ctx, old.listing).Source, nowhere{})
}

// nowhere discards blobs that were verified while they were written.
type nowhere struct{}

func (nowhere) Begin(int) (io.Writer, error) { return io.Discard, nil }
func (nowhere) End(int) error                { return nil }
