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

// fetchBatch fetches a batch of contents one by one: it fetches their indexes, and then chooses again for each.
func (e *executing) fetchBatch(ctx context.Context, list []*blob) error {
	var batch []*blob
	size := int64(0)
	for _, b := range list {
		if size += b.size; size > batchBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, b)
	}
	defer func() {
		for _, b := range batch {
			b.chunks.close()
			b.chunks = nil
		}
	}()
	if err := e.readIndexes(ctx, batch); err != nil {
		return err
	}
	situation := e.situation(batch)
	situation.Patch = Unknown
	again := Choose(situation)
	for _, b := range choose(batch, again, Chunked) {
		if err := e.assemble(ctx, b); err != nil {
			return err
		}
	}
	whole := wholeBatch{executing: e, came: map[*blob]int64{}}
	return whole.fetch(ctx, choose(batch, again, Entire))
}

// wholeBatch fetches the whole objects of several contents at once, and unpacks them in order.
type wholeBatch struct {
	*executing
	unpacker chunk.Unpacker

	mu   sync.Mutex
	came map[*blob]int64 // received bytes
	sum  int64           // of came
}

// fetch fetches the objects and fills the wants.
func (w *wholeBatch) fetch(ctx context.Context, list []*blob) error {
	a := newPrefetcher(ctx, download.MaxInFlight)
	defer a.close()
	for _, b := range list {
		weight := int64(maxPrefetch / maxPrefetchLarge)
		if b.source.Whole.Size <= smallObject {
			weight = b.source.Whole.Size
		}
		do := func(ctx context.Context) (any, error) { return w.fetchObject(ctx, b) }
		if w.fetchedInPlace(b) {
			do = func(context.Context) (any, error) { return nil, nil }
		}
		a.addTask(weight, do)
	}
	for _, b := range list {
		object, err := a.nextResult()
		if err != nil && endsFetch(ctx, err) {
			return err
		}
		if err != nil {
			w.failed(b, Entire, 1, err)
			continue
		}
		if err := w.unpack(ctx, b, object); err != nil {
			return err
		}
	}
	return nil
}

// fetchedInPlace reports whether a content is stored unpacked, so that only its missing ranges have to be fetched.
func (w *wholeBatch) fetchedInPlace(b *blob) bool {
	return b.source.Encoding == release.EncodedStored && b.size > smallObject && w.failures.count(b.sum, Entire) == 0
}

// fetchObject fetches a whole object: the bytes of a small one, else a *download.Spooled. Several run at once.
func (w *wholeBatch) fetchObject(ctx context.Context, b *blob) (any, error) {
	o := b.source.Whole
	if o.Size <= smallObject {
		data, err := w.objects.fetchBytes(ctx, o)
		w.countReceived(b, int64(len(data)))
		return data, err
	}
	return w.objects.fetchSpooled(ctx, o, func(done int64) { w.countReceived(b, done) })
}

// countReceived reports the number of received bytes of a content's object. It is safe for concurrent use.
func (w *wholeBatch) countReceived(b *blob, bytes int64) {
	w.mu.Lock()
	w.sum += bytes - w.came[b]
	w.came[b] = bytes
	sum := w.sum
	w.mu.Unlock()
	w.progress.reportTraffic(sum)
}

// unpack fills the next want of a content from its object.
func (w *wholeBatch) unpack(ctx context.Context, b *blob, object any) error {
	encoding, known := chunk.ParseEncoding(string(b.source.Encoding))
	if !known {
		w.failed(b, Entire, maxFailures, fmt.Errorf("encoding %q: %w", b.source.Encoding, release.ErrNewFormat))
		return nil
	}
	switch o := object.(type) {
	case []byte:
		err := w.stream(ctx, b, Entire, func(to io.Writer) error {
			return w.unpacker.Unpack(ctx, to, bytes.NewReader(o), encoding, b.size)
		})
		if len(b.wants) == 0 {
			w.objects.small.Drop(b.source.Whole.Path())
		}
		return err
	case *download.Spooled:
		err := w.stream(ctx, b, Entire, func(to io.Writer) error {
			return w.unpacker.Unpack(ctx, to, io.NewSectionReader(o, 0, o.Size()), encoding, b.size)
		})
		if err = errors.Join(err, o.Close()); err != nil {
			return err
		}
		return w.objects.discard(ctx, b.source.Whole)
	default:
		return w.fetchInPlace(ctx, b)
	}
}

// fetchInPlace fetches the missing ranges of a stored content directly into its want.
func (w *wholeBatch) fetchInPlace(ctx context.Context, b *blob) error {
	i := b.wants[0]
	want := w.wants[i]
	done := int64(0)
	o := download.ObjectAt(b.source.Whole)
	err := w.mirrors.current().Ranges(ctx, o, want.Missing, w.objects.small, func(_ int, offset int64, data []byte) error {
		done += int64(len(data))
		w.countReceived(b, done)
		w.objects.small.DropBefore(o.Name, offset) // the part of the install has it
		return w.to.Deliver(i, data)
	})
	if err != nil && endsFetch(ctx, err) {
		return err
	}
	if err != nil {
		w.failed(b, Entire, 1, err)
		if done == 0 {
			return nil
		}
		return (&filler{d: &w.delivery, blob: b, want: i, some: true}).restart()
	}
	w.objects.small.Drop(o.Name)
	w.progress.countBlob(Entire, b.size)
	w.complete(b, i)
	return nil
}
