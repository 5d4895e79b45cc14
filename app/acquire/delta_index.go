package acquire

import (
	"context"
	"errors"
	"fmt"

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
	errNotIndexed    = errors.New("the release does not say what changed since the installed one")
	errIndexTooLarge = errors.New("so much has changed that the lists are less")
)

// mayFetchDeltaIndex reports whether the head has changes that may be used for the installed release.
func (s *Source) mayFetchDeltaIndex() bool {
	o := s.head.Changes
	return s.old != nil && !o.IsZero() && s.installed.Listing.Sum != s.head.Listing.Sum && s.failures[failure{o.Sum, byDeltaIndex}] < maxFailures
}

// knownDeltaIndex is the delta index if it was fetched already, else nil.
func (s *Source) knownDeltaIndex() *deltaIndex {
	if s.deltaIndex != nil && s.deltaIndex.changes == s.head.Changes.Sum && s.deltaIndex.from == s.installed.Listing.Sum && s.mayFetchDeltaIndex() {
		return s.deltaIndex
	}
	return nil
}

// fetchDeltaIndex fetches the delta index since the installed release. It is nil if the caller has to fetch the lists: no changes are
// published, or they are wrong. The only error is that of ctx.
func (s *Source) fetchDeltaIndex(ctx context.Context) (*deltaIndex, error) {
	if near := s.knownDeltaIndex(); near != nil || !s.mayFetchDeltaIndex() {
		return near, nil
	}
	o := s.head.Changes
	near, err := s.readDeltaIndex(ctx, o)
	if err == nil {
		s.deltaIndex = near
		return near, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if s.failures[failure{o.Sum, byDeltaIndex}]++; !ends(ctx, err) {
		s.failures[failure{o.Sum, byDeltaIndex}] = maxFailures // the object is the one in the head, so the failure is permanent
	}
	if errors.Is(err, errNotIndexed) || errors.Is(err, errIndexTooLarge) {
		s.o.Log.Info().Err(err).Msg("the lists are fetched")
	} else {
		s.o.Log.Warn().Err(err).Stringer("object", o.Sum).Msg("what changed lately is not to be had; the lists are fetched")
	}
	return nil, nil
}

func (s *Source) readDeltaIndex(ctx context.Context, o release.Object) (*deltaIndex, error) {
	from := s.installed.Listing.Sum
	begin, err := s.beginning(ctx, o)
	if err != nil {
		return nil, err
	}
	s.begin = nil // not needed any more
	data, table := begin.data, begin.table
	reach := table.Reach(from)
	switch {
	case reach == 0:
		return nil, errNotIndexed
	case reach > o.Size:
		return nil, fmt.Errorf("%d of %d bytes are about it: %w", reach, o.Size, errContent)
	case reach > int64(len(data)) && reach >= s.head.Listing.Object.Size+s.head.Sources.Size:
		return nil, errIndexTooLarge
	case reach > int64(len(data)):
		rest, err := s.fetchPiece(ctx, o, span.Of(int64(len(data)), reach))
		if err != nil {
			return nil, err
		}
		data = append(data, rest...)
	}
	near := &deltaIndex{changes: o.Sum, from: from}
	near.listing, near.sources, err = table.Apply(data, s.old, from, s.head.Listing.Sum)
	return near, err
}

// beginning is the first part of the changes, with the complete table and often with all that is needed.
type beginning struct {
	of    release.Digest
	data  []byte
	table *delta.Changes
}

// beginning returns the first part of the changes, and fetches it if needed.
func (s *Source) beginning(ctx context.Context, o release.Object) (b *beginning, err error) {
	if s.begin != nil && s.begin.of == o.Sum {
		return s.begin, nil
	}
	b = &beginning{of: o.Sum}
	if o.Size <= WholeChanges {
		b.data, err = s.fetchBytes(ctx, o)
	} else {
		b.data, err = s.fetchPiece(ctx, o, download.Range{End: firstWindow})
	}
	if err == nil {
		b.table, err = delta.ReadChangesTable(b.data)
	}
	if err == nil {
		s.begin = b
	}
	return b, err
}

// follows reports whether the head has a patch or changes from a listing.
func (s *Source) follows(ctx context.Context, listing release.Digest) bool {
	if _, found := s.head.PatchFrom(listing); found || s.head.Changes.IsZero() {
		return found
	}
	fault := failure{s.head.Changes.Sum, byDeltaIndex}
	if s.failures[fault] >= maxFailures {
		return false
	}
	begin, err := s.beginning(ctx, s.head.Changes)
	if err != nil {
		s.failures[fault]++
		return false
	}
	return begin.table.Reach(listing) > 0
}

// fetchPiece fetches a range of an object into memory. It is unverified.
func (s *Source) fetchPiece(ctx context.Context, o release.Object, r download.Range) (data []byte, err error) {
	err = s.fetcher.RangesKept(ctx, download.ObjectAt(o), []download.Range{r}, s.small, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	return data, err
}

// sourcesLeft is about how many bytes of sources are still to be fetched.
func (s *Source) sourcesLeft() int64 {
	switch {
	case s.knownDeltaIndex() != nil:
		return 0
	case s.mayFetchDeltaIndex():
		return min(s.head.Changes.Size, s.head.Sources.Size)
	default:
		return s.head.Sources.Size
	}
}

// useDeltaIndex uses the delta index as the list of sources, if it has a source for every missing content.
func (f *fetching) useDeltaIndex(ctx context.Context) (bool, error) {
	near, err := f.s.fetchDeltaIndex(ctx)
	if err != nil || near == nil {
		return false, err
	}
	for _, c := range f.blobs {
		if _, found := near.sources.Find(c.sum); !found && len(c.wants) > 0 && len(c.done) == 0 {
			return false, nil
		}
	}
	for _, c := range f.blobs {
		c.source, _ = near.sources.Find(c.sum)
	}
	f.sources, f.indexed = near.sources, true
	return true, nil
}

// indexInsufficient reports whether the list of sources is needed after all: a content could not be fetched from its source in the delta
// index, or has no source there.
func (f *fetching) indexInsufficient(choice Choice) bool {
	if !f.indexed {
		return false
	}
	for i, c := range f.blobs {
		m := choice.Strategy[i]
		if c.source.Content.IsZero() && (m == Entire || m == Chunked || m == Stuck) || len(c.wants) > 0 && f.failedBySource(c) {
			return true
		}
	}
	return false
}

func (f *fetching) failedBySource(c *blob) bool {
	return f.s.failures[failure{c.sum, Entire}]+f.s.failures[failure{c.sum, Chunked}] > 0
}

// replaceDeltaIndex replaces the delta index by the list of sources. Failures by the delta index no longer count; after one, the delta
// index is not used again.
func (f *fetching) replaceDeltaIndex(ctx context.Context) error {
	f.s.o.Log.Warn().Msg("what changed lately does not give everything; the list of all sources is fetched")
	for _, c := range f.blobs {
		if f.failedBySource(c) {
			f.s.failures[failure{f.s.head.Changes.Sum, byDeltaIndex}] = maxFailures
		}
		delete(f.s.failures, failure{c.sum, Entire})
		delete(f.s.failures, failure{c.sum, Chunked})
		c.source = release.Source{}
	}
	f.sources, f.indexed = nil, false
	return f.fetchSources(ctx)
}
