package chunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Encoding says how the bytes of a whole object hold a file. The numbers are format; so are the names, which stand in the
// sources of a release.
type Encoding uint8

const (
	// Stored is the file's own bytes: for what doesn't compress.
	Stored Encoding = 1
	// Zstd is one zstd frame without a dictionary, its content size stated, its window at most MaxWindow.
	Zstd Encoding = 2
	// Brotli is segments of brotli streams, see the layout in this package's comment.
	Brotli Encoding = 3
)

// String is the name that stands in the sources.
func (e Encoding) String() string {
	switch e {
	case Stored:
		return "stored"
	case Zstd:
		return "zstd"
	case Brotli:
		return "brotli"
	default:
		return fmt.Sprintf("encoding %d", uint8(e))
	}
}

// ParseEncoding reads a name back; ok is false for any other text.
func ParseEncoding(name string) (e Encoding, ok bool) {
	for _, e := range []Encoding{Stored, Zstd, Brotli} {
		if e.String() == name {
			return e, true
		}
	}
	return 0, false
}

const (
	// MaxWindow is the largest window of a zstd object in bytes. Decoding keeps the window and a block: 32 MiB leaves half
	// of the 64 MB that applying an update may take (design 3, section 3) to everything else.
	MaxWindow = 32 << 20
	// DefaultMaxBrotli is the largest file that is tried with brotli, in bytes, if a publisher says nothing else: it takes
	// 3 CPU-seconds for each MB.
	DefaultMaxBrotli = 128 << 20
)

// smaller says that packed bytes are worth more than stored ones: they save 3 %.
func smaller(size, packed int64) bool { return packed < size-size*3/100 }

// brotliWins says that brotli's bytes are worth decoding at less than half of zstd's speed: they save 3 % more.
func brotliWins(zstd, brotli int64) bool { return brotli < zstd-zstd*3/100 }

// PackObjectOptions say how much a publisher wants to spend.
type PackObjectOptions struct {
	// MaxBrotli is the largest file in bytes that is tried with brotli as well as with zstd; 0 means DefaultMaxBrotli,
	// below 0 none. Memory is about that size and 300 MB for each worker.
	MaxBrotli int64
	// Workers is how many segments are packed at a time; 0 means as many as there are processors.
	Workers int
}

// ObjectFile is where an object is written: usually an *os.File, empty and at its start.
type ObjectFile interface {
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// PackObject writes the whole object of a file of size bytes, which in is, and returns its encoding and size. It makes
// every encoding that is worth a try and keeps the smallest, at publish, once. A file that isn't size bytes long is an
// error. Memory is 200 MB for zstd; for brotli see PackObjectOptions.
func PackObject(ctx context.Context, out ObjectFile, in io.ReaderAt, size int64, o PackObjectOptions) (Encoding, int64, error) {
	packed, err := zstdObject(ctx, out, in, size)
	if err != nil {
		return 0, 0, err
	}
	best := Zstd
	if o.MaxBrotli == 0 {
		o.MaxBrotli = DefaultMaxBrotli
	}
	if size > 0 && size <= o.MaxBrotli && smaller(size, packed) {
		b, err := brotliObject(ctx, in, size, brotliSegment, o.Workers)
		if err != nil {
			return 0, 0, err
		}
		if n := int64(len(b)); brotliWins(packed, n) {
			best, packed = Brotli, n
			if err := rewrite(ctx, out, bytes.NewReader(b), n); err != nil {
				return 0, 0, err
			}
		}
	}
	if smaller(size, packed) {
		return best, packed, nil
	}
	return Stored, size, rewrite(ctx, out, io.NewSectionReader(in, 0, size), size)
}

// rewrite puts other bytes in the place of those that out has.
func rewrite(ctx context.Context, out ObjectFile, in io.Reader, size int64) error {
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := out.Truncate(0); err != nil {
		return err
	}
	n, err := io.Copy(out, withContext(ctx, in))
	if err == nil && n != size {
		err = fmt.Errorf("file has %d bytes instead of %d: it changed while it was read", n, size)
	}
	return err
}

// smallContent is the size in bytes below which only a frame of a single segment can state it (RFC 8878, section 3.1.1.1.1).
const smallContent = 256

// tinyContent is the size in bytes up to which the best level is not tried: its tables of 36 MB take longer to clear than
// all else, and it saves half a percent.
const tinyContent = 1 << 10

// zstdObject writes a zstd frame at the best level that is worth it, and returns its size.
func zstdObject(ctx context.Context, out io.Writer, in io.ReaderAt, size int64) (int64, error) {
	window := zstd.MinWindowSize
	for int64(window) < min(size, MaxWindow) {
		window *= 2
	}
	level := zstd.SpeedBestCompression
	if size <= tinyContent {
		level = zstd.SpeedBetterCompression
	}
	count := &countingWriter{w: out}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithSingleSegment(size < smallContent))
	if err != nil {
		return 0, err
	}
	enc.ResetContentSize(count, size)
	n, err := io.Copy(enc, withContext(ctx, io.NewSectionReader(in, 0, size)))
	if err == nil && n != size {
		err = fmt.Errorf("file has %d bytes instead of %d: it changed while it was read", n, size)
	}
	return count.n, errors.Join(err, enc.Close())
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// contextReader ends a long copy when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func withContext(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
