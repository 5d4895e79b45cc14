package transfer

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

// byChanges stands beside the means where failures are counted.
const byChanges Means = "changes"

// nearby is what the changes of a release say to who has an older set: the listing, which is proven, and where the contents
// of changed files come from, which is not: somebody gave it who may have anything in mind, and a content that does not come
// from there is looked up in the list of sources.
type nearby struct {
	changes, from release.Digest // of which object, and to which listing
	listing       release.Listing
	sources       release.Sources
}

var (
	errNoChanges  = errors.New("the release does not say what changed since the installed one")
	errFarChanges = errors.New("so much has changed that the lists are less")
)

// mayAskChanges reports whether the changes of the head may be of use.
func (s *Source) mayAskChanges() bool {
	o := s.head.Changes
	return s.old != nil && !o.IsZero() && s.have.Listing.Sum != s.head.Listing.Sum && s.failures[failure{o.Sum, byChanges}] < maxFailures
}

// nearHere is what is known already.
func (s *Source) nearHere() *nearby {
	if s.near != nil && s.near.changes == s.head.Changes.Sum && s.near.from == s.have.Listing.Sum && s.mayAskChanges() {
		return s.near
	}
	return nil
}

// lately asks what changed since the installed release. What is wrong with the answer costs the lists and nothing else; only
// end of ctx comes back as an error. nil is for who needs the lists.
func (s *Source) lately(ctx context.Context) (*nearby, error) {
	if near := s.nearHere(); near != nil || !s.mayAskChanges() {
		return near, nil
	}
	o := s.head.Changes
	near, err := s.askChanges(ctx, o)
	if err == nil {
		s.near = near
		return near, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if s.failures[failure{o.Sum, byChanges}]++; !ends(ctx, err) {
		s.failures[failure{o.Sum, byChanges}] = maxFailures // what the head names will not become better
	}
	if errors.Is(err, errNoChanges) || errors.Is(err, errFarChanges) {
		s.o.Log.Info().Err(err).Msg("the lists are fetched")
	} else {
		s.o.Log.Warn().Err(err).Stringer("object", o.Sum).Msg("what changed lately is not to be had; the lists are fetched")
	}
	return nil, nil
}

func (s *Source) askChanges(ctx context.Context, o release.Object) (*nearby, error) {
	from := s.have.Listing.Sum
	begin, err := s.beginning(ctx, o)
	if err != nil {
		return nil, err
	}
	s.begin = nil // it is not needed again
	data, table := begin.data, begin.table
	reach := table.Reach(from)
	switch {
	case reach == 0:
		return nil, errNoChanges
	case reach > o.Size:
		return nil, fmt.Errorf("%d of %d bytes are about it: %w", reach, o.Size, errContent)
	case reach > int64(len(data)) && reach >= s.head.Listing.Object.Size+s.head.Sources.Size:
		return nil, errFarChanges
	case reach > int64(len(data)):
		rest, err := s.piece(ctx, o, span.Of(int64(len(data)), reach))
		if err != nil {
			return nil, err
		}
		data = append(data, rest...)
	}
	near := &nearby{changes: o.Sum, from: from}
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
		b.data, err = s.bytes(ctx, o)
	} else {
		b.data, err = s.piece(ctx, o, download.Range{End: firstWindow})
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
	fault := failure{s.head.Changes.Sum, byChanges}
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

// piece gets a part of an object into memory. Nobody has vouched for it.
func (s *Source) piece(ctx context.Context, o release.Object, r download.Range) (data []byte, err error) {
	err = s.fetcher.RangesKept(ctx, download.ObjectAt(o), []download.Range{r}, s.small, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	return data, err
}

// sourcesLeft is about how many bytes have to come before it is known where contents come from.
func (s *Source) sourcesLeft() int64 {
	switch {
	case s.nearHere() != nil:
		return 0
	case s.mayAskChanges():
		return min(s.head.Changes.Size, s.head.Sources.Size)
	default:
		return s.head.Sources.Size
	}
}

// learnNear takes what changed lately for the list of sources, if that says where everything comes from that is missing.
func (f *fetching) learnNear(ctx context.Context) (bool, error) {
	near, err := f.s.lately(ctx)
	if err != nil || near == nil {
		return false, err
	}
	for _, c := range f.contents {
		if _, found := near.sources.Find(c.sum); !found && len(c.wants) > 0 && len(c.done) == 0 {
			return false, nil
		}
	}
	for _, c := range f.contents {
		c.source, _ = near.sources.Find(c.sum)
	}
	f.sources, f.near = near.sources, true
	return true, nil
}

// doubtful reports whether the list of sources is needed after all: a content did not come from where the changes say, or
// they say nothing of it.
func (f *fetching) doubtful(choice Choice) bool {
	if !f.near {
		return false
	}
	for i, c := range f.contents {
		m := choice.Means[i]
		if c.source.Content.IsZero() && (m == Entire || m == Chunked || m == Stuck) || len(c.wants) > 0 && f.failedBySource(c) {
			return true
		}
	}
	return false
}

func (f *fetching) failedBySource(c *content) bool {
	return f.s.failures[failure{c.sum, Entire}]+f.s.failures[failure{c.sum, Chunked}] > 0
}

// widen fetches the list of sources in the place of what changed lately. What failed by those counts no more; and where
// anything did, they are not asked again.
func (f *fetching) widen(ctx context.Context) error {
	f.s.o.Log.Warn().Msg("what changed lately does not give everything; the list of all sources is fetched")
	for _, c := range f.contents {
		if f.failedBySource(c) {
			f.s.failures[failure{f.s.head.Changes.Sum, byChanges}] = maxFailures
		}
		delete(f.s.failures, failure{c.sum, Entire})
		delete(f.s.failures, failure{c.sum, Chunked})
		c.source = release.Source{}
	}
	f.sources, f.near = nil, false
	return f.learnAll(ctx)
}
