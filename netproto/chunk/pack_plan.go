package chunk

import (
	"context"
	"errors"
	"io"
	"time"
)

// MaxPlanChunks caps the chunks of all files in one plan: 8 Mi, about 150 GB at the average. A plan takes some 80 bytes
// for each, so a larger set needs several plans.
const MaxPlanChunks = 8 << 20

// Plan determines which pack ranges are missing to build new files, given local sources. The order of calls is: NewPlan,
// then OfferIndex and OfferFile for each local file, then Missing, then Assemble. A Plan belongs to one goroutine and
// keeps the given indexes.
type Plan struct {
	files  []*Index
	origin map[chunkKey]origin
	steps  [][]step // for each file, for each chunk
	ranges []Range
}

// origin is the place of a wanted chunk on this machine.
type origin struct {
	source int32
	offset int64
}

// step is the source of one chunk of a new file. A source of 0 or more is a local one, fetched is a pack, and -2-n is
// the new file n, which has the chunk already.
type step struct {
	source int32
	offset int64 // in the source; undefined for a pack
}

const fetched = -1

// Range is a range of a pack to fetch.
type Range struct {
	Pack   PackRef
	Offset int64
	Size   int64
}

// errPlanSize is a fault of the caller: see MaxPlanChunks.
var errPlanSize = errors.New("too many chunks for one plan: split the set")

// NewPlan starts a plan for the new files in the order in which they will be built. Files that are contiguous in their
// packs, as in the order of publishing, need the fewest ranges.
func NewPlan(files []*Index) (*Plan, error) {
	p := &Plan{files: files, origin: map[chunkKey]origin{}}
	total := 0
	for _, ix := range files {
		if total += len(ix.Chunks); total > MaxPlanChunks {
			return nil, errPlanSize
		}
		for i := range ix.Chunks {
			p.origin[chunkKey{ix.Chunks[i].Sum, ix.Chunks[i].Size}] = origin{source: fetched}
		}
	}
	return p, nil
}

// OfferIndex declares that local source number n (0 or above) has the content of ix, for example because it was
// installed by that index's release. Nothing is read: Assemble fetches pieces that turn out to be different.
func (p *Plan) OfferIndex(n int, ix *Index) {
	offset := int64(0)
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		p.recordOrigin(n, chunkKey{c.Sum, c.Size}, offset)
		offset += int64(c.Size)
	}
}

// OfferFile cuts local source number n, which r reads from its start, with grain g, and records the useful chunks. g
// should be that of the most similar new file. It is for files without an index, such as scratch files and files that a
// player has changed. It takes about a second for each 1.2 GB and keeps no reference to r.
func (p *Plan) OfferFile(ctx context.Context, n int, g Grain, r io.Reader) error {
	offset := int64(0)
	return cutAll(ctx, g, r, func(data []byte) error {
		p.recordOrigin(n, chunkKey{SumChunk(data), int32(len(data))}, offset)
		offset += int64(len(data))
		return nil
	})
}

// recordOrigin records the first place offered for a wanted chunk.
func (p *Plan) recordOrigin(n int, key chunkKey, offset int64) {
	if o, wanted := p.origin[key]; wanted && o.source == fetched {
		p.origin[key] = origin{int32(n), offset}
	}
}

// Bounds of GapFor in bytes: the header overhead of a request and its response, and the largest gap that is fetched needlessly.
const (
	minGap = 512
	maxGap = 1 << 20
)

// GapFor returns the gap limit of a link: up to so many bytes between two ranges are fetched rather than skipped,
// because a separate request costs as much. A request costs its header, and the round trip divided by the requests in
// flight, in bytes of the link: 25 KB at 20 ms, 50 Mbit/s and five in flight.
func GapFor(roundTrip time.Duration, bytesPerSecond float64, inFlight int) int64 {
	bytes := roundTrip.Seconds() * bytesPerSecond / float64(max(1, inFlight))
	return int64(min(max(bytes, 0)+minGap, maxGap))
}

// Missing selects the source of each chunk and returns the ranges to fetch. Two ranges of a pack are merged if at most
// gap bytes lie between them. A repeated chunk is fetched once. The ranges are in the order of their first use. Assemble
// reads each of them once and sequentially, and those of one pack in order.
func (p *Plan) Missing(gap int64) []Range {
	m := missingRanges{gap: max(0, gap), last: map[PackRef]int{}}
	p.steps = make([][]step, len(p.files))
	again := map[chunkKey]origin{}
	for f, ix := range p.files {
		offset := int64(0)
		p.steps[f] = make([]step, len(ix.Chunks))
		for i := range ix.Chunks {
			c := &ix.Chunks[i]
			key := chunkKey{c.Sum, c.Size}
			o := p.origin[key]
			if made, there := again[key]; o.source == fetched && there {
				o = made
			} else if o.source == fetched {
				again[key] = origin{int32(-2 - f), offset}
				m.addChunk(ix.Packs[c.Pack], c)
			}
			p.steps[f][i] = step(o)
			offset += int64(c.Size)
		}
	}
	p.ranges = m.ranges
	return m.ranges
}

// missingRanges collects ranges; last is the newest range of each pack, the only one that may grow.
type missingRanges struct {
	gap    int64
	ranges []Range
	last   map[PackRef]int
}

func (m *missingRanges) addChunk(ref PackRef, c *Chunk) {
	if n, there := m.last[ref]; there {
		r := &m.ranges[n]
		if end := r.Offset + r.Size; c.Offset >= end && c.Offset-end <= m.gap {
			r.Size = c.Offset + int64(c.Packed) - r.Offset
			return
		}
	}
	m.last[ref] = len(m.ranges)
	m.ranges = append(m.ranges, Range{ref, c.Offset, int64(c.Packed)})
}
