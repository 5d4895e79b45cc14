package acquire

import (
	"context"
	"errors"

	"collet/netproto/release"
)

// findSources gets the sources of contents: from the delta index, else from the list of sources.
func (e *executing) findSources(ctx context.Context) error {
	if used, err := e.useDeltaIndex(ctx); used || err != nil {
		return err
	}
	return e.fetchSources(ctx)
}

// fetchSources fetches the list of sources.
func (e *executing) fetchSources(ctx context.Context) error {
	err := errNoSources
	if o := e.head.Sources; !o.IsZero() {
		var data []byte
		if data, err = e.objects.fetchBytes(ctx, o); err == nil {
			e.sources, err = release.UnpackSources(data, o)
		}
	}
	if err != nil && endsFetch(ctx, err) {
		return err
	}
	if e.sources == nil {
		e.sources = release.Sources{}
	}
	for _, b := range e.blobs {
		var found bool
		if b.source, found = e.sources.Find(b.sum); !found && len(b.wants) > 0 {
			missing := err
			if missing == nil {
				missing = errNoSource
			}
			e.failed(b, Entire, maxFailures, missing)
		}
	}
	return nil
}

var (
	errNoSources = errors.New("the release says nowhere where its files come from")
	errNoSource  = errors.New("the release does not say where this file comes from")
)

// useDeltaIndex uses the delta index as the list of sources, if it has a source for every missing content.
func (e *executing) useDeltaIndex(ctx context.Context) (bool, error) {
	index, err := e.index.fetch(ctx, e.connected)
	if err != nil || index == nil {
		return false, err
	}
	for _, b := range e.blobs {
		if _, found := index.sources.Find(b.sum); !found && len(b.wants) > 0 && len(b.done) == 0 {
			return false, nil
		}
	}
	for _, b := range e.blobs {
		b.source, _ = index.sources.Find(b.sum)
	}
	e.sources, e.indexed = index.sources, true
	return true, nil
}

// indexInsufficient reports whether the list of sources is needed after all: a content could not be fetched from its source in the delta
// index, or has no source there.
func (p *planning) indexInsufficient(plan Plan) bool {
	if !p.indexed {
		return false
	}
	for i, b := range p.blobs {
		m := plan.Strategy[i]
		if b.source.Content.IsZero() && (m == Entire || m == Chunked || m == Stuck) || len(b.wants) > 0 && p.failures.failedBySource(b.sum) {
			return true
		}
	}
	return false
}

// failedBySource reports whether a content could not be fetched from its source.
func (f failures) failedBySource(sum release.Digest) bool {
	return f.count(sum, Entire)+f.count(sum, Chunked) > 0
}

// replaceDeltaIndex replaces the delta index by the list of sources. Failures by the delta index no longer count; after one, the delta
// index is not used again.
func (e *executing) replaceDeltaIndex(ctx context.Context) error {
	e.o.Log.Warn().Msg("what changed lately does not give everything; the list of all sources is fetched")
	for _, b := range e.blobs {
		if e.failures.failedBySource(b.sum) {
			e.failures.record(e.head.Changes.Sum, byDeltaIndex, maxFailures)
		}
		e.failures.forget(b.sum, Entire)
		e.failures.forget(b.sum, Chunked)
		b.source = release.Source{}
	}
	e.sources, e.indexed = nil, false
	return e.fetchSources(ctx)
}
