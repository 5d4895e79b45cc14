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

// index fetches the chunk indexes of contents with similar local files, and plans the missing chunks.
func (f *fetching) index(ctx context.Context, batch []*blob) error {
	a := newPrefetcher(ctx, download.MaxInFlight)
	defer a.close()
	sets, order := f.indexSets(batch)
	for _, o := range order {
		a.add(o.Size, func(ctx context.Context) (any, error) { return f.s.fetchBytes(ctx, o) })
	}
	for _, o := range order {
		data, err := a.next()
		var set *chunk.IndexSet
		if err == nil {
			set, err = chunk.ParseIndexSet(data.([]byte))
		}
		for _, c := range sets[o] {
			fault := err
			if fault == nil {
				fault = f.plan(ctx, c, set)
			}
			if fault != nil && ends(ctx, fault) {
				return fault
			}
			if fault != nil {
				f.failed(c, Chunked, maxFailures, fault)
			}
		}
	}
	return nil
}

// indexSets are the index objects that are worth fetching, with the contents of each.
func (f *fetching) indexSets(batch []*blob) (sets map[release.Object][]*blob, order []release.Object) {
	all := map[release.Object][]*blob{}
	for _, c := range batch {
		if !c.source.Index.IsZero() {
			c.local = f.alike(c)
			all[c.source.Index] = append(all[c.source.Index], c)
		}
	}
	sets = map[release.Object][]*blob{}
	seen := map[release.Object]bool{}
	for _, c := range batch {
		o := c.source.Index
		if o.IsZero() || seen[o] {
			continue
		}
		seen[o] = true
		var alike []Blob
		for _, c := range all[o] {
			if n := f.blobOf(c); len(c.local) > 0 || !n.may(Entire) {
				alike = append(alike, n)
				sets[o] = append(sets[o], c)
			}
		}
		if len(alike) > 0 && f.s.bytesHere(o) == o.Size || worthIndex(alike, o.Size, f.s.link()) {
			order = append(order, o)
		}
	}
	return sets, order
}

// alike opens local files that may have chunks of a content.
func (f *fetching) alike(c *blob) (files []delta.SetFile) {
	add := func(file delta.SetFile, _ int64) { files = append(files, file) }
	file := f.wants[c.wants[0]].File
	f.s.o.Disk.Here(file, add)
	for _, gone := range f.gone(file) {
		f.s.o.Disk.Here(gone, add)
	}
	return files
}

// gone lists removed files of the old set that a new file may derive from.
func (f *fetching) gone(file release.File) (list []release.File) {
	if _, stays := f.s.old.Find(file.Path); stays {
		return nil
	}
	for _, i := range Ancestors(f.s.old, f.s.listing, release.ListedFile{Path: file.Path, Size: file.Size}) {
		list = append(list, release.Listing{f.s.old[i]}.Files()[0])
	}
	return list
}

// plan reads the index of a content and finds its chunks in local files.
func (f *fetching) plan(ctx context.Context, c *blob, set *chunk.IndexSet) error {
	ix, err := set.Index(c.source.Entry)
	if err != nil {
		return err
	}
	if ix.Size() != c.size {
		return fmt.Errorf("%w: the index is of %d bytes", errContent, ix.Size())
	}
	plan, err := chunk.NewPlan([]*chunk.Index{ix})
	if err != nil {
		return err
	}
	for n, file := range c.local {
		if err := plan.OfferFile(ctx, n, ix.Grain, io.NewSectionReader(file, 0, 1<<62)); err != nil && ctx.Err() != nil {
			return err
		}
	}
	c.plan, c.ranges, c.chunks = plan, plan.Missing(f.s.link().Gap()), 0
	for _, r := range c.ranges {
		c.chunks += f.s.small.Missing(packObject(r.Pack).Name, span.Of(r.Offset, r.Offset+r.Size))
	}
	return nil
}

// chunks builds a content from chunks.
func (f *fetching) chunks(ctx context.Context, c *blob) error {
	file := f.wants[c.wants[0]].File
	inner, cancel := context.WithCancel(ctx)
	p := &packs{f: f, ctx: inner, ranges: map[chunk.PackRef][]chunk.Range{}, streams: map[chunk.PackRef]*io.PipeReader{}}
	for _, r := range c.ranges {
		p.ranges[r.Pack] = append(p.ranges[r.Pack], r)
	}
	err := f.stream(ctx, c, Chunked, func(w io.Writer) error {
		return c.plan.Assemble(ctx, &chunkDisk{f: f, c: c, file: file, w: w}, p.open)
	})
	cancel()
	p.wait()
	return err
}

// chunkDisk is the chunk.Disk for one content.
type chunkDisk struct {
	f    *fetching
	c    *blob
	file release.File
	w    io.Writer
}

// Source implements chunk.Disk.
func (d *chunkDisk) Source(n int) (io.ReaderAt, error) {
	if n >= len(d.c.local) {
		return nil, chunk.ErrGone
	}
	return d.c.local[n], nil
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
	d.f.s.o.Disk.Here(d.file, func(file delta.SetFile, _ int64) {
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
	f       *fetching
	ctx     context.Context // of the call of chunks
	ranges  map[chunk.PackRef][]chunk.Range
	streams map[chunk.PackRef]*io.PipeReader
	done    int64
	mu      sync.Mutex
	running sync.WaitGroup
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
		stream = p.begin(r.Pack, planned)
		p.streams[r.Pack] = stream
	}
	p.ranges[r.Pack] = planned[1:]
	return io.NopCloser(io.LimitReader(stream, r.Size)), nil
}

// begin starts fetching all ranges of a pack.
func (p *packs) begin(ref chunk.PackRef, planned []chunk.Range) *io.PipeReader {
	out, in := io.Pipe()
	ranges := make([]download.Range, len(planned))
	for i, r := range planned {
		ranges[i] = span.Of(r.Offset, r.Offset+r.Size)
	}
	stop := context.AfterFunc(p.ctx, func() { out.CloseWithError(context.Canceled) })
	p.running.Go(func() {
		defer stop()
		err := p.f.s.fetcher.RangesKept(p.ctx, packObject(ref), ranges, p.f.s.small, func(_ int, _ int64, data []byte) error {
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
	p.f.reportCarried(p.done)
}

// single fetches a range into memory, for chunks of local files that turned out to be wrong: at most 8 MB.
func (p *packs) single(ctx context.Context, r chunk.Range) (io.ReadCloser, error) {
	data := make([]byte, 0, r.Size)
	err := p.f.s.fetcher.Ranges(ctx, packObject(r.Pack), []download.Range{span.Of(r.Offset, r.Offset+r.Size)}, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// wait waits for the end of all streams.
func (p *packs) wait() { p.running.Wait() }
