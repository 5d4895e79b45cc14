package delta

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
)

// The match search is the most expensive step of making a patch. On incompressible new contents without common data it
// finds nothing. So a quick test comes first. Content-selected sample positions of the old contents, by the hash of the
// eight bytes there, are put into a table. An incompressible segment is not searched if its neighbours are incompressible,
// too, and no sampled position of all three is in the table. If all segments are skipped the suffix array is not built. The unit is a whole segment: similar images share many sequences of some twelve bytes, and
// blocks of 4 KiB would miss matches of 0.05 to 0.08 % of a pack.

const (
	// anchorEvery is the sampling rate, as a power of two: one in four positions. A sequence of 16 bytes contains a
	// sample with a probability of 90 %.
	anchorEvery = 2
	anchorSize  = 8       // bytes that are hashed
	maxAnchors  = 1 << 25 // capacity of the table, 4 bytes each
)

// anchors is a set of sampled hashes of a content.
type anchors struct {
	sums  []uint32
	every int // like anchorEvery, larger for large contents
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

// anchorHash is a hash whose upper bits select samples, and whose lower bits identify the content.
func anchorHash(b []byte) uint64 {
	h := binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15
	return (h ^ h>>29) * 0xbf58476d1ce4e5b9
}

// in reports whether b has a sampled position whose eight bytes are probably in the table.
func (a *anchors) in(b []byte) bool {
	for i := 0; i+anchorSize <= len(b); i++ {
		if h := anchorHash(b[i:]); h>>(64-a.every) == 0 && a.sums[h>>a.shift] == uint32(h) {
			return true
		}
	}
	return false
}

// skippedSegments reports for each segment of fresh whether to skip its search; noisy says which segments are incompressible.
func (m *maker) skippedSegments(ctx context.Context, old, fresh []byte, noisy []bool) ([]bool, error) {
	skip := make([]bool, len(noisy))
	if !slices.Contains(noisy, true) {
		return skip, nil
	}
	table := newAnchors(old)
	known := make([]bool, len(noisy))
	at, _ := m.segmentBounds()
	err := m.parallel(ctx, len(noisy), func(i int) {
		known[i] = !noisy[i] || table.in(fresh[at[i]:min(at[i+1]+anchorSize-1, len(fresh))])
	})
	for i := range skip {
		skip[i] = !slices.Contains(known[max(i-1, 0):min(i+2, len(known))], true)
	}
	return skip, err
}
