package delta

import (
	"context"
	"encoding/binary"
	"hash/crc32"

	"collet/netproto/delta/predict"
)

// The format of a patch (numbers are unsigned LEB128 unless stated):
//
//	magic   "CP" 1
//	old     size of all old contents, one behind the other
//	new     size of all new contents, likewise
//	frame*  until new bytes have been described
//	check   CRC-32C of all new contents, 4 bytes, little-endian
//
//	frame   size    new bytes that it describes, 1 or more
//	        flags   1 = joined, 2 = predicted
//	        matches their number
//	        row*    one for each stream in the order below: raw size; unless that is 0 and unless joined, coded size<<1 | code
//	        row     if joined: of all streams one behind the other as one
//	        data*   the coded streams in the same order
//
// A match takes three numbers, each from its own stream: the extra bytes before it, from streamExtra; its size; and its shift
// (offset in the old contents minus offset in the frame), coded by recentShifts. Bytes behind the last match come from streamExtra.
const patchMagic = "CP\x01"

// Flags of a frame.
const (
	flagJoined    = 1 // all streams are compressed together, because they are small
	flagPredicted = 2 // references are predicted, controlled by streamImages and streamModes
)

// Streams of a frame, in their order. streamExtra is last so that it can be decoded while it arrives.
const (
	streamGaps   = 0 // bytes between matches
	streamSizes  = 1 // sizes of matches
	streamShifts = 2 // changes of shift
	streamImages = 3 // address maps of native modules
	streamModes  = 4 // kinds of references by block
	streamZeros  = 5 // runs of matching bytes
	streamWrongs = 6 // runs of mismatched bytes, less one
	streamBytes  = 7 // mismatched bytes
	streamExtra  = 8 // extra bytes, which have no match
	streamCount  = 9
)

// windows bounds the decoder's memory: a power of two of bytes for each stream, 23 MiB together.
var windows = [streamCount]int{20, 20, 20, 16, 16, 20, 20, 21, bestWindow}

// Caps. A maker respects them by splitting frames; an applier rejects larger values.
const (
	maxFrame   = 1 << 30  // new bytes of a frame: matches have 32-bit offsets
	maxMatches = 3 << 18  // of a frame: 12 bytes each in the applier's memory, twice when references are predicted
	maxHeld    = 8 << 20  // compressed bytes of all streams but the last, which an applier keeps in memory
	maxJoined  = 1 << 16  // raw bytes of streams that are compressed together; an applier keeps them in memory
	maxImages  = 64 << 10 // raw bytes of streamImages, kept in memory
	maxOld     = 1<<31 - 1
)

// manyMatches is the number of matches from which streamExtra has a smaller window, to compensate their memory.
const (
	manyMatches   = 1 << 18
	lessForExtras = 23
)

// window bounds a stream's decoder, as a power of two of bytes.
func window(stream, matches int) int {
	if stream == streamExtra && matches > manyMatches {
		return lessForExtras
	}
	return windows[stream]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is one part of a patch before encoding.
type frame struct {
	size    int
	flags   byte
	matches []predict.Match
	streams [streamCount][]byte
}

// encodeMatches encodes the matches into their three streams.
func (f *frame) encodeMatches() {
	at := uint32(0)
	var gaps, sizes, shifts []byte
	var recent recentShifts
	for _, m := range f.matches {
		gaps = binary.AppendUvarint(gaps, uint64(m.At-at))
		sizes = binary.AppendUvarint(sizes, uint64(m.Size))
		shifts = binary.AppendUvarint(shifts, recent.encode(int64(m.Shift())))
		at = m.End()
	}
	f.streams[streamGaps], f.streams[streamSizes], f.streams[streamShifts] = gaps, sizes, shifts
}

// recentShifts is a move-to-front list of the last shifts of matches, because contents often return to an earlier shift.
// A shift is coded as its list index, doubled plus one, or as its zigzag difference to the newest, doubled.
type recentShifts [16]int64

func (r *recentShifts) encode(shift int64) uint64 {
	for i, s := range r {
		if s == shift {
			r.moveToFront(i, shift)
			return uint64(i)<<1 | 1
		}
	}
	v := signed(shift-r[0]) << 1
	r.moveToFront(len(r)-1, shift)
	return v
}

// decode is the shift for a number; ok is false for an invalid number.
func (r *recentShifts) decode(v uint64) (shift int64, ok bool) {
	i := len(r) - 1
	if shift = r[0] + unsigned(v>>1); v&1 != 0 {
		if v>>1 >= uint64(len(r)) {
			return 0, false
		}
		i = int(v >> 1)
		shift = r[i]
	}
	r.moveToFront(i, shift)
	return shift, true
}

// moveToFront moves the shift at place i to the front.
func (r *recentShifts) moveToFront(i int, shift int64) {
	copy(r[1:i+1], r[:i])
	r[0] = shift
}

// rawSize is the size of all streams before compression, at least 1.
func (f *frame) rawSize() int {
	sum := 1
	for _, s := range f.streams {
		sum += len(s)
	}
	return sum
}

// header is the frame's header up to the rows.
func (f *frame) header(flags byte) []byte {
	b := binary.AppendUvarint(nil, uint64(f.size))
	b = binary.AppendUvarint(b, uint64(flags))
	return binary.AppendUvarint(b, uint64(len(f.matches)))
}

// encodeJoined is the whole frame with all streams compressed together, or nil if they are too large for that.
func (f *frame) encodeJoined(ctx context.Context) []byte {
	var all []byte
	b := f.header(f.flags | flagJoined)
	for _, s := range f.streams {
		b = binary.AppendUvarint(b, uint64(len(s)))
		all = append(all, s...)
	}
	if len(all) > maxJoined {
		return nil
	}
	c := compressStream(ctx, all, bestWindow)
	return append(c.appendRow(b), c.data...)
}

// encodeSeparate is the whole frame with separately compressed streams, and the compressed size of those held in memory.
func (f *frame) encodeSeparate(streams *[streamCount]coded) (b []byte, held int) {
	b = f.header(f.flags)
	for _, c := range streams {
		b = c.appendRow(b)
	}
	for i, c := range streams {
		b = append(b, c.data...)
		if i != streamExtra {
			held += len(c.data)
		}
	}
	return b, held
}
