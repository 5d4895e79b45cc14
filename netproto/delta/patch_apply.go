package delta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"collet/netproto/delta/predict"
)

// ApplyPatch reads a patch of MakePatch and writes the new contents in order, each to the writer that write returns for
// it. It needs the same old contents as MakePatch, and the sizes of the new ones. It streams: it reads the patch once
// and the old contents by position, and its memory stays below 64 MB whatever their size. A malformed patch is a
// *PatchError, and the output up to then is useless. A patch for other old contents of the same sizes is a *PatchError
// too, at the latest at the end. Errors of reading and writing are returned unchanged.
//
// Goroutines of ApplyPatch read the patch and the old contents; they have ended when it returns. write and its writers
// are called in the caller's goroutine meanwhile.
func ApplyPatch(ctx context.Context, patch io.Reader, old []Old, sizes []int64, write func(i int) (io.Writer, error)) error {
	src := newInput(patch, func(offset int64, what string, err error) error {
		return &PatchError{What: what, Offset: offset, Err: err}
	})
	a := &applier{src: src, old: newOldPages(newContents(old)), out: &sink{sizes: sizes, write: write}}
	err := a.run(ctx)
	if err != nil && src.err == nil && a.out.err != nil {
		return a.out.err
	}
	if err != nil {
		return src.fault(err)
	}
	return nil
}

// applier is the state of one ApplyPatch.
type applier struct {
	src    *input
	old    *oldPages
	out    *sink
	sum    uint32 // CRC-32C of the bytes that were written
	want   int64  // size of all new contents
	blocks *blocks
}

// pieceSize is how many bytes are read and corrected at once.
const pieceSize = 64 << 10

// run produces the new bytes in a separate goroutine and writes them in the caller's.
func (a *applier) run(ctx context.Context) error {
	if err := a.readHeader(); err != nil {
		return err
	}
	if err := a.out.openNext(); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	a.blocks = newBlocks(a.want)
	var err error
	go func() {
		defer a.blocks.end()
		err = a.applyFrames(working)
	}()
	for b := range a.blocks.full {
		_, err := a.out.Write(b)
		a.sum = crc32.Update(a.sum, castagnoli, b)
		if err == nil {
			err = ctx.Err() // all bytes may have been produced already
		}
		if err != nil {
			stop()
			a.blocks.drain()
			return err
		}
		a.blocks.free <- b
	}
	if err != nil {
		return err
	}
	return a.readTrailer()
}

// applyFrames produces all new bytes.
func (a *applier) applyFrames(ctx context.Context) error {
	for left := a.want; left > 0; {
		f, err := a.readFrame(left)
		if err != nil {
			return err
		}
		if err := a.applyFrame(ctx, f); err != nil {
			return err
		}
		left -= int64(f.size)
	}
	return a.blocks.flush(ctx)
}

// readTrailer reads the end of the patch, behind the frames.
func (a *applier) readTrailer() error {
	var check [4]byte
	if _, err := io.ReadFull(a.src, check[:]); err != nil {
		return a.src.wrong("the check at the end is cut off", err)
	}
	if binary.LittleEndian.Uint32(check[:]) != a.sum {
		return a.src.wrong("the result has another checksum than the patch says", nil)
	}
	if _, err := a.src.buf.ReadByte(); err != io.EOF {
		return a.src.wrong("there are bytes behind its end", nil)
	}
	return a.out.openNext()
}

// readHeader reads the header of the patch.
func (a *applier) readHeader() error {
	magic := make([]byte, len(patchMagic))
	if _, err := io.ReadFull(a.src, magic); err != nil || string(magic) != patchMagic {
		return a.src.wrong("this is no patch, or one of another format", err)
	}
	old, err := a.src.number("the size of the old contents", maxOld)
	if err != nil {
		return err
	}
	if int64(old) != a.old.size() {
		return a.src.wrong(fmt.Sprintf("it is for old contents of %d bytes, these have %d", old, a.old.size()), nil)
	}
	for _, size := range a.out.sizes {
		a.want += size
	}
	fresh, err := a.src.number("the size of the new contents", 1<<62)
	if err == nil && int64(fresh) != a.want {
		err = a.src.wrong(fmt.Sprintf("it makes %d bytes, %d are wanted", fresh, a.want), nil)
	}
	return err
}

// appliedFrame is a frame while it is applied.
type appliedFrame struct {
	size, flags uint64
	count       int
	matches     []predict.Match
	raw         [streamCount]uint64
	streams     [streamCount]io.Reader
	rest        io.Reader    // undecoded part of the last stream
	ahead       []*readAhead // prefetch long streams, the last one among them
}

// prefetch decodes a stream in a separate goroutine until closeAhead, if it has at least so many bytes.
func (f *appliedFrame) prefetch(stream int, least uint64) {
	if f.raw[stream] >= least {
		a := newReadAhead(f.streams[stream])
		f.ahead, f.streams[stream] = append(f.ahead, a), a
	}
}

// closeAhead stops the goroutines. It may be called again.
func (f *appliedFrame) closeAhead() {
	for _, a := range f.ahead {
		a.close()
	}
}

// wrong is a fault of the patch, found while a frame is applied.
func (a *applier) wrong(f *appliedFrame, what string, err error) error {
	f.closeAhead() // one may read the source
	return a.src.wrong(what, err)
}

// readFrame reads a frame up to its last stream, which stays unread.
func (a *applier) readFrame(left int64) (*appliedFrame, error) {
	f := &appliedFrame{}
	var err error
	if f.size, err = a.src.number("the size of a frame", uint64(min(left, maxFrame))); err != nil {
		return nil, err
	}
	if f.flags, err = a.src.number("the flags of a frame", flagJoined|flagPredicted); err != nil {
		return nil, err
	}
	count, err := a.src.number("the number of matches", maxMatches)
	if err != nil {
		return nil, err
	}
	f.count = int(count)
	if f.size == 0 {
		return nil, a.src.wrong("a frame is empty", nil)
	}
	if f.flags&flagJoined != 0 {
		err = a.readJoined(f)
	} else {
		err = a.readSeparate(f)
	}
	if err != nil {
		return nil, err
	}
	return f, a.readMatches(f)
}

// readRow reads a stream's sizes and its code.
func (a *applier) readRow(raw *uint64) (size uint64, code byte, err error) {
	if raw != nil {
		if *raw, err = a.src.number("the size of a stream", maxFrame*2); err != nil || *raw == 0 {
			return 0, codeStored, err
		}
	}
	v, err := a.src.number("the coded size of a stream", maxFrame*2)
	return v >> 1, byte(v & 1), err
}

// readJoined reads the streams of a frame that are compressed together.
func (a *applier) readJoined(f *appliedFrame) error {
	sum := uint64(0)
	for i := range f.raw {
		v, err := a.src.number("the size of a small stream", maxJoined)
		if err != nil {
			return err
		}
		f.raw[i] = v
		sum += v
	}
	if sum > maxJoined {
		return a.src.wrong("small streams are too large", nil)
	}
	var raw uint64
	size, code, err := a.readRow(&raw)
	if err != nil {
		return err
	}
	if raw != sum {
		return a.src.wrong("small streams have another size than their sum", nil)
	}
	all := make([]byte, sum)
	r, err := decompressStream(io.LimitReader(a.src, int64(size)), code, int64(sum), bestWindow)
	if err == nil {
		_, err = io.ReadFull(r, all)
	}
	if err != nil && sum > 0 {
		return a.src.wrong("small streams are damaged", err)
	}
	for i, n := range f.raw {
		f.streams[i] = bytes.NewReader(all[:n])
		all = all[n:]
	}
	return nil
}

// readSeparate reads the separately compressed streams of a frame: all but the last into memory.
func (a *applier) readSeparate(f *appliedFrame) error {
	var size [streamCount]uint64
	var code [streamCount]byte
	sum := uint64(0)
	for i := range size {
		var err error
		if size[i], code[i], err = a.readRow(&f.raw[i]); err != nil {
			return err
		}
		if i != streamExtra {
			sum += size[i]
		}
	}
	if sum > maxHeld {
		return a.src.wrong(fmt.Sprintf("a frame has %d bytes beside its extra bytes, the most is %d", sum, maxHeld), nil)
	}
	for i := range size {
		var from io.Reader = io.LimitReader(a.src, int64(size[i]))
		f.rest = from
		if i != streamExtra {
			b := make([]byte, size[i])
			if _, err := io.ReadFull(a.src, b); err != nil && len(b) > 0 {
				return a.src.wrong("a stream is cut off", err)
			}
			from = bytes.NewReader(b)
		}
		if f.streams[i] = from; f.raw[i] == 0 {
			continue
		}
		r, err := decompressStream(from, code[i], int64(f.raw[i]), window(i, f.count))
		if err != nil {
			return a.src.wrong("a stream is damaged", err)
		}
		f.streams[i] = r
	}
	return nil
}

var errPlace = errors.New("a place outside of the contents")

// readMatches reads the matches of a frame and checks their offsets.
func (a *applier) readMatches(f *appliedFrame) error {
	f.matches = make([]predict.Match, 0, f.count)
	gaps, sizes, shifts := newNumbers(f.streams[streamGaps]), newNumbers(f.streams[streamSizes]), newNumbers(f.streams[streamShifts])
	var recent recentShifts
	at := uint64(0)
	for range f.count {
		gap, err1 := gaps.next()
		size, err2 := sizes.next()
		change, err3 := shifts.next()
		if err := errors.Join(err1, err2, err3); err != nil {
			return a.src.wrong("the matches are damaged", err)
		}
		shift, ok := recent.decode(change)
		if gap > f.size-at || size > f.size-at-gap || size == 0 {
			return a.src.wrong("a match leaves its frame", errPlace)
		}
		from := shift + int64(at+gap)
		if !ok || change > 8*maxFrame || from < 0 || from > a.old.size() || int64(size) > a.old.size()-from {
			return a.src.wrong("a match leaves the old contents", errPlace)
		}
		f.matches = append(f.matches, predict.Match{At: uint32(at + gap), Size: uint32(size), Old: uint32(from)})
		at += gap + size
	}
	clear(f.streams[:streamShifts+1]) // frees the windows of their decoders
	return nil
}

// applyFrame produces the new bytes of a frame.
func (a *applier) applyFrame(ctx context.Context, f *appliedFrame) error {
	defer f.closeAhead()
	for _, i := range []int{streamZeros, streamWrongs, streamBytes} {
		f.prefetch(i, diffAheadFrom)
	}
	diff := newDiffReader(f.streams[streamZeros], f.streams[streamWrongs], f.streams[streamBytes])
	p, err := a.readPredictor(f)
	if err != nil {
		return err
	}
	f.prefetch(streamExtra, aheadFrom)
	var old io.Reader = &matchedReader{old: a.old, matches: f.matches}
	if f.size >= aheadFrom {
		ahead := newReadAhead(old)
		f.ahead, old = append(f.ahead, ahead), ahead
	}
	at := uint32(0)
	for _, m := range f.matches {
		if err := a.copyExtra(ctx, f, int64(m.At-at)); err != nil {
			return err
		}
		for done := uint32(0); done < m.Size; {
			b, err := a.blocks.reserve(ctx, int(min(m.Size-done, pieceSize)))
			if err != nil {
				return err
			}
			if _, err := io.ReadFull(old, b); err != nil {
				return err
			}
			if p == nil {
				err = diff.Correct(b)
			} else {
				err = p.Predict(b, m.Old+done, m.At+done, diff)
			}
			if err != nil {
				return a.wrong(f, "the difference is damaged", err)
			}
			done += uint32(len(b))
		}
		at = m.End()
	}
	if err := a.copyExtra(ctx, f, int64(f.size)-int64(at)); err != nil || f.rest == nil {
		return err
	}
	f.closeAhead()
	// A decoder may leave the end mark of its stream unread.
	if n, err := io.CopyN(io.Discard, f.rest, maxRest+1); err != io.EOF || n > maxRest {
		return a.src.wrong("the extra bytes go on behind their end", err)
	}
	return nil
}

// maxRest is how many bytes of a compressed stream its decoder may leave unread: brotli's last block and padding.
const maxRest = 16

// copyExtra reads n extra bytes.
func (a *applier) copyExtra(ctx context.Context, f *appliedFrame, n int64) error {
	for n > 0 {
		b, err := a.blocks.reserve(ctx, int(min(n, pieceSize)))
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(f.streams[streamExtra], b); err != nil {
			return a.wrong(f, "the extra bytes are damaged", err)
		}
		n -= int64(len(b))
	}
	return nil
}
