package chunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"

	"github.com/andybalholm/brotli"
	"golang.org/x/sync/errgroup"

	"collet/platform/interrupt"
)

// A brotli object is a sequence of segments, each a length (uint32, little-endian) and a brotli stream of that many
// bytes. Every segment except the last holds brotliSegment bytes of the file, so that segments can be packed
// concurrently. The window is 16 MiB, so the split costs little.
const (
	brotliSegment = 16 << 20
	brotliWindow  = 24 // log2 of bytes
	// maxBrotliStream is the size of the largest segment stream in bytes: incompressible data grows by less than 1 %.
	maxBrotliStream = brotliSegment + brotliSegment/64
)

// brotliObject packs all of in, workers segments concurrently.
func brotliObject(ctx context.Context, in io.ReaderAt, size, segment int64, workers int) ([]byte, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	packed := make([][]byte, (size+segment-1)/segment)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range packed {
		group.Go(func() (err error) {
			from := int64(i) * segment
			packed[i], err = brotliStream(ctx, io.NewSectionReader(in, from, min(segment, size-from)))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var object []byte
	for _, p := range packed {
		object = binary.LittleEndian.AppendUint32(object, uint32(len(p)))
		object = append(object, p...)
	}
	return object, nil
}

func brotliStream(ctx context.Context, in *io.SectionReader) ([]byte, error) {
	var out bytes.Buffer
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: WindowFor(int(in.Size()), brotliWindow)})
	if _, err := io.Copy(w, interrupt.Reader(ctx, in)); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// unpackBrotli writes the size bytes of a file to out, from segments of segment bytes each.
func (u *Unpacker) unpackBrotli(out io.Writer, in *objectReader, size, segment int64) error {
	for left := size; left > 0; left -= min(left, segment) {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return in.fault(err)
		}
		length := int64(binary.LittleEndian.Uint32(head[:]))
		if length == 0 || length > maxBrotliStream {
			return in.damage("a segment of %d bytes", length)
		}
		stream := &io.LimitedReader{R: in, N: length}
		if u.brotli == nil {
			u.brotli = new(brotli.Reader)
		}
		r, err := Inflate(u.brotli, stream, brotliWindow)
		if err != nil {
			return in.fault(err)
		}
		if err := u.copyExactly(out, r, min(left, segment), in); err != nil {
			return err
		}
		if stream.N > 0 {
			return in.damage("a segment that is longer than its stream")
		}
	}
	return nil
}
