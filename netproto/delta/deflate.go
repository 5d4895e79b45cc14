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

// deflateStep is how much is compressed between two checks of the context, in bytes: about a second's work.
const deflateStep = 512 << 10

const (
	// noiseShare is the compressed size, in thousandths, from which data counts as incompressible. zstd at its fastest
	// measures it; brotli at its best would take a second for each MB and gain almost nothing.
	noiseShare = 998
	// noiseQuality is brotli's quality for incompressible data: the gain equals that of the best, at a two-hundredth of the time.
	noiseQuality = 5
	// noiseFrom is the smallest data that is tested for noise, in bytes.
	noiseFrom = 1 << 20
)

// isNoise reports whether data is nearly incompressible.
func isNoise(data []byte) bool {
	return len(data) >= noiseFrom && newSizer(zstd.SpeedFastest).size(data) >= len(data)/1000*noiseShare
}

// deflated is data compressed by brotli at its best, in a window of at most 2^window bytes. If ctx ends, the result is useless.
func deflated(ctx context.Context, data []byte, window int) []byte {
	quality := brotli.BestCompression
	if isNoise(data) {
		quality = noiseQuality
	}
	return compressed(ctx, data, quality, chunk.WindowFor(len(data), window))
}

// compressed is data compressed by brotli, in a window of 2^window bytes. If ctx ends, the result is useless.
func compressed(ctx context.Context, data []byte, quality, window int) []byte {
	var out bytes.Buffer
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: quality, LGWin: window})
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

// sizer estimates a compressed size quickly. It keeps its encoder and its buffer; one goroutine uses it.
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

// size is the estimated compressed size of data in bytes.
func (s *sizer) size(data []byte) int {
	s.out = s.w.EncodeAll(data, s.out[:0])
	return len(s.out)
}
