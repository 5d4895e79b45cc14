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

// WholeChanges is the size in bytes up to which the changes of a release are fetched whole. Of larger ones only so much comes
// as follows the installed set: firstWindow at first, and then the rest of it at once.
const WholeChanges = 2 * firstWindow

// byDeltaIndex stands beside the means where failures are counted.
const byDeltaIndex Strategy = "changes"

// deltaIndex is what the changes of a release say about an older set: the listing, which is proven, and where the contents
// of changed files come from, which is untrusted input. A content that does not come from
// there is looked up in the list of sources.
type deltaIndex struct {
	changes, from release.Digest // of which object, and to which listing
	listing       release.Listing
	sources       release.Sources
}

var (
	errNotIndexed    = errors.New("the release does not say what changed since the installed one")
	errIndexTooLarge = errors.New("so much has changed that the lists are less")
)

// mayFetchDeltaIndex reports whether the changes of the head may be of use.
func (s *Source) mayFetchDeltaIndex() bool {
	o := s.head.Changes
	return s.old != nil && !o.IsZero() && s.installed.Listing.Sum != s.head.Listing.Sum && s.failures[failure{o.Sum, byDeltaIndex}] < maxFailures
}

// knownDeltaIndex is what is known already.
func (s *Source) knownDeltaIndex() *deltaIndex {
	if s.deltaIndex != nil && s.deltaIndex.changes == s.head.Changes.Sum && s.deltaIndex.from == s.installed.Listing.Sum && s.mayFetchDeltaIndex() {
		return s.deltaIndex
	}
	return nil
}

// fetchDeltaIndex asks what changed since the installed release. What is wrong with the answer costs the lists and nothing else; only
// end of ctx comes back as an error. nil is for who needs the lists.
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
		s.failures[failure{o.Sum, byDeltaIndex}] = maxFailures // what the head names will not become better
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
	s.begin = nil // it is not needed again
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

// beginning is so much of the changes that their table is complete, and often all that matters.
type beginning struct {
	of    release.Digest
	data  []byte
	table *delta.Changes
}

// beginning gets it, unless it is here.
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

// follows reports whether the head says what changed since a listing, or has a patch from it.
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

// fetchPiece gets a part of an object into memory. It is unverified.
func (s *Source) fetchPiece(ctx context.Context, o release.Object, r download.Range) (data []byte, err error) {
	err = s.fetcher.RangesKept(ctx, download.ObjectAt(o), []download.Range{r}, s.small, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	return data, err
}

// sourcesLeft is about how many bytes have to come before it is known where contents come from.
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

// useDeltaIndex takes the delta index for the list of sources, if that says where everything comes from that is missing.
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

// indexInsufficient reports whether the list of sources is needed after all: a content did not come from where the changes say, or
// they say nothing of it.
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

// replaceDeltaIndex fetches the list of sources in the place of the delta index. What failed by those counts no more; and where
// anything did, they are not asked again.
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
