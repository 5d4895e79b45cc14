package delta

import (
	"context"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"collet/netproto/delta/predict"
)

// segment is the size of the pieces for which paths are searched. It bounds the memory of a tree of paths.
const segment = 512 << 10

// nativeCosts suit machine code and its tables, textCosts everything else. Both were tuned on published releases of each
// kind; the cost of a literal is measured on the contents themselves.
var (
	nativeCosts = costs{equal: 1, differ: 12 * bit, again: 8 * bit, leave: 12 * bit, resume: 16 * bit, jump: 26 * bit}
	textCosts   = costs{equal: 1, differ: 14 * bit, again: 10 * bit, leave: 8 * bit, resume: 12 * bit, jump: 20 * bit}
)

// sampleCount is the largest number of segments that are compressed well to estimate the cost of a literal.
const sampleCount = 16

// Factors from the average coded size of a new byte to the cost of a literal. In text, matches cover the cheap bytes. In
// machine code, an imprecise match misleads the prediction. In a module's tables, mismatches are mostly predicted, so
// literals have a minimum cost there.
const (
	factorText  = 1.05
	factorCode  = 0.85
	floorTables = 4 * bit
)

// pricing estimates the cost of literals in a segment.
type pricing struct {
	costs  costs
	scale  float64          // final bits of a literal for each bit of its quickly and separately compressed segment
	native *predict.Modules // nil without native modules
}

// pricing measures the cost of literals for this kind of contents.
func (m *maker) pricing() pricing {
	p := pricing{costs: textCosts, scale: 1}
	if m.modules != nil {
		p.costs, p.native = nativeCosts, m.modules
	}
	if len(m.new) < smallest {
		return p
	}
	var sample []byte
	quick := newSizer(zstd.SpeedDefault)
	alone, n := 0, (len(m.new)-1)/segment+1
	for i := range min(n, sampleCount) {
		from := i * n / min(n, sampleCount) * segment
		piece := m.new[from:min(from+segment, len(m.new))]
		sample = append(sample, piece...)
		alone += quick.size(piece)
	}
	p.scale = float64(newSizer(zstd.SpeedBestCompression).size(sample)) / float64(alone)
	return p
}

// smallest is the size from which a segment's literal cost is measured, in bytes.
const smallest = 32 << 10

// literal is the cost of a literal in a segment at an offset, and whether the segment is incompressible.
func (p *pricing) literal(quick *sizer, fresh []byte, at int) (cost int32, noisy bool) {
	if len(fresh) < smallest {
		return 3 * bit, false
	}
	middle := uint32(at + len(fresh)/2)
	factor, floor := factorText, int32(bit)
	if p.native != nil {
		if area, ok := p.native.NewArea(middle); ok && area.Code {
			factor = factorCode
		} else if ok {
			floor = floorTables
		}
	}
	size := quick.size(fresh)
	bits := p.scale * factor * 8 * float64(size) / float64(len(fresh))
	return max(floor, int32(bit*min(bits, 8.25))), size >= len(fresh)/1000*noiseShare
}

// literals calls literal for each segment of the new contents.
func (p *pricing) literals(ctx context.Context, m *maker) (costs []int32, noisy []bool, err error) {
	at, parts := m.segmentBounds()
	costs, noisy = make([]int32, len(at)-1), make([]bool, len(at)-1)
	err = m.parallel(ctx, len(parts)-1, func(part int) {
		quick := newSizer(zstd.SpeedDefault)
		for i := parts[part]; i < parts[part+1] && ctx.Err() == nil; i++ {
			costs[i], noisy[i] = p.literal(quick, m.new[at[i]:at[i+1]], at[i])
		}
	})
	return costs, noisy, err
}

// partSize is how many new bytes one goroutine processes at once. It is independent of the number of cores, so that
// every machine makes the same patch.
const partSize = 8 << 20

// segmentBounds divides the new contents. at has the begin of each segment, and the end. parts has the first segment of each
// part, and the number of segments. Parts have similar sizes, and each begins with a new segment.
func (m *maker) segmentBounds() (at, parts []int) {
	n := len(m.new)/partSize + 1
	for i := range n {
		parts = append(parts, len(at))
		from, to := len(m.new)/n*i, len(m.new)/n*(i+1)
		if i == n-1 {
			to = len(m.new)
		}
		for ; from < to; from += segment {
			at = append(at, from)
		}
	}
	return append(at, len(m.new)), append(parts, len(at))
}

// findMatches finds the matches between the new and the old contents, in order of the new ones.
func (m *maker) findMatches(ctx context.Context) ([]predict.Match, error) {
	if len(m.old) == 0 || len(m.new) == 0 {
		return nil, nil
	}
	old, fresh := m.maskReferences()
	price := m.pricing()
	literal, noisy, err := price.literals(ctx, m)
	if err != nil {
		return nil, err
	}
	skip, err := m.skippedSegments(ctx, old, fresh, noisy)
	if err != nil || !slices.Contains(skip, false) {
		return nil, err
	}
	find := newFinder(old)
	m.progress.add(partSort)
	at, parts := m.segmentBounds()
	found := make([][]predict.Match, len(parts)-1)
	err = m.parallel(ctx, len(found), func(i int) {
		p := &pathfinder{old: old, new: fresh, find: find, minimum: 8, costs: price.costs}
		shift := 0
		for k := parts[i]; k < parts[i+1] && ctx.Err() == nil; k++ {
			if p.costs.literal = literal[k]; !skip[k] {
				found[i] = joinMatches(found[i], p.findMatches(at[k], at[k+1], shift))
			}
			m.progress.add(partMatch * float64(at[k+1]-at[k]) / float64(len(m.new)))
			if n := len(found[i]); n > 0 {
				shift = found[i][n-1].Shift()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var all []predict.Match
	for _, f := range found {
		all = joinMatches(all, f)
	}
	return all, nil
}

// newFinder uses the suffix array if memory allows.
func newFinder(old []byte) finder {
	if len(old) > largeOld {
		return newSparse(old)
	}
	return newSearcher(old)
}

// joinMatches appends matches, and merges two that continue each other.
func joinMatches(a, b []predict.Match) []predict.Match {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].End() == b[0].At && a[len(a)-1].OldEnd() == b[0].Old {
		a[len(a)-1].Size += b[0].Size
		b = b[1:]
	}
	return append(a, b...)
}

// parallel calls do for 0 to n-1 on all cores of the maker and waits. It returns the error of the context.
func (m *maker) parallel(ctx context.Context, n int, do func(i int)) error {
	var group errgroup.Group
	group.SetLimit(m.options.Workers)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // do has no error
	return ctx.Err()
}

// maskReferences returns the contents with masked references of native code, for the match search.
func (m *maker) maskReferences() (old, fresh []byte) {
	if m.modules == nil {
		return m.old, m.new
	}
	_ = m.parallel(context.Background(), 2, func(i int) {
		if i == 0 {
			old = m.modules.MaskOld(m.old)
		} else {
			fresh = m.modules.MaskNew(m.new)
		}
	})
	return old, fresh
}
