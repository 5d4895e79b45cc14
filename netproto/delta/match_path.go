package delta

import (
	"math"
	"math/bits"
	"slices"

	"collet/netproto/delta/predict"
)

// Costs are in 1/64 bit. They steer the boundaries of matches; the final size of a patch is measured afterwards.
type costs struct {
	equal   int32 // a matching byte
	differ  int32 // the first mismatch after a matching byte
	again   int32 // a mismatch after a mismatch
	literal int32 // a byte without a match
	leave   int32 // from a match to literals
	resume  int32 // from literals back to the previous match
	jump    int32 // to another match: the part independent of the distance
}

const bit = 64 // one bit in the unit of costs

// literals is the shift of a stretch without a match.
const literals = math.MinInt >> 1

const (
	skipFrom    = 32       // an equal stretch from which the path follows a match without alternatives, in bytes
	resumeSpan  = 8        // a mismatched stretch that a match may bridge without a search, in bytes
	resumeRun   = 20       // the equal stretch that must follow it
	searchReach = 1 << 16  // bytes that a search compares
	maxPaths    = 24       // paths kept at one position
	backReach   = 1 << 12  // how far a found match is extended backwards, in bytes
	hopeless    = 16 * bit // a path that is this much more expensive than the best is dropped
)

// matchPath is one candidate up to a position: its last stretch, and the tree node of the stretch before.
type matchPath struct {
	shift  int
	cost   int32
	wrong  bool // the last byte was a mismatch
	start  int
	parent int32
	node   int32 // tree node of this stretch, or none
	last   int   // shift of the last match: of this stretch, or before these literals
}

// stretch is a node of the tree of paths.
type stretch struct {
	shift, start int
	parent       int32
}

const none = -1

// pathfinder walks through the new contents and keeps the cheapest candidate encodings from the old ones (dynamic programming).
type pathfinder struct {
	old, new []byte
	find     finder
	minimum  int // shortest match worth a path, in bytes
	costs    costs

	paths []matchPath
	tree  []stretch
	trail []mark // the cheapest path to each position since the last skip
	since int    // the begin of trail
	next  int    // no search before this position
	end   int
}

// mark records the cheapest path at a position.
type mark struct {
	cost int32
	node int32
	last int
}

// findMatches returns the matches of new[from:to], in order. The path begins as if a match of the given shift had just ended.
func (p *pathfinder) findMatches(from, to, shift int) []predict.Match {
	p.end = to
	p.tree = p.tree[:0]
	p.paths = append(p.paths[:0], matchPath{shift: literals, start: from, parent: none, node: none, last: shift})
	p.addPath(from, p.costs.resume, shift, none)
	p.since, p.trail, p.next = from, p.trail[:0], from
	for at := from; at < to; {
		best := p.cheapest()
		if n := p.matchLength(best, at); n >= skipFrom || at+n == to && n > 0 {
			b := p.paths[best]
			b.cost += int32(n) * p.costs.equal
			b.wrong = false
			p.paths = append(p.paths[:0], b)
			at += n
			p.since, p.trail, p.next = at, p.trail[:0], at
			continue
		}
		if at >= p.next && !p.bridgesMismatch(best, at) {
			p.searchMatch(at, best)
		}
		p.advance(at)
		at++
	}
	return p.tracePath(from, to)
}

func (p *pathfinder) cheapest() int {
	best := 0
	for i := range p.paths {
		if p.paths[i].cost < p.paths[best].cost {
			best = i
		}
	}
	return best
}

// matchLength is how many bytes from at on the path's match has right.
func (p *pathfinder) matchLength(i, at int) int {
	shift := p.paths[i].shift
	if shift == literals || at+shift < 0 || at+shift >= len(p.old) {
		return 0
	}
	return common(p.new[at:p.end], p.old[at+shift:])
}

// bridgesMismatch reports whether the path's match has a long equal stretch after a few bytes, so that no search is needed.
func (p *pathfinder) bridgesMismatch(i, at int) bool {
	shift := p.paths[i].shift
	if shift == literals || at+shift < 0 {
		return false
	}
	for skip := 0; skip <= resumeSpan && at+skip < p.end && at+skip+shift < len(p.old); skip++ {
		if p.new[at+skip] == p.old[at+skip+shift] && common(p.new[at+skip:p.end], p.old[at+skip+shift:]) >= resumeRun {
			return true
		}
	}
	return false
}

// searchMatch adds the longest match at a position.
func (p *pathfinder) searchMatch(at, best int) {
	length, place := p.find.nearest(p.new[at:min(p.end, at+searchReach)], at+p.paths[best].last, p.minimum)
	p.next = at + 1
	if length == 0 {
		return
	}
	if length > 2*skipFrom {
		p.next = at + length/2
	}
	p.addMatch(at, place-at, best)
}

// addMatch adds a match to the paths, starting where leaving the others is cheapest.
func (p *pathfinder) addMatch(at, shift, best int) {
	for i := range p.paths {
		if p.paths[i].shift == shift {
			return
		}
	}
	b := p.paths[best]
	cost := b.cost + p.changeCost(b.last, shift)
	start, parent := at, none
	behind := int32(0)
	for back := at - 1; back >= p.since && back >= at-backReach && back+shift >= 0; back-- {
		m := p.trail[back-p.since]
		if p.new[back] == p.old[back+shift] {
			behind += p.costs.equal
		} else {
			behind += p.costs.again
		}
		c := m.cost + p.changeCost(m.last, shift) + behind
		if c > cost+hopeless {
			break
		}
		if c < cost {
			cost, start, parent = c, back, int(m.node)
		}
	}
	if start == at {
		parent = int(p.nodeOf(best))
	}
	p.addPath(start, cost, shift, int32(parent))
}

// changeCost is the cost of changing to another match.
func (p *pathfinder) changeCost(last, shift int) int32 {
	if last == shift {
		return p.costs.resume
	}
	return p.costs.jump + int32(bits.Len(uint(distance(last, shift))))*bit
}

func (p *pathfinder) addPath(start int, cost int32, shift int, parent int32) {
	if len(p.paths) < maxPaths {
		p.paths = append(p.paths, matchPath{shift: shift, cost: cost, start: start, parent: parent, node: none, last: shift})
	}
}

// nodeOf gives a path's stretch its tree node.
func (p *pathfinder) nodeOf(i int) int32 {
	q := &p.paths[i]
	if q.node == none {
		q.node = int32(len(p.tree))
		p.tree = append(p.tree, stretch{shift: q.shift, start: q.start, parent: q.parent})
	}
	return q.node
}

// advance advances every path by one byte, drops hopeless ones, and starts a new path of literals.
func (p *pathfinder) advance(at int) {
	best := p.cheapest()
	b := p.paths[best]
	p.trail = append(p.trail, mark{cost: b.cost, node: p.nodeOf(best), last: b.last})
	kept := p.paths[:0]
	low := int32(1<<31 - 1)
	literal := matchPath{shift: literals, cost: b.cost + p.costs.leave, start: at, parent: p.paths[best].node, node: none, last: b.last}
	for _, q := range p.paths {
		if q.shift == literals {
			if q.cost <= literal.cost {
				literal = q
			}
			continue
		}
		switch o := at + q.shift; {
		case o < 0 || o >= len(p.old):
			continue
		case p.old[o] == p.new[at]:
			q.cost += p.costs.equal
			q.wrong = false
		case q.wrong:
			q.cost += p.costs.again
		default:
			q.cost += p.costs.differ
			q.wrong = true
		}
		low = min(low, q.cost)
		kept = append(kept, q)
	}
	literal.cost += p.costs.literal
	low = min(low, literal.cost)
	limit := low + p.costs.jump + 36*bit
	p.paths = kept[:0]
	for _, q := range kept {
		if q.cost <= limit {
			p.paths = append(p.paths, q)
		}
	}
	if len(p.paths) == maxPaths {
		p.dropWorst()
	}
	p.paths = append(p.paths, literal)
}

func (p *pathfinder) dropWorst() {
	worst := 0
	for i := range p.paths {
		if p.paths[i].cost > p.paths[worst].cost {
			worst = i
		}
	}
	p.paths[worst] = p.paths[len(p.paths)-1]
	p.paths = p.paths[:len(p.paths)-1]
}

// tracePath follows the cheapest path back and returns its matches.
func (p *pathfinder) tracePath(from, to int) []predict.Match {
	var found []predict.Match
	for n, end := p.nodeOf(p.cheapest()), to; n != none; n = p.tree[n].parent {
		s := p.tree[n]
		if s.shift != literals && s.start < end {
			found = append(found, predict.Match{At: uint32(s.start), Size: uint32(end - s.start), Old: uint32(s.start + s.shift)})
		}
		end = min(end, s.start)
	}
	slices.Reverse(found)
	return found
}
