package chunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"collet/platform/interrupt"
)

// Encoding is how a whole object encodes a file. The numbers are part of the format; so are the names, which a release's sources use.
type Encoding uint8

const (
	// Stored is the file's own bytes, for incompressible files.
	Stored Encoding = 1
	// Zstd is one zstd frame without a dictionary, its content size stated, its window at most MaxWindow.
	Zstd Encoding = 2
	// Brotli is segments of brotli streams, see brotliSegment.
	Brotli Encoding = 3
)

// String is the name in the sources.
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

// ParseEncoding is the inverse of String; ok is false for any other text.
func ParseEncoding(name string) (e Encoding, ok bool) {
	for _, e := range []Encoding{Stored, Zstd, Brotli} {
		if e.String() == name {
			return e, true
		}
	}
	return 0, false
}

const (
	// MaxWindow is the largest window of a zstd object in bytes. Decoding holds the window and a block. With 16 MiB an
	// unpacking program stays below the 64 MB limit of applying an update; with 32 MiB it took 80 MB.
	MaxWindow = 16 << 20
	// DefaultMaxBrotli is the default of PackObjectOptions.MaxBrotli in bytes: brotli takes 3 CPU-seconds for each MB.
	DefaultMaxBrotli = 128 << 20
	// ObjectSegment is how many bytes of a file one worker packs with brotli at a time.
	ObjectSegment = brotliSegment
)

// savesEnough reports whether packing saves at least 3 %.
func savesEnough(size, packed int64) bool { return packed < size-size*3/100 }

// brotliWins reports whether brotli saves at least 3 % more than zstd: it decodes at less than half of zstd's speed.
func brotliWins(zstd, brotli int64) bool { return brotli < zstd-zstd*3/100 }

// PackObjectOptions limit the cost of packing.
type PackObjectOptions struct {
	// MaxBrotli is the size in bytes of the largest file that is also packed with brotli; 0 means DefaultMaxBrotli,
	// below 0 none. Memory is about that size and 300 MB for each worker.
	MaxBrotli int64
	// Workers is how many segments are packed concurrently; 0 means the number of processors.
	Workers int
	// Effort is how much processor time packing may take. MaxBrotli limits EffortBest only; below 0 it disables brotli for any effort.
	Effort Effort
}

// ObjectFile is the destination of an object: usually an *os.File, empty and at its start.
type ObjectFile interface {
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// PackObject writes the whole object of a file of size bytes, read from in, and returns its encoding and size. Its effort
// decides which encodings it tries; see Effort. A file of another size is an error. Memory is 200 MB for zstd; for brotli
// see PackObjectOptions. For many files use an ObjectPacker.
func PackObject(ctx context.Context, out ObjectFile, in io.ReaderAt, size int64, o PackObjectOptions) (Encoding, int64, error) {
	return new(ObjectPacker).Pack(ctx, out, in, size, o)
}

// ObjectPacker is PackObject for many files, one after the other. It keeps the encoders for small files, whose tables of up
// to 40 MB would have to be cleared each time. The zero value is ready; one goroutine uses it at a time.
type ObjectPacker struct {
	small map[zstd.EncoderLevel]*zstd.Encoder
}

// Pack is PackObject.
func (k *ObjectPacker) Pack(ctx context.Context, out ObjectFile, in io.ReaderAt, size int64, o PackObjectOptions) (Encoding, int64, error) {
	if o.MaxBrotli == 0 {
		o.MaxBrotli = DefaultMaxBrotli
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	encoding, packed := Stored, size
	var err error
	switch {
	case size == 0:
	case o.Effort == EffortFast:
		encoding = Zstd
		packed, err = k.zstdObject(ctx, out, in, size, zstd.SpeedBetterCompression)
	case o.Effort == EffortBalanced && o.MaxBrotli > 0:
		encoding, packed, err = k.packBalanced(ctx, out, in, size, o.Workers)
	default:
		encoding, packed, err = k.packBest(ctx, out, in, size, o)
	}
	if err != nil {
		return 0, 0, err
	}
	if encoding != Stored && savesEnough(size, packed) {
		return encoding, packed, nil
	}
	return Stored, size, replaceBytes(ctx, out, io.NewSectionReader(in, 0, size), size)
}

// packBalanced packs with brotli, unless a quick probe finds nothing to save. It writes nothing for Stored.
func (k *ObjectPacker) packBalanced(ctx context.Context, out ObjectFile, in io.ReaderAt, size int64, workers int) (Encoding, int64, error) {
	packed, err := k.zstdObject(ctx, io.Discard, in, size, zstd.SpeedFastest)
	if err != nil || size >= smallest && !savesEnough(size, packed) {
		return Stored, size, err
	}
	packed, err = brotliObject(ctx, out, in, size, brotliLayout{brotliSegment, workers, balancedQuality})
	return Brotli, packed, err
}

// packBest packs with zstd at its best level, and a file that is not too large also with brotli. It keeps the smaller result.
func (k *ObjectPacker) packBest(ctx context.Context, out ObjectFile, in io.ReaderAt, size int64, o PackObjectOptions) (Encoding, int64, error) {
	packed, err := k.zstdObject(ctx, out, in, size, zstd.SpeedBestCompression)
	if err != nil || size > o.MaxBrotli || !savesEnough(size, packed) {
		return Zstd, packed, err
	}
	var object bytes.Buffer
	n, err := brotliObject(ctx, &object, in, size, brotliLayout{brotliSegment, o.Workers, brotli.BestCompression})
	if err != nil || !brotliWins(packed, n) {
		return Zstd, packed, err
	}
	return Brotli, n, replaceBytes(ctx, out, &object, n)
}

// replaceBytes replaces the bytes of out.
func replaceBytes(ctx context.Context, out ObjectFile, in io.Reader, size int64) error {
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := out.Truncate(0); err != nil {
		return err
	}
	n, err := io.Copy(out, interrupt.Reader(ctx, in))
	if err == nil && n != size {
		err = fmt.Errorf("file has %d bytes instead of %d: it changed while it was read", n, size)
	}
	return err
}

// smallContent is the size in bytes up to which a frame is a single segment, whose window is the content (RFC 8878,
// section 3.1.1.1.2): one encoder serves all of them.
const smallContent = 1 << 20

// zstdObject writes a zstd frame and returns its size.
func (k *ObjectPacker) zstdObject(ctx context.Context, out io.Writer, in io.ReaderAt, size int64, level zstd.EncoderLevel) (int64, error) {
	enc, err := k.encoder(size, level)
	if err != nil {
		return 0, err
	}
	count := &countingWriter{w: out}
	enc.ResetContentSize(count, size)
	n, err := io.Copy(enc, interrupt.Reader(ctx, io.NewSectionReader(in, 0, size)))
	if err == nil && n != size {
		err = fmt.Errorf("file has %d bytes instead of %d: it changed while it was read", n, size)
	}
	if err = errors.Join(err, enc.Close()); err != nil {
		delete(k.small, level) // it may have unfinished state
	}
	return count.n, err
}

// encoder returns the encoder for a file of size bytes.
func (k *ObjectPacker) encoder(size int64, level zstd.EncoderLevel) (*zstd.Encoder, error) {
	if enc := k.small[level]; size <= smallContent && enc != nil {
		return enc, nil
	}
	window := smallContent
	for int64(window) < min(size, MaxWindow) {
		window *= 2
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithSingleSegment(size <= smallContent))
	if err == nil && size <= smallContent {
		if k.small == nil {
			k.small = map[zstd.EncoderLevel]*zstd.Encoder{}
		}
		k.small[level] = enc
	}
	return enc, err
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
