package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/netproto/delta"
	"collet/netproto/release"
)

const (
	// minPatchSaving is how many percent of what it replaces a patch has to save, not counting contents that share nothing with the
	// old set: they cost the same in a patch and as whole objects.
	minPatchSaving = 10
	// minTotalSaving is how many thousandths of everything it has to save.
	minTotalSaving = 1
)

// savesEnough reports whether a patch is worth publishing. whole is what it replaces in bytes, and alien the part of contents that share
// nothing with the old set.
func savesEnough(patch, whole, alien int64) bool {
	saving := whole - patch
	return saving*100 >= (whole-alien)*minPatchSaving && saving*1000 >= whole*minTotalSaving
}

// PatchSummary is the result for one patch.
type PatchSummary struct {
	From  uint64 // release number
	Bytes int64  // of the patch; 0 without a patch
	Whole int64  // bytes of the whole objects that it replaces
	Why   string // why there is no patch, or where it comes from; empty for a new one

	Expanded int64 // bytes of the expanded set patch; 0 without one
}

// patchMaker makes set patches. The ledger says which were made before.
type patchMaker struct {
	store   *objectStore
	ledger  *cache.Ledger
	meter   *meter
	workers int
	memory  int64 // in bytes, at most
}

// makeAll makes the patches to one release from earlier ones. Earlier releases with the same set share one.
func (pm *patchMaker) makeAll(ctx context.Context, b *blobs, to releaseLists, from []releaseLists) (refs []release.PatchRef, list []PatchSummary, err error) {
	for _, o := range from {
		if err := b.addSet(o.listing, o.sources); err != nil {
			return nil, nil, advice.Because(err, "run collet release verify", "release %s", o.entry.Path())
		}
	}
	var expanded []release.PatchRef
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
			if ref, s, err = pm.makeOne(ctx, b, o, to); err != nil {
				return nil, nil, err
			}
			if s.Bytes > 0 {
				refs = append(refs, ref)
			}
			more, err := pm.makeExpanded(ctx, b, o, to, s.Bytes, s.Whole)
			if err != nil {
				return nil, nil, err
			}
			if s.Expanded = more.Size; s.Expanded > 0 {
				expanded = append(expanded, release.PatchRef{From: release.ExpandedFrom(o.sum), Object: more})
			}
			s.From = o.entry.Number
			seen[o.sum] = s
		}
		s.From = o.entry.Number
		list = append(list, s)
	}
	room := max(release.MaxPatches-reservedPatches-len(refs), 0)
	return append(refs, expanded[:min(len(expanded), room)]...), list, nil
}

// reservedPatches is how many entries of a head's patches are left to objects that are not made here: the solid form.
const reservedPatches = 1

// bytesWithoutPatch is how many bytes a client with the old set fetches without a patch: lists and whole objects.
func bytesWithoutPatch(old, fresh releaseLists) (sum int64) {
	sum = fresh.listsCost(old.sum).Bytes
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

// wholeBytes is the size of the whole objects of some contents.
func (o releaseLists) wholeBytes(contents []release.Digest) (sum int64) {
	for _, content := range contents {
		if s, found := o.sources.Find(content); found {
			sum += s.Whole.Size
		}
	}
	return sum
}

// makeOne makes one set patch, or reuses an existing one.
func (pm *patchMaker) makeOne(ctx context.Context, b *blobs, old, fresh releaseLists) (ref release.PatchRef, s PatchSummary, err error) {
	ref.From = old.sum
	s.Whole = bytesWithoutPatch(old, fresh)
	var made bool
	ref.Object, made, err = pm.makeObject(old, fresh, patchJob{
		key: cache.PatchKey(old.sum, fresh.sum), name: "patch",
		make: func(out io.Writer) (int64, error) {
			stats, err := delta.MakeSetPatch(ctx, out, b.side(ctx, old.listing), b.side(ctx, fresh.listing), delta.SetPatchOptions{
				Workers: pm.workers, MaxMemory: pm.memory, MaxBytes: max(s.Whole, 1), Progress: pm.meter.setBytes,
			})
			alien := int64(0)
			if len(stats.Alien) < stats.Contents {
				alien = fresh.wholeBytes(stats.Alien)
			}
			if err == nil && !savesEnough(stats.Bytes, s.Whole, alien) {
				err = delta.ErrPatchTooLarge
			}
			return stats.Bytes, err
		},
		verify: func(patch io.Reader) error { return verifyPatch(ctx, b, patch, old, fresh) },
	})
	switch s.Bytes = ref.Object.Size; {
	case ref.Object.IsZero():
		s.Why = tooLarge
	case !made:
		s.Why = "made before"
	}
	return ref, s, err
}

// patchJob is a patch to make, of one kind.
type patchJob struct {
	key    string                                   // in the ledger
	name   string                                   // of the kind, in messages
	make   func(out io.Writer) (n int64, err error) // writes n bytes; delta.ErrPatchTooLarge says that they would save too little
	verify func(patch io.Reader) error
}

// makeObject makes a patch and verifies it, unless the ledger knows it. The object is zero if it would save too little.
func (pm *patchMaker) makeObject(old, fresh releaseLists, job patchJob) (o release.Object, made bool, err error) {
	if m, known := pm.ledger.FindResult(job.key); known && (m.Object.IsZero() || pm.store.has(m.Object)) {
		if !m.Object.IsZero() {
			pm.store.touch(m.Object)
		}
		return m.Object, false, nil
	}
	out, err := pm.store.create()
	if err != nil {
		return o, false, err
	}
	pm.meter.startStep(fmt.Sprintf("%s from %d", job.name, old.entry.Number), fresh.entry.Target, 0)
	n, err := job.make(out)
	if errors.Is(err, delta.ErrPatchTooLarge) {
		out.drop()
		return o, false, pm.ledger.AddResult(job.key, cache.Result{})
	}
	if err == nil {
		o, err = sumFile(out, n)
	}
	if err != nil {
		out.drop()
		return o, false, advice.Because(err, room(err), "make the %s from release %d to %d for %s", job.name, old.entry.Number, fresh.entry.Number, fresh.entry.Target)
	}
	if _, err = out.Seek(0, io.SeekStart); err == nil {
		err = job.verify(out)
	}
	if err != nil {
		out.drop()
		return o, false, advice.Because(err, "report this; publish with --patches 0 until then", "the %s from release %d to %d for %s does not apply", job.name, old.entry.Number, fresh.entry.Number, fresh.entry.Target)
	}
	return o, true, pm.store.finish(out, o, func() error { return pm.ledger.AddResult(job.key, cache.Result{Object: o}) })
}

const tooLarge = "it would save too little"

// verifyPatch applies a patch like a client, so that a wrong patch is never published.
func verifyPatch(ctx context.Context, b *blobs, patch io.Reader, old, fresh releaseLists) error {
	p, err := delta.OpenSetPatch(patch, old.listing, fresh.sum)
	if err != nil {
		return err
	}
	return p.Apply(ctx, b.side(ctx, old.listing).Source, discardSink{})
}

// discardSink discards blobs that were verified while they were written.
type discardSink struct{}

func (discardSink) Begin(int) (io.Writer, error) { return io.Discard, nil }
func (discardSink) End(int) error                { return nil }
