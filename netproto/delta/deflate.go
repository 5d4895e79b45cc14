package delta

import (
	"bytes"
	"context"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"collet/netproto/chunk"
)

// bestWindow is brotli's largest window, as a power of two: 16 MiB.
const bestWindow = 24

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
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: quality, LGWin: chunk.WindowFor(len(data), window)})
	for len(data) > 0 && ctx.Err() == nil {
		n := min(len(data), deflateStep)
		if _, err := w.Write(data[:n]); err != nil {
			panic("delta: internal error: brotli to memory: " + err.Error())
		}
		data = data[n:]
	}
	if err := w.Close(); err != nil {
		panic("delta: internal error: brotli to memory: " + err.Error())
	}
	return out.Bytes()
}

// sizer tells about how small data gets, quickly. It keeps its encoder and its buffer; one goroutine uses it.
type sizer struct {
	w   *zstd.Encoder
	out []byte
}

func newSizer(level zstd.EncoderLevel) *sizer {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(sizerWindow))
	if err != nil {
		panic("delta: internal error: zstd to memory: " + err.Error())
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
