package acquire

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/span"
)

// WholeChanges is the size in bytes up to which the changes of a release are fetched whole. Of larger ones only the part after the
// installed set is fetched: firstWindow at first, and then the rest of that part at once.
const WholeChanges = 2 * firstWindow

// byDeltaIndex is the key for counting failures of the delta index. It is not a strategy of a content.
const byDeltaIndex Strategy = "changes"

// deltaIndex is the changes of a release since an older set: the listing, which is verified, and the sources of changed contents, which
// are untrusted input. A content that can't be fetched from these is looked up in the list of sources.
type deltaIndex struct {
	changes, from release.Digest // the object of the changes, and the listing that they start from
	listing       release.Listing
	sources       release.Sources
}

var (
	errNotIndexed    = errors.New("the changes do not reach back to the installed release")
	errIndexTooLarge = errors.New("the lists are smaller than the needed part of the changes")
)

// deltaIndexReader fetches the delta index of a release, once for each pair of releases. It is for one goroutine.
type deltaIndexReader struct {
	objects  *objectStore
	failures failures
	log      zerolog.Logger
	index    *deltaIndex // once it was fetched
	begin    *beginning  // while it is examined
}

// mayFetch reports whether the head has changes that may be used for the installed release.
func (r *deltaIndexReader) mayFetch(c connected) bool {
	o := c.head.Changes
	return c.old != nil && !o.IsZero() && c.installed.Listing.Sum != c.head.Listing.Sum && r.failures.may(o.Sum, byDeltaIndex)
}

// fetched is the delta index if it was fetched already, else nil.
func (r *deltaIndexReader) fetched(c connected) *deltaIndex {
	if r.index != nil && r.index.changes == c.head.Changes.Sum && r.index.from == c.installed.Listing.Sum && r.mayFetch(c) {
		return r.index
	}
	return nil
}

// fetch fetches the delta index since the installed release. It is nil if the caller has to fetch the lists: no changes are published,
// or they are wrong. The only error is that of ctx.
func (r *deltaIndexReader) fetch(ctx context.Context, c connected) (*deltaIndex, error) {
	if index := r.fetched(c); index != nil || !r.mayFetch(c) {
		return index, nil
	}
	o := c.head.Changes
	index, err := r.read(ctx, o, c)
	if err == nil {
		r.index = index
		return index, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if endsFetch(ctx, err) {
		r.failures.record(o.Sum, byDeltaIndex, 1)
	} else {
		r.failures.record(o.Sum, byDeltaIndex, maxFailures) // the object is the one in the head, so the failure is permanent
	}
	if errors.Is(err, errNotIndexed) || errors.Is(err, errIndexTooLarge) {
		r.log.Info().Err(err).Msg("the lists are fetched")
	} else {
		r.log.Warn().Err(err).Stringer("object", o.Sum).Msg("the changes are not usable; the lists are fetched")
	}
	return nil, nil
}

func (r *deltaIndexReader) read(ctx context.Context, o release.Object, c connected) (*deltaIndex, error) {
	from := c.installed.Listing.Sum
	begin, err := r.beginning(ctx, o)
	if err != nil {
		return nil, err
	}
	r.begin = nil // not needed any more
	data, table := begin.data, begin.table
	reach := table.Reach(from)
	switch {
	case reach == 0:
		return nil, errNotIndexed
	case reach > o.Size:
		return nil, fmt.Errorf("the installed release needs %d of %d bytes: %w", reach, o.Size, errContent)
	case reach > int64(len(data)) && reach >= c.head.Listing.Object.Size+c.head.Sources.Size:
		return nil, errIndexTooLarge
	case reach > int64(len(data)):
		rest, err := r.objects.fetchRange(ctx, o, span.Of(int64(len(data)), reach))
		if err != nil {
			return nil, err
		}
		data = append(data, rest...)
	}
	index := &deltaIndex{changes: o.Sum, from: from}
	index.listing, index.sources, err = table.Apply(data, c.old, from, c.head.Listing.Sum)
	return index, err
}

// beginning is the first part of the changes, with the complete table and often with all that is needed.
type beginning struct {
	of    release.Digest
	data  []byte
	table *delta.Changes
}

// beginning returns the first part of the changes, and fetches it if needed.
func (r *deltaIndexReader) beginning(ctx context.Context, o release.Object) (b *beginning, err error) {
	if r.begin != nil && r.begin.of == o.Sum {
		return r.begin, nil
	}
	b = &beginning{of: o.Sum}
	if o.Size <= WholeChanges {
		b.data, err = r.objects.fetchBytes(ctx, o)
	} else {
		b.data, err = r.objects.fetchRange(ctx, o, download.Range{End: firstWindow})
	}
	if err == nil {
		b.table, err = delta.ReadChangesTable(b.data)
	}
	if err == nil {
		r.begin = b
	}
	return b, err
}

// follows reports whether a head has a patch or changes from a listing.
func (r *deltaIndexReader) follows(ctx context.Context, head release.Head, listing release.Digest) bool {
	_, found := head.PatchFrom(listing)
	if _, expanded := head.ExpandedFrom(listing); found || expanded || head.Changes.IsZero() {
		return found || expanded
	}
	if !r.failures.may(head.Changes.Sum, byDeltaIndex) {
		return false
	}
	begin, err := r.beginning(ctx, head.Changes)
	if err != nil {
		r.failures.record(head.Changes.Sum, byDeltaIndex, 1)
		return false
	}
	return begin.table.Reach(listing) > 0
}

// sourcesLeft is about how many bytes of sources are still to be fetched.
func (r *deltaIndexReader) sourcesLeft(c connected) int64 {
	switch {
	case r.fetched(c) != nil:
		return 0
	case r.mayFetch(c):
		return min(c.head.Changes.Size, c.head.Sources.Size)
	default:
		return c.head.Sources.Size
	}
}
