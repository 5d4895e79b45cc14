package delta

import (
	"encoding/binary"
	"math/bits"
)

// finder finds where bytes stand in the old contents. Any number of goroutines may ask it.
type finder interface {
	// nearest returns the longest stretch that b begins with, if it has the minimum of bytes: its length, and its place;
	// among equally long ones that which is nearest to near. Length 0 means that there is none.
	nearest(b []byte, near, minimum int) (length, place int)
}

// searcher finds where bytes of the new contents stand in the old ones, by a suffix array. It is read-only once made:
// any number of goroutines may ask it.
type searcher struct {
	text  []byte
	order []int32 // suffixes of text, sorted
	first []int32 // by the first three bytes (two for small texts): where their suffixes begin in order
	shift int     // 0 when first goes by three bytes, 8 when by two
}

// largeText is the size from which suffixes are grouped by three bytes rather than two: the table takes 64 MiB, and saves
// a search of a large text a third of its cache misses.
const largeText = 16 << 20

// newSearcher sorts text. It takes 4 bytes a byte of text.
func newSearcher(text []byte) *searcher {
	s := &searcher{text: text, order: make([]int32, len(text))}
	sortSuffixes(text, s.order, 256)
	groups := 1 << 24
	if len(text) < largeText {
		s.shift, groups = 8, 1<<16
	}
	s.first = make([]int32, groups+1)
	for i := range text {
		s.first[s.group(text[i:])+1]++
	}
	for i := 1; i <= groups; i++ {
		s.first[i] += s.first[i-1]
	}
	return s
}

// group is the number of b's first bytes. Missing ones count as zero, which sorts a short suffix where it belongs: in
// front of the group.
func (s *searcher) group(b []byte) int {
	g := 0
	for i := range 3 {
		g <<= 8
		if i < len(b) {
			g |= int(b[i])
		}
	}
	return g >> s.shift
}

// find returns the longest stretch of the text that b begins with: its length, and the stretch of order whose
// middle is one such place. Length 0 means that nothing useful is there.
func (s *searcher) find(b []byte) (length, at int) {
	if len(b) < 3 {
		return 0, 0
	}
	g := s.group(b)
	lo, hi := int(s.first[g]), int(s.first[g+1])
	if lo == hi {
		return 0, 0
	}
	loLen, hiLen := 0, 0 // what b has in common with order[lo-1] and order[hi]
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		from := min(loLen, hiLen)
		suffix := s.text[s.order[mid]:]
		n := from + common(b[from:], suffix[min(from, len(suffix)):])
		if n == len(b) {
			return n, mid
		}
		if n > length {
			length, at = n, mid
		}
		if n == len(suffix) || suffix[n] < b[n] {
			lo, loLen = mid+1, n
		} else {
			hi, hiLen = mid, n
		}
	}
	return length, at
}

// common is how many bytes a and b begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// neighbours is how many equally long finds are looked at, to each side.
const neighbours = 6

func (s *searcher) nearest(b []byte, near, minimum int) (length, place int) {
	length, at := s.find(b)
	if length < minimum {
		return 0, 0
	}
	place = int(s.order[at])
	distance := far(place, near)
	for _, step := range []int{-1, 1} {
		for i, k := at+step, 0; k < neighbours && i >= 0 && i < len(s.order); i, k = i+step, k+1 {
			v := int(s.order[i])
			d := far(v, near)
			if d >= distance {
				continue
			}
			if common(b[:length], s.text[v:]) < length {
				break
			}
			place, distance = v, d
		}
	}
	return length, place
}

func far(a, b int) int {
	if a < b {
		return b - a
	}
	return a - b
}
