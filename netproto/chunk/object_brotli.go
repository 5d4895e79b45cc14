package chunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

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

// brotliLayout is how a brotli object is made.
type brotliLayout struct {
	segment int64 // bytes of the file in one segment
	workers int   // segments that are packed at a time
	quality int
}

// brotliObject packs all of in and returns the size of the object. It holds as many segments in memory as there are workers.
func brotliObject(ctx context.Context, out io.Writer, in io.ReaderAt, size int64, l brotliLayout) (int64, error) {
	total, packed := int64(0), make([][]byte, l.workers)
	for from := int64(0); from < size; from += l.segment * int64(len(packed)) {
		packed = packed[:min(int64(len(packed)), (size-from+l.segment-1)/l.segment)]
		group, inner := errgroup.WithContext(ctx)
		for i := range packed {
			group.Go(func() (err error) {
				at := from + int64(i)*l.segment
				packed[i], err = brotliStream(inner, io.NewSectionReader(in, at, min(l.segment, size-at)), l.quality)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		for _, p := range packed {
			segment := append(binary.LittleEndian.AppendUint32(nil, uint32(len(p))), p...)
			if _, err := out.Write(segment); err != nil {
				return 0, err
			}
			total += int64(len(segment))
		}
	}
	return total, nil
}

// brotliStream packs one segment. A segment that ends early is an error.
func brotliStream(ctx context.Context, in *io.SectionReader, quality int) ([]byte, error) {
	var out bytes.Buffer
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: quality, LGWin: WindowFor(int(in.Size()), brotliWindow)})
	n, err := io.Copy(w, interrupt.Reader(ctx, in))
	if err == nil && n != in.Size() {
		err = fmt.Errorf("file lacks %d bytes: it changed while it was read", in.Size()-n)
	}
	if err != nil {
		return nil, err
	}
	err = w.Close()
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
