package faultfs

import (
	"math"
	"math/rand/v2"
)

const (
	// page is the unit in which systems write file content back, in bytes.
	page = 4096
	// sector is the unit that a disk writes atomically, in bytes.
	sector = 512
	// whole is larger than every file: as a block size it means all or nothing.
	whole = int64(1) << 62
)

// dice are the random choices of one power cut for one number (a node, or the names). The same seed and number give the same choices,
// independent of other numbers.
type dice struct {
	*rand.Rand
	percent int // share of the unsynced that survives
}

func throw(seed, number uint64, percent int) *dice {
	return &dice{rand.New(rand.NewPCG(seed, number)), percent}
}

// chance is true in percent of all cases.
func (d *dice) chance() bool { return d.IntN(100) < d.percent }

// upTo is a random number of 0 … n. Each is possible unless percent is 0 or 100, and their mean is near percent of n.
func (d *dice) upTo(n int) int {
	switch {
	case d.percent <= 0:
		return 0
	case d.percent >= 100:
		return n
	default:
		share := math.Pow(d.Float64(), float64(100-d.percent)/float64(d.percent)) // its mean is percent / 100
		return min(n, int(share*float64(n+1)))
	}
}

// moment is one of the moments 0 … n, n > 0: the last one in percent of all cases, otherwise as often the first as all
// others. x is a random number.
func (d *dice) moment(x uint64, n int) int {
	switch {
	case int(x%100) < d.percent:
		return n
	case x>>32&1 == 0:
		return 0
	default:
		return int((x >> 33) % uint64(n))
	}
}

// mix is the random number of a block: one step of SplitMix64 (Steele, Lea and Flood, 2014), from as many steps on.
func mix(seed uint64, block int64) uint64 {
	x := seed + uint64(block+1)*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// survival is the part of a history that survives a power cut.
type survival struct {
	inode  int                           // the inode is as after so many changes
	block  int64                         // bytes for which shows decides at once
	shows  func(i int, block int64) bool // whether change i is seen in a block
	must   map[int64]int                 // by page: that many changes are seen in it whatever shows says
	torn   int                           // of this change only the first bytes are seen; -1: none is torn
	tear   int64                         // how many
	length int64                         // of the file, if a torn change ends it; -1: as the inode says
}

// least is what survives in any case: nothing, unless a sync succeeded after one that failed. A page that was synced was
// written as it then was.
func (h *history) least() survival {
	s := survival{block: whole, shows: none, must: map[int64]int{}, torn: -1, length: -1}
	for i, c := range h.changes {
		if c.fate != synced {
			continue
		}
		s.inode, s.block = i+1, page
		for _, p := range c.pieces {
			for b := p.off / page; b*page < p.end(); b++ {
				s.must[b] = i + 1
			}
		}
	}
	return s
}

func none(int, int64) bool { return false }
func all(int, int64) bool  { return true }

// draw chooses one of the behaviours with which systems and disks lose unsynced data.
func (h *history) draw(d *dice) survival {
	s, n := h.least(), len(h.changes)
	ways := []func(s *survival, d *dice, n int){allOrNothing, h.upToAMoment, pages, sectors, someWrites, zeros}
	least := s.inode
	ways[d.IntN(len(ways))](&s, d, n)
	s.inode = max(s.inode, least)
	return s
}

func allOrNothing(s *survival, d *dice, n int) {
	if d.chance() {
		s.inode, s.shows = n, all
	}
}

// upToAMoment keeps the changes before one moment, and the first bytes of the next one; the file ends there, or is
// lengthened by zeros as if that change had been written whole.
func (h *history) upToAMoment(s *survival, d *dice, n int) {
	m := max(d.upTo(n), s.inode)
	s.inode, s.shows = m, func(i int, _ int64) bool { return i < m }
	if m == n {
		return
	}
	c, bytes := h.changes[m], int64(0)
	for _, p := range c.pieces {
		bytes += int64(len(p.data))
	}
	s.inode, s.torn, s.tear = m+1, m, d.Int64N(bytes+1)
	if d.IntN(2) == 0 {
		s.length = max(min(h.sizeAt(m), c.cut), c.end(s.tear))
	}
}

// pages leaves each page as it was at some moment, and the inode at another one.
func pages(s *survival, d *dice, n int) { s.block = page; blocks(s, d, n) }

// sectors is the same for what a disk writes whole.
func sectors(s *survival, d *dice, n int) { s.block = sector; blocks(s, d, n) }

func blocks(s *survival, d *dice, n int) {
	s.inode = d.moment(d.Uint64(), n)
	seed := d.Uint64()
	s.shows = func(i int, block int64) bool { return i < d.moment(mix(seed, block), n) }
}

// someWrites keeps or loses each change as a whole, so that a later one may be there without an earlier one.
func someWrites(s *survival, d *dice, n int) {
	s.inode = d.moment(d.Uint64(), n)
	kept := make([]bool, n)
	for i := range kept {
		kept[i] = d.chance()
	}
	s.shows = func(i int, _ int64) bool { return kept[i] }
}

// zeros keeps the new length, with zeros in place of the new bytes.
func zeros(s *survival, _ *dice, n int) { s.inode = n }

// end is where the first n bytes of a change end in the file.
func (c change) end(n int64) int64 {
	var end int64
	for _, p := range c.pieces {
		if n <= 0 {
			break
		}
		end = max(end, p.off+min(n, int64(len(p.data))))
		n -= int64(len(p.data))
	}
	return end
}

// place puts what survives of a piece of change i, as far as it lies before visible.
func (s *survival) place(c *content, i int, p extent, visible int64) {
	if i == s.torn {
		p.data = p.data[:min(s.tear, int64(len(p.data)))]
		s.tear -= int64(len(p.data))
	}
	end := min(p.end(), visible)
	for at := p.off; at < end; {
		from := at
		for at < end && s.seen(i, at) {
			at = s.next(at)
		}
		if at = min(at, end); from < at {
			c.putBytes(from, p.data[from-p.off:at-p.off])
		}
		for at < end && !s.seen(i, at) {
			at = s.next(at)
		}
	}
}

// next is where the block of off ends.
func (s *survival) next(off int64) int64 { return (off/s.block + 1) * s.block }

func (s *survival) seen(i int, off int64) bool {
	return i == s.torn || i < s.must[off/page] || s.shows(i, off/s.block)
}
