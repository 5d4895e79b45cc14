package chunk

import (
	"bytes"
	"context"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// bestWindow is brotli's largest window, as a power of two: 16 MiB.
const bestWindow = 24

// smallestWindow is brotli's smallest usable window, as a power of two.
const smallestWindow = 10

// deflateStep is how much is compressed between two looks at the context, in bytes: about a second's work.
const deflateStep = 512 << 10

const (
	// noiseShare is how much of its size data keeps, in thousandths, when zstd at its fastest makes so little of it that
	// brotli at its best would take a second for each MB and find next to nothing.
	noiseShare = 998
	// noiseQuality is what brotli gives noise: it finds as much there as the best does, at a two-hundredth of the time.
	noiseQuality = 5
	// noiseFrom is the least data that is looked at for noise, in bytes.
	noiseFrom = 1 << 20
)

// isNoise reports whether data is hardly worth compressing.
func isNoise(data []byte) bool {
	return len(data) >= noiseFrom && newSizer(zstd.SpeedFastest).size(data) >= len(data)/1000*noiseShare
}

// deflated is data by brotli at its best, in a window of at most 2^window bytes. When ctx ends, the result is worthless.
func deflated(ctx context.Context, data []byte, window int) []byte {
	var out bytes.Buffer
	quality := brotli.BestCompression
	if isNoise(data) {
		quality = noiseQuality
	}
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: quality, LGWin: windowFor(len(data), window)})
	for len(data) > 0 && ctx.Err() == nil {
		n := min(len(data), deflateStep)
		if _, err := w.Write(data[:n]); err != nil {
			panic("chunk: internal error: brotli to memory: " + err.Error())
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		panic("chunk: internal error: brotli to memory: " + err.Error())
	}
	return out.Bytes()
}

// windowFor is the smallest window that holds n bytes, or limit.
func windowFor(n, limit int) int {
	return min(max(bits.Len(uint(n)+16), smallestWindow), limit)
}

// inflate reads what deflated made. The stream's first byte says how large a window its decoder will take, and that is
// checked before the decoder sees it: a window above 2^limit bytes, or brotli's "large window", is refused.
func inflate(r io.Reader, limit int) (io.Reader, error) {
	return inflateBy(new(brotli.Reader), r, limit)
}

// inflateBy is inflate with a decoder that may have been used before.
func inflateBy(by *brotli.Reader, r io.Reader, limit int) (io.Reader, error) {
	var first [1]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, err
	}
	if w := windowOf(first[0]); w > limit {
		return nil, errWindow
	}
	return by, by.Reset(io.MultiReader(bytes.NewReader(first[:]), r))
}

// tooLarge is the window of a stream that asks for more than brotli's 16 MiB.
const tooLarge = 99

// windowOf reads the size of the window from a stream's first byte (RFC 7932, section 9.1).
func windowOf(b byte) int {
	if b&1 == 0 {
		return 16
	}
	if n := b >> 1 & 7; n != 0 {
		return 17 + int(n)
	}
	switch n := b >> 4 & 7; n {
	case 0:
		return 17
	case 1:
		return tooLarge
	default:
		return 8 + int(n)
	}
}

// sizer tells about how small data gets, quickly. It keeps its encoder and its buffer; one goroutine uses it.
type sizer struct {
	w   *zstd.Encoder
	out []byte
}

func newSizer(level zstd.EncoderLevel) *sizer {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(sizerWindow))
	if err != nil {
		panic("chunk: internal error: zstd to memory: " + err.Error())
	}
	return &sizer{w: w}
}

// sizerWindow is the window of a sizer, in bytes.
const sizerWindow = 4 << 20

// size is the compressed size of data in bytes.
func (s *sizer) size(data []byte) int {
	s.out = s.w.EncodeAll(data, s.out[:0])
	return len(s.out)
}
