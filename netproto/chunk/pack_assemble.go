package chunk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Disk is the file access of Assemble. One goroutine calls its methods. Their errors, and those of the returned values,
// end Assemble and are returned unchanged.
type Disk interface {
	// Source returns local source number n as offered to the plan, or an error that wraps ErrGone if it no longer exists.
	Source(n int) (io.ReaderAt, error)
	// Create returns new file n, which is written sequentially. Files are created in the order of the plan, each after
	// the previous one is complete.
	Create(n int) (Output, error)
	// Written returns new file n, complete or in progress, because it or a later file repeats a part of it. It is called
	// once and its result used until Assemble returns.
	Written(n int) (io.ReaderAt, error)
}

// Output is a new file. ReadAt is called only for bytes that were written.
type Output interface {
	io.Writer
	io.ReaderAt
}

// ErrGone is a Disk's error for an unreadable source; its chunks are then fetched.
var ErrGone = errors.New("local source is gone")

// errNotPlanned is a bug of the caller.
var errNotPlanned = errors.New("internal error: the plan has not been asked what is missing")

// OpenRange starts the fetch of a range of a pack. The ranges are those of Missing, in their order for each pack, but a
// range of another pack may be opened before this one is read to its end. Damaged pieces of a local source are fetched
// as additional ranges; their length doubles with each consecutive failure. Assemble closes the readers. A response that
// ends early must give io.ErrUnexpectedEOF.
type OpenRange func(ctx context.Context, r Range) (io.ReadCloser, error)

// Sizes of Assemble's buffers in bytes: reads of a local source, and writes.
const (
	localRead  = 512 << 10
	assembleTo = 256 << 10
)

// maxRepair bounds the chunks of one additional range, as a power of two: 512, or 8 MB of a coarse file.
const maxRepair = 9

// Assemble builds the files of the plan, after a call of Missing. Memory is about 2 MB beside the plan and the readers.
// It checks every chunk's sum, but only the file's own digest, which the caller checks, is authoritative. Wrong bytes in
// a pack are a *DamageError.
func (p *Plan) Assemble(ctx context.Context, disk Disk, open OpenRange) error {
	if p.steps == nil {
		return errNotPlanned
	}
	dec, err := newChunkDecoder()
	if err != nil {
		return err
	}
	defer dec.close()
	a := &assembly{plan: p, disk: disk, open: open, dec: dec, streams: map[PackRef]*packStream{}, sources: map[int32]io.ReaderAt{}}
	for _, r := range p.ranges {
		s := a.streams[r.Pack]
		if s == nil {
			s = &packStream{}
			a.streams[r.Pack] = s
		}
		s.ranges = append(s.ranges, r)
	}
	err = a.run(ctx)
	for _, s := range a.streams {
		err = errors.Join(err, s.close())
	}
	if a.repair != nil {
		err = errors.Join(err, a.repair.close())
	}
	return err
}

// assembly is one call of Assemble.
type assembly struct {
	plan    *Plan
	disk    Disk
	open    OpenRange
	dec     *chunkDecoder
	streams map[PackRef]*packStream
	sources map[int32]io.ReaderAt // nil for one that no longer exists
	packed  [MaxChunk]byte
	ahead   localWindow
	repair  *packStream // fetches chunks that the local source lacks
	repairs int         // remaining chunks of it
	bad     uint        // consecutive repairs without a good local chunk

	file    int
	out     Output
	written int64  // of the file, including pending
	recent  []byte // the end of the file: context, followed by pending bytes
	pending int
}

func (a *assembly) run(ctx context.Context) error {
	for n := range a.plan.files {
		out, err := a.disk.Create(n)
		if err != nil {
			return err
		}
		a.file, a.out, a.written, a.recent, a.pending = n, out, 0, a.recent[:0], 0
		for i := range a.plan.files[n].Chunks {
			if err := ctx.Err(); err != nil {
				return err
			}
			data, err := a.readChunk(ctx, i)
			if err != nil {
				return err
			}
			if err := a.appendChunk(data); err != nil {
				return err
			}
		}
		if err := a.flush(); err != nil {
			return err
		}
	}
	return nil
}

// readChunk returns the bytes of chunk i of the file, from the planned source or, if that fails, from its pack.
func (a *assembly) readChunk(ctx context.Context, i int) ([]byte, error) {
	ix := a.plan.files[a.file]
	c, s := &ix.Chunks[i], a.plan.steps[a.file][i]
	r := Range{ix.Packs[c.Pack], c.Offset, int64(c.Packed)}
	if s.source == fetched {
		return a.fetchChunk(ctx, i, r, a.streams[r.Pack])
	}
	if a.repairs == 0 {
		data, err := a.readLocal(i, s)
		if err != nil || data != nil {
			a.bad = 0
			return data, err
		}
		r.Size, a.repairs = a.repairRange(i, 1<<min(a.bad, maxRepair))
		a.repair = &packStream{ranges: []Range{r}}
		a.bad++
	}
	a.repairs--
	r.Size = int64(c.Packed)
	data, err := a.fetchChunk(ctx, i, r, a.repair)
	if a.repairs == 0 {
		err = errors.Join(err, a.repair.close())
	}
	return data, err
}

// repairRange returns how many bytes and chunks to fetch from chunk i on, because the local source lacks i: chunks that
// were planned from a local source and are contiguous in the pack, at most limit of them.
func (a *assembly) repairRange(i, limit int) (size int64, chunks int) {
	all, steps := a.plan.files[a.file].Chunks, a.plan.steps[a.file]
	for j := i; j < len(all) && chunks < limit; j++ {
		if steps[j].source == fetched || all[j].Pack != all[i].Pack || all[j].Offset != all[i].Offset+size {
			break
		}
		size += int64(all[j].Packed)
		chunks++
	}
	return size, chunks
}

// fetchChunk reads a packed chunk from a stream and unpacks it.
func (a *assembly) fetchChunk(ctx context.Context, i int, r Range, from *packStream) ([]byte, error) {
	packed := a.packed[:r.Size]
	if err := from.read(ctx, a.open, r.Offset, packed); err != nil {
		return nil, err
	}
	ix := a.plan.files[a.file]
	data, err := a.dec.decode(&ix.Chunks[i], packed, a.recent[len(a.recent)-ix.contextOf(i):])
	if err != nil {
		err = &DamageError{What: "pack " + hex.EncodeToString(r.Pack.Digest[:]), Offset: r.Offset, Why: err.Error()}
	}
	return data, err
}

// readLocal reads chunk i from a local source. It returns nil without an error if the bytes differ.
func (a *assembly) readLocal(i int, s step) ([]byte, error) {
	from, there := a.sources[s.source]
	if !there {
		var err error
		if from, err = a.openSource(s.source); err != nil {
			return nil, err
		}
		a.sources[s.source] = from
	}
	if from == nil {
		return nil, nil
	}
	if s.source == int32(-2-a.file) {
		if err := a.flush(); err != nil {
			return nil, err
		}
	}
	c := &a.plan.files[a.file].Chunks[i]
	data, err := a.ahead.read(from, s, int(c.Size), a.localExtent(i))
	if err != nil || SumChunk(data) != c.Sum {
		return nil, nil
	}
	return data, nil
}

// openSource opens a local source; a missing one is a nil reader.
func (a *assembly) openSource(n int32) (io.ReaderAt, error) {
	if n < fetched {
		return a.disk.Written(int(-2 - n))
	}
	from, err := a.disk.Source(int(n))
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return from, err
}

// localExtent is the size of the contiguous piece of the same source from chunk i on, at most localRead.
func (a *assembly) localExtent(i int) int {
	chunks, steps := a.plan.files[a.file].Chunks, a.plan.steps[a.file]
	size := int64(chunks[i].Size)
	for j := i + 1; j < len(chunks) && steps[j] == (step{steps[i].source, steps[i].offset + size}); j++ {
		if size += int64(chunks[j].Size); size > localRead {
			return int(size) - int(chunks[j].Size)
		}
	}
	return int(size)
}

// appendChunk appends to the file.
func (a *assembly) appendChunk(data []byte) error {
	a.recent = append(a.recent, data...)
	a.pending += len(data)
	a.written += int64(len(data))
	if a.pending < assembleTo {
		return nil
	}
	return a.flush()
}

// flush writes pending bytes to the output and keeps the context.
func (a *assembly) flush() error {
	if a.pending == 0 {
		return nil
	}
	if _, err := a.out.Write(a.recent[len(a.recent)-a.pending:]); err != nil {
		return err
	}
	a.pending = 0
	drop := max(0, len(a.recent)-maxContext)
	a.recent = a.recent[:copy(a.recent, a.recent[drop:])]
	return nil
}

// localWindow is a buffered piece of a local source, for contiguous chunks.
type localWindow struct {
	source int32
	offset int64
	data   []byte
}

func (w *localWindow) read(from io.ReaderAt, s step, size, extent int) ([]byte, error) {
	if at := s.offset - w.offset; w.source != s.source || at < 0 || at+int64(size) > int64(len(w.data)) {
		if cap(w.data) < extent {
			w.data = make([]byte, max(extent, MaxChunk))
		}
		n, err := from.ReadAt(w.data[:extent], s.offset)
		w.source, w.offset, w.data = s.source, s.offset, w.data[:n]
		if n < size {
			return nil, fmt.Errorf("short read: %v", err)
		}
	}
	at := s.offset - w.offset
	return w.data[at : at+int64(size)], nil
}

// packStream reads the ranges of one pack in their order.
type packStream struct {
	ranges []Range // the first one is being read if in is open
	in     io.ReadCloser
	at     int64
}

// read fills p with the pack's bytes from offset on. They are in the first range, or in the second if that was read to
// its end, because chunks are read in the order of Missing's ranges.
func (s *packStream) read(ctx context.Context, open OpenRange, offset int64, p []byte) error {
	if s.in != nil && s.at == s.ranges[0].Offset+s.ranges[0].Size {
		if err := s.close(); err != nil {
			return err
		}
		s.ranges = s.ranges[1:]
	}
	if s.in == nil {
		in, err := open(ctx, s.ranges[0])
		if err != nil {
			return err
		}
		s.in, s.at = in, s.ranges[0].Offset
	}
	if _, err := io.CopyN(io.Discard, s.in, offset-s.at); err != nil {
		return unexpectedEOF(err)
	}
	if _, err := io.ReadFull(s.in, p); err != nil {
		return unexpectedEOF(err)
	}
	s.at = offset + int64(len(p))
	return nil
}

func (s *packStream) close() error {
	if s.in == nil {
		return nil
	}
	in := s.in
	s.in = nil
	return in.Close()
}

// unexpectedEOF turns an early end of a stream into io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
