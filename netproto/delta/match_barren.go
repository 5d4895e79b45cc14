package delta

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Searching is what making a patch costs most, and where the new contents are noise and have nothing in common with the old
// ones it finds nothing for all its cost. So a quick look comes first: some places of the old contents, chosen by the hash of
// the eight bytes there, are put into a table, and segments of noise are barren if no place that is chosen likewise, in them
// or in their neighbours, is in the table. They are not searched, and if all are barren the old contents are not even sorted.
// Less than a segment is never barren: pictures of a kind share many stretches of some twelve bytes, and what blocks of
// 4 KiB would miss of them was 0.05 to 0.08 % of a pack.

const (
	// anchorEvery is how many places there are for each that is chosen, as a power of two: a stretch of 16 bytes has one in
	// nine of ten cases.
	anchorEvery = 2
	anchorSize  = 8       // bytes that are hashed
	maxAnchors  = 1 << 25 // places that a table has room for, 4 bytes each
)

// anchors is a set of hashes: some of those of a content.
type anchors struct {
	sums  []uint32
	every int // as anchorEvery, and more for large contents
	shift int
}

func newAnchors(text []byte) *anchors {
	a := &anchors{every: anchorEvery}
	for len(text)>>a.every >= maxAnchors {
		a.every++
	}
	size := bits.Len(uint(len(text) >> a.every))
	a.sums, a.shift = make([]uint32, 1<<size), 64-a.every-size
	for i := 0; i+anchorSize <= len(text); i++ {
		if h := anchorHash(text[i:]); h>>(64-a.every) == 0 {
			a.sums[h>>a.shift] = uint32(h)
		}
	}
	return a
}

// anchorHash is a hash whose upper bits choose places, and whose lower ones tell contents apart.
func anchorHash(b []byte) uint64 {
	h := binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15
	return (h ^ h>>29) * 0xbf58476d1ce4e5b9
}

// in reports whether b has a place whose eight bytes are likely in the table.
func (a *anchors) in(b []byte) bool {
	for i := 0; i+anchorSize <= len(b); i++ {
		if h := anchorHash(b[i:]); h>>(64-a.every) == 0 && a.sums[h>>a.shift] == uint32(h) {
			return true
		}
	}
	return false
}

// barren tells the segments of fresh that are not worth a search; noisy tells those that are noise.
func (m *maker) barren(ctx context.Context, old, fresh []byte, noisy []bool) ([]bool, error) {
	barren := make([]bool, len(noisy))
	if !slices.Contains(noisy, true) {
		return barren, nil
	}
	table := newAnchors(old)
	known := make([]bool, len(noisy))
	at, _ := m.cuts()
	err := m.parallel(ctx, len(noisy), func(i int) {
		known[i] = !noisy[i] || table.in(fresh[at[i]:min(at[i+1]+anchorSize-1, len(fresh))])
	})
	for i := range barren {
		barren[i] = !slices.Contains(known[max(i-1, 0):min(i+2, len(known))], true)
	}
	return barren, err
}
