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
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/span"
)

// chunkedBlob is a content that may be built from chunks.
type chunkedBlob struct {
	local   []delta.SetFile // open local files to copy from
	plan    *chunk.Plan     // nil if the index was not worth fetching
	ranges  []chunk.Range   // the missing ranges of packs
	missing int64           // their bytes that are not here yet
}

// close closes the local files. On nil it does nothing.
func (c *chunkedBlob) close() {
	if c == nil {
		return
	}
	for _, file := range c.local {
		_ = file.Close() // an error does not matter after reading
	}
}

// readIndexes fetches the chunk indexes of contents with similar local files, and plans the missing chunks.
func (e *executing) readIndexes(ctx context.Context, batch []*blob) error {
	a := newPrefetcher(ctx, download.MaxInFlight)
	defer a.close()
	sets, order := e.worthIndexes(batch)
	for _, o := range order {
		a.addTask(o.Size, func(ctx context.Context) (any, error) { return e.objects.fetchBytes(ctx, o) })
	}
	for _, o := range order {
		data, err := a.nextResult()
		var set *chunk.IndexSet
		if err == nil {
			set, err = chunk.ParseIndexSet(data.([]byte))
		}
		for _, b := range sets[o] {
			fault := err
			if fault == nil {
				fault = e.planChunks(ctx, b, set)
			}
			if fault != nil && endsFetch(ctx, fault) {
				return fault
			}
			if fault != nil {
				e.failed(b, Chunked, maxFailures, fault)
			}
		}
	}
	return nil
}

// worthIndexes are the index objects that are worth fetching, with the contents of each.
func (e *executing) worthIndexes(batch []*blob) (sets map[release.Object][]*blob, order []release.Object) {
	all := map[release.Object][]*blob{}
	for _, b := range batch {
		if !b.source.Index.IsZero() {
			b.chunks = &chunkedBlob{local: e.openSimilar(e.o.Disk, e.wants[b.wants[0]].File)}
			all[b.source.Index] = append(all[b.source.Index], b)
		}
	}
	sets = map[release.Object][]*blob{}
	seen := map[release.Object]bool{}
	for _, b := range batch {
		o := b.source.Index
		if o.IsZero() || seen[o] {
			continue
		}
		seen[o] = true
		var alike []Blob
		for _, b := range all[o] {
			if n := e.blobFacts(b); len(b.chunks.local) > 0 || !n.may(Entire) {
				alike = append(alike, n)
				sets[o] = append(sets[o], b)
			}
		}
		if len(alike) > 0 && e.objects.countReceived(o) == o.Size || WorthIndex(alike, o.Size, e.mirrors.link(e.o.Link)) {
			order = append(order, o)
		}
	}
	return sets, order
}

// planChunks reads the index of a content and finds its chunks in local files.
func (e *executing) planChunks(ctx context.Context, b *blob, set *chunk.IndexSet) error {
	ix, err := set.Index(b.source.Entry)
	if err != nil {
		return err
	}
	if ix.Size() != b.size {
		return fmt.Errorf("%w: the index is of %d bytes", errContent, ix.Size())
	}
	plan, err := chunk.NewPlan([]*chunk.Index{ix})
	if err != nil {
		return err
	}
	for n, file := range b.chunks.local {
		if err := plan.OfferFile(ctx, n, ix.Grain, io.NewSectionReader(file, 0, 1<<62)); err != nil && ctx.Err() != nil {
			return err
		}
	}
	c := b.chunks
	c.plan, c.ranges = plan, plan.Missing(e.mirrors.link(e.o.Link).Gap())
	for _, r := range c.ranges {
		c.missing += e.objects.small.Missing(packObject(r.Pack).Name, span.Of(r.Offset, r.Offset+r.Size))
	}
	return nil
}

// assemble builds a content from chunks.
func (e *executing) assemble(ctx context.Context, b *blob) error {
	inner, cancel := context.WithCancel(ctx)
	p := &packs{
		mirrors: e.mirrors, small: e.objects.small, progress: e.progress, ctx: inner,
		ranges: map[chunk.PackRef][]chunk.Range{}, streams: map[chunk.PackRef]*io.PipeReader{},
	}
	for _, r := range b.chunks.ranges {
		p.ranges[r.Pack] = append(p.ranges[r.Pack], r)
	}
	disk := chunkDisk{disk: e.o.Disk, local: b.chunks.local, file: e.wants[b.wants[0]].File}
	err := e.stream(ctx, b, Chunked, func(w io.Writer) error {
		disk.w = w
		return b.chunks.plan.Assemble(ctx, &disk, p.open)
	})
	cancel()
	p.running.Wait()
	return err
}

// chunkDisk is the chunk.Disk for one content.
type chunkDisk struct {
	disk  Disk
	local []delta.SetFile
	file  release.File
	w     io.Writer
}

// Source implements chunk.Disk.
func (d *chunkDisk) Source(n int) (io.ReaderAt, error) {
	if n >= len(d.local) {
		return nil, chunk.ErrGone
	}
	return d.local[n], nil
}

// Create implements chunk.Disk.
func (d *chunkDisk) Create(int) (chunk.Output, error) { return d, nil }

// Written implements chunk.Disk.
func (d *chunkDisk) Written(int) (io.ReaderAt, error) { return d, nil }

// Write implements chunk.Output.
func (d *chunkDisk) Write(p []byte) (int, error) { return d.w.Write(p) }

// ReadAt implements chunk.Output. It reads the part, which is the last file that Disk.Here visits. Assemble checks all bytes, and
// fetches bytes again that can't be read.
func (d *chunkDisk) ReadAt(p []byte, off int64) (n int, err error) {
	var last delta.SetFile
	d.disk.OpenVersions(d.file, func(file delta.SetFile, _ int64) {
		if last != nil {
			_ = last.Close()
		}
		last = file
	})
	if last == nil {
		return 0, io.ErrUnexpectedEOF
	}
	n, err = last.ReadAt(p, off)
	return n, errors.Join(err, last.Close())
}

// packs provides the ranges of packs to Assemble as streams, one for each pack. All ranges of a pack are requested at once.
type packs struct {
	mirrors  *mirrorPool
	small    *download.Pieces
	progress *progress
	ctx      context.Context // of the call of assemble
	ranges   map[chunk.PackRef][]chunk.Range
	streams  map[chunk.PackRef]*io.PipeReader
	running  sync.WaitGroup

	mu   sync.Mutex
	done int64
}

// packObject is a pack as an object.
func packObject(p chunk.PackRef) download.Object {
	o := download.ObjectAt(release.Object{Sum: release.SHA256Digest(p.Digest), Size: p.Size})
	o.Parts = true
	return o
}

// open implements chunk.OpenRange. An unplanned range is fetched by itself.
func (p *packs) open(ctx context.Context, r chunk.Range) (io.ReadCloser, error) {
	planned := p.ranges[r.Pack]
	if len(planned) == 0 || planned[0] != r {
		return p.single(ctx, r)
	}
	stream := p.streams[r.Pack]
	if stream == nil {
		stream = p.startStream(r.Pack, planned)
		p.streams[r.Pack] = stream
	}
	p.ranges[r.Pack] = planned[1:]
	return io.NopCloser(io.LimitReader(stream, r.Size)), nil
}

// startStream starts fetching all ranges of a pack.
func (p *packs) startStream(ref chunk.PackRef, planned []chunk.Range) *io.PipeReader {
	out, in := io.Pipe()
	ranges := make([]download.Range, len(planned))
	for i, r := range planned {
		ranges[i] = span.Of(r.Offset, r.Offset+r.Size)
	}
	stop := context.AfterFunc(p.ctx, func() { out.CloseWithError(context.Canceled) })
	p.running.Go(func() {
		defer stop()
		err := p.mirrors.current().Ranges(p.ctx, packObject(ref), ranges, p.small, func(_ int, _ int64, data []byte) error {
			p.count(int64(len(data)))
			_, err := in.Write(data)
			return err
		})
		in.CloseWithError(err)
	})
	return out
}

func (p *packs) count(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.progress.reportTraffic(p.done)
}

// single fetches a range into memory, for chunks of local files that turned out to be wrong: at most 8 MB.
func (p *packs) single(ctx context.Context, r chunk.Range) (io.ReadCloser, error) {
	data := make([]byte, 0, r.Size)
	err := p.mirrors.current().Ranges(ctx, packObject(r.Pack), []download.Range{span.Of(r.Offset, r.Offset+r.Size)}, nil, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
