package chunk

import (
	"context"
	"fmt"
	"hash"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// packBatch is how many bytes of a file are cut and packed together: about 220 chunks, enough for all cores.
const packBatch = 4 << 20

// PackOptions configure a Packer.
type PackOptions struct {
	// Create opens the next pack. The Packer closes it. After an error the written packs are useless.
	Create func() (io.WriteCloser, error)
	// Known are indexes of earlier releases whose packs still exist: their chunks are not packed again.
	Known []*Index
	// MaxSize is the size limit of a pack in bytes; 0 or a larger value means MaxPack.
	MaxSize int64
	// Workers is how many chunks are packed concurrently; 0 means the number of processors.
	Workers int
	// Effort is how much processor time packing may take.
	Effort Effort
}

// Packer writes packs and indexes. One goroutine uses it; it has to be closed.
type Packer struct {
	o        PackOptions
	encoders []*chunkEncoder
	buf      []byte // reused from file to file
	known    map[contextKey]place
	stored   map[chunkKey]place
	finished []PackRef
	current  *packState
	out      io.WriteCloser
	sum      hash.Hash
	err      error
}

// NewPacker returns a Packer. It creates the first pack when it has a chunk for it.
func NewPacker(o PackOptions) (*Packer, error) {
	if o.MaxSize <= 0 || o.MaxSize > MaxPack {
		o.MaxSize = MaxPack
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	p := &Packer{o: o, known: map[contextKey]place{}, stored: map[chunkKey]place{}}
	for range o.Workers {
		e, err := newChunkEncoder(o.Effort)
		if err != nil {
			return nil, err
		}
		p.encoders = append(p.encoders, e)
	}
	byRef := map[PackRef]*packState{}
	for _, ix := range o.Known {
		p.addKnown(ix, byRef)
	}
	return p, nil
}

// Add reads one file to its end, cuts it with grain g (see GrainFor), packs the new chunks, and returns the file's
// index. The pack names in it are valid after Close. More than MaxIndexChunks chunks are an error, and so are errors of
// reading and writing; after an error of writing the Packer is unusable.
func (p *Packer) Add(ctx context.Context, g Grain, r io.Reader) (*Index, error) {
	if !g.valid() {
		return nil, fmt.Errorf("grain %d is not one of %d to %d", g, Fine, Coarse)
	}
	ix := &fileIndex{Index: &Index{Grain: g}, slots: map[*packState]int32{}}
	if p.buf == nil {
		p.buf = make([]byte, 0, maxContext+packBatch+MaxChunk)
	}
	buf := p.buf[:0]
	done := 0 // bytes of buf already cut: the context of the rest
	for ended := false; !ended; {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if ended = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !ended {
			return nil, err
		}
		first, start := len(ix.Chunks), done
		for done < len(buf) && (ended || len(buf)-done >= MaxChunk) {
			size := g.Cut(buf[done:])
			ix.Chunks = append(ix.Chunks, Chunk{Sum: SumChunk(buf[done : done+size]), Size: int32(size)})
			done += size
		}
		if len(ix.Chunks) > MaxIndexChunks {
			return nil, fmt.Errorf("file of more than %d chunks: send it as a whole object", MaxIndexChunks)
		}
		if err := p.packChunks(ctx, ix, first, buf, start); err != nil {
			return nil, err
		}
		drop := max(0, done-maxContext)
		buf = buf[:copy(buf, buf[drop:])]
		done -= drop
	}
	return ix.Index, nil
}

// packChunks packs the chunks from number first on. They start at byte start of buf, behind their context.
func (p *Packer) packChunks(ctx context.Context, f *fileIndex, first int, buf []byte, start int) error {
	if p.err != nil {
		return p.err
	}
	jobs, at := make([]packJob, 0, len(f.Chunks)-first), start
	for i := first; i < len(f.Chunks); i++ {
		end := at + int(f.Chunks[i].Size)
		_, there := p.findPlace(f.Index, i)
		jobs = append(jobs, packJob{data: buf[at:end], context: buf[at-f.contextOf(i) : at], there: there})
		at = end
	}
	if err := p.encodeAll(ctx, jobs); err != nil {
		return err
	}
	for i := range jobs {
		if err := p.placeChunk(f, first+i, &jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// placeChunk writes a chunk to the current pack, unless a pack already has it, and records its place.
func (p *Packer) placeChunk(f *fileIndex, i int, job *packJob) error {
	at, there := p.findPlace(f.Index, i)
	c := &f.Chunks[i]
	if !there {
		var err error
		if at, err = p.writePacked(job.packed); err != nil {
			p.err = err
			return err
		}
	}
	c.Packed, c.Offset, c.Pack = at.packed, at.offset, f.slotOf(at.pack)
	if !there {
		p.recordPlace(f.Index, i, at)
	}
	return nil
}

// packJob is a chunk to pack; packed is nil if it is in a pack already.
type packJob struct {
	data, context, packed []byte
	there                 bool
}

// encodeAll packs the jobs with all encoders and waits for them.
func (p *Packer) encodeAll(ctx context.Context, jobs []packJob) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range p.encoders {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if jobs[i].there {
					continue
				}
				var err error
				if jobs[i].packed, err = e.encode(jobs[i].data, jobs[i].context); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
