package solid

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"collet/netproto/chunk"
)

const (
	// frameLiterals is how many literals end a frame, in bytes. More gain less than one in a thousand.
	frameLiterals = 1 << 20
	// encodeStep is how many bytes are compressed between two checks of the context.
	encodeStep = 256 << 10
	// noiseShare is the compressed size, in thousandths, from which on literals are stored. zstd at its fastest measures it.
	noiseShare = 995
)

// Effort is how much time an encoder takes for fewer bytes. The values are brotli's qualities, or stand for a choice of them.
type Effort int

// The efforts. Sizes are those of monaco-editor 0.57.0 beside `tar | zstd -19 --long=27`; CPU-seconds were measured on a busy machine.
const (
	Fast     Effort = 5  // 1.09; 0.15 CPU-seconds a MB, with whole objects and chunks
	Balanced Effort = 0  // 1.00, and 1.01 for phaser 4.2.1; 0.31 and 0.34
	Best     Effort = 11 // not measured: the most time for the fewest bytes
)

// Shares of literals, in percent of the contents, up to which Balanced takes a quality. A literal costs quality 10 four times the time of
// quality 9, which is 9 percent larger for scripts; and 9 three to five times that of 6, which is up to 2 percent larger for machine code.
const (
	fewLiterals  = 25 // quality 10
	someLiterals = 50 // quality 10 up to quickLiterals, else 9; 6 above
)

// quickLiterals is how many bytes of literals quality 10 takes some 15 CPU-seconds for.
const quickLiterals = 16 << 20

// quality is brotli's quality for contents of which some bytes are literals.
func (e Effort) quality(literals, size int) int {
	switch {
	case e != Balanced:
		return int(e)
	case literals <= size/100*fewLiterals, literals <= min(size/100*someLiterals, quickLiterals):
		return 10
	case literals <= size/100*someLiterals:
		return 9
	default:
		return 6
	}
}

// Encode packs the contents of a group. The result are the frames; any division of them into parts at their boundaries is valid. It
// depends on data and effort alone. progress, which may be nil, is called with the number of packed bytes. Memory is data and about 300 MB.
func Encode(ctx context.Context, data []byte, effort Effort, progress func(done int)) ([][]byte, error) {
	if len(data) == 0 || len(data) > MaxGroup {
		return nil, fault("a group of %d bytes", len(data))
	}
	matches, literals, err := findMatches(ctx, data)
	if err != nil {
		return nil, err
	}
	e, quality := &encoder{data: data, matches: matches}, effort.quality(literals, len(data))
	for i := range e.coders {
		e.coders[i].writer = brotli.NewWriterOptions(&e.coders[i].out, brotli.WriterOptions{Quality: quality, LGWin: chunk.WindowFor(len(data), windows[i])})
	}
	if e.sizer, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	var frames [][]byte
	for e.at < len(data) {
		frame, err := e.frame(ctx)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
		if progress != nil {
			progress(e.at)
		}
	}
	return frames, nil
}

// encoder packs one group.
type encoder struct {
	data    []byte
	at      int     // bytes in frames
	matches []match // not yet in frames; the first may have begun in the frame before
	shifts  shifts
	coders  [streams]coder
	sizer   *zstd.Encoder
	scratch []byte
}

// coder is the brotli stream of one of the streams.
type coder struct {
	raw    []byte // of the current frame
	writer *brotli.Writer
	out    bytes.Buffer
}

// frame packs the next frame.
func (e *encoder) frame(ctx context.Context) ([]byte, error) {
	for i := range e.coders {
		e.coders[i].raw = e.coders[i].raw[:0]
	}
	begin, matches := e.at, 0
	literals := &e.coders[literalStream].raw
	for e.at < len(e.data) && len(*literals) < frameLiterals && e.at-begin < MaxFrame {
		end := min(begin+MaxFrame, len(e.data))
		stop := end
		if len(e.matches) > 0 {
			stop = min(e.matches[0].at, end)
		}
		if n := frameLiterals - len(*literals); stop-e.at > n { // literals that go on in the next frame
			*literals = append(*literals, e.data[e.at:e.at+n]...)
			e.at += n
			break
		}
		gap := stop - e.at
		*literals = append(*literals, e.data[e.at:stop]...)
		if e.at = stop; stop == end {
			break
		}
		e.putMatch(gap, min(e.matches[0].size, end-e.at))
		matches++
	}
	return e.code(ctx, e.at-begin, matches)
}

// putMatch adds the next match, or its first n bytes.
func (e *encoder) putMatch(gap, n int) {
	put := func(stream int, v uint64) { e.coders[stream].raw = binary.AppendUvarint(e.coders[stream].raw, v) }
	next := &e.matches[0]
	put(gapStream, uint64(gap))
	put(sizeStream, uint64(n))
	put(shiftStream, e.shifts.encode(next.shift))
	e.at += n
	if next.at, next.size = next.at+n, next.size-n; next.size == 0 {
		e.matches = e.matches[1:]
	}
}

// code writes the frame of the collected streams.
func (e *encoder) code(ctx context.Context, size, matches int) ([]byte, error) {
	frame := binary.AppendUvarint(nil, uint64(size))
	frame = binary.AppendUvarint(frame, uint64(matches))
	var coded [streams][]byte
	for i := range e.coders {
		c := &e.coders[i]
		code := uint64(codeBrotli)
		if i == literalStream && e.isNoise(c.raw) {
			code, coded[i] = codeStored, c.raw
		} else if err := c.compress(ctx); err != nil {
			return nil, err
		} else {
			coded[i] = c.out.Bytes()
		}
		if frame = binary.AppendUvarint(frame, uint64(len(c.raw))); len(c.raw) > 0 {
			frame = binary.AppendUvarint(frame, uint64(len(coded[i]))<<1|code)
		}
	}
	for _, data := range coded {
		frame = append(frame, data...)
	}
	return frame, nil
}

// compress compresses the raw bytes, so that all of them can be decoded from out.
func (c *coder) compress(ctx context.Context) error {
	c.out.Reset()
	if len(c.raw) == 0 {
		return nil
	}
	for from := 0; from < len(c.raw); from += encodeStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := c.writer.Write(c.raw[from:min(from+encodeStep, len(c.raw))]); err != nil {
			return err
		}
	}
	return c.writer.Flush()
}

// isNoise reports whether literals are nearly incompressible.
func (e *encoder) isNoise(raw []byte) bool {
	e.scratch = e.sizer.EncodeAll(raw, e.scratch[:0])
	return len(e.scratch)*1000 >= len(raw)*noiseShare
}
