package acquire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"collet/app/download"
	"collet/netproto/chunk"
	"collet/netproto/release"
)

const (
	// batchBytes is how many bytes of contents are planned together as chunks or whole objects. Plans use about a hundred bytes of
	// memory a chunk, so 12 MB for 2 GiB.
	batchBytes = 2 << 30
	// smallObject is the size in bytes up to which a whole object is fetched into memory. Larger ones go through the spool, where
	// they survive a stop of the process.
	smallObject = 1 << 20
	// maxPrefetch is how many bytes of prefetched small objects may be in memory.
	maxPrefetch = 16 << 20
	// maxPrefetchLarge is how many large objects may be prefetched at once.
	maxPrefetchLarge = 2
)

// findSources gets the sources of contents: from the delta index, else from the list of sources.
func (f *fetching) findSources(ctx context.Context) error {
	if near, err := f.useDeltaIndex(ctx); near || err != nil {
		return err
	}
	return f.fetchSources(ctx)
}

// fetchSources fetches the list of sources.
func (f *fetching) fetchSources(ctx context.Context) error {
	err := errNoSources
	if o := f.s.head.Sources; !o.IsZero() {
		var data []byte
		if data, err = f.s.fetchBytes(ctx, o); err == nil {
			f.sources, err = release.UnpackSources(data, o)
		}
	}
	if err != nil && ends(ctx, err) {
		return err
	}
	if f.sources == nil {
		f.sources = release.Sources{}
	}
	for _, c := range f.blobs {
		var found bool
		if c.source, found = f.sources.Find(c.sum); !found && len(c.wants) > 0 {
			missing := err
			if missing == nil {
				missing = errNoSource
			}
			f.failed(c, Entire, maxFailures, missing)
		}
	}
	return nil
}

var (
	errNoSources = errors.New("the release says nowhere where its files come from")
	errNoSource  = errors.New("the release does not say where this file comes from")
)

// scattered fetches a batch of contents one by one: it fetches their indexes, and then chooses again for each.
func (f *fetching) scattered(ctx context.Context, choice Choice) error {
	var batch []*blob
	size := int64(0)
	for _, c := range append(f.chosen(choice, Chunked), f.chosen(choice, Entire)...) {
		if size += c.size; size > batchBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, c)
	}
	defer func() {
		for _, c := range batch {
			c.forget()
		}
	}()
	if err := f.index(ctx, batch); err != nil {
		return err
	}
	part := fetching{s: f.s, wants: f.wants, blobs: batch, sources: f.sources}
	again := Choose(part.situation())
	for i, c := range batch {
		var err error
		if again.Strategy[i] == Chunked {
			err = f.chunks(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return f.wholes(ctx, part.chosen(again, Entire))
}

// forget drops the plan of a content and closes its local files.
func (c *blob) forget() {
	for _, file := range c.local {
		_ = file.Close() // an error does not matter after reading
	}
	c.plan, c.ranges, c.local = nil, nil, nil
}

// wholes fetches whole objects, several at once, and unpacks them in order.
func (f *fetching) wholes(ctx context.Context, list []*blob) error {
	a := newPrefetcher(ctx, download.MaxInFlight)
	defer a.close()
	line := &tally{f: f, done: map[*blob]int64{}}
	var by chunk.Unpacker
	for _, c := range list {
		weight := int64(maxPrefetch / maxPrefetchLarge)
		if c.source.Whole.Size <= smallObject {
			weight = c.source.Whole.Size
		}
		a.add(weight, func(ctx context.Context) (any, error) { return f.object(ctx, c, line) })
	}
	for _, c := range list {
		object, err := a.next()
		if err != nil && ends(ctx, err) {
			return err
		}
		if err != nil {
			f.failed(c, Entire, 1, err)
			continue
		}
		if err := f.unpack(ctx, &by, c, object, line); err != nil {
			return err
		}
	}
	return nil
}

// fetchedInPlace reports whether a content is stored unpacked, so that only its missing ranges have to be fetched.
func (f *fetching) fetchedInPlace(c *blob) bool {
	return c.source.Encoding == release.EncodedStored && c.size > smallObject && f.s.failures[failure{c.sum, Entire}] == 0
}

// object fetches a whole object: the bytes of a small one, else a *download.Spooled. It is nil for one that is fetched in place.
func (f *fetching) object(ctx context.Context, c *blob, line *tally) (any, error) {
	switch o := c.source.Whole; {
	case f.fetchedInPlace(c):
		return nil, nil
	case o.Size <= smallObject:
		data, err := f.s.fetchBytes(ctx, o)
		line.came(c, int64(len(data)))
		return data, err
	default:
		return f.s.fetchSpooled(ctx, o, func(done int64) { line.came(c, done) })
	}
}

// tally sums the received bytes of several objects.
type tally struct {
	f    *fetching
	mu   sync.Mutex
	done map[*blob]int64
	sum  int64
}

// came reports the number of received bytes of a content's object.
func (t *tally) came(c *blob, bytes int64) {
	t.mu.Lock()
	t.sum += bytes - t.done[c]
	t.done[c] = bytes
	sum := t.sum
	t.mu.Unlock()
	t.f.reportCarried(sum)
}

// unpack fills the next want of a content from its object.
func (f *fetching) unpack(ctx context.Context, by *chunk.Unpacker, c *blob, object any, line *tally) error {
	encoding, known := chunk.ParseEncoding(string(c.source.Encoding))
	if !known {
		f.failed(c, Entire, maxFailures, fmt.Errorf("encoding %q: %w", c.source.Encoding, release.ErrNewFormat))
		return nil
	}
	switch o := object.(type) {
	case []byte:
		err := f.stream(ctx, c, Entire, func(w io.Writer) error {
			return by.Unpack(ctx, w, bytes.NewReader(o), encoding, c.size)
		})
		if len(c.wants) == 0 {
			f.s.small.Drop(c.source.Whole.Path())
		}
		return err
	case *download.Spooled:
		err := f.stream(ctx, c, Entire, func(w io.Writer) error {
			return by.Unpack(ctx, w, io.NewSectionReader(o, 0, o.Size()), encoding, c.size)
		})
		if err = errors.Join(err, o.Close()); err != nil {
			return err
		}
		return f.s.discard(ctx, c.source.Whole)
	default:
		return f.fetchInPlace(ctx, c, line)
	}
}

// fetchInPlace fetches the missing ranges of a stored content directly into its want.
func (f *fetching) fetchInPlace(ctx context.Context, c *blob, line *tally) error {
	i := c.wants[0]
	want := f.wants[i]
	done := int64(0)
	o := download.ObjectAt(c.source.Whole)
	err := f.s.fetcher.RangesKept(ctx, o, want.Missing, f.s.small, func(_ int, offset int64, data []byte) error {
		done += int64(len(data))
		line.came(c, done)
		f.s.small.DropBefore(o.Name, offset) // the part of the install has it
		return f.to.Deliver(i, data)
	})
	if err != nil && ends(ctx, err) {
		return err
	}
	if err != nil {
		f.failed(c, Entire, 1, err)
		if done == 0 {
			return nil
		}
		return (&filler{f: f, c: c, want: i, some: true}).giveUp()
	}
	f.s.small.Drop(o.Name)
	f.s.updateReport(func(r *Report) { r.Bytes[Entire] += c.size })
	f.complete(c, i)
	return nil
}
