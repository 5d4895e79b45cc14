package delta

import (
	"encoding/binary"
	"math/bits"
)

// finder finds sequences in the old contents. It is safe for concurrent use.
type finder interface {
	// nearest returns the longest prefix of b with at least minimum bytes that the old contents have: its length, and
	// its offset; among equally long ones the nearest to near. Length 0 means not found.
	nearest(b []byte, near, minimum int) (length, place int)
}

// searcher finds sequences of the new contents in the old ones, by a suffix array. It is immutable and safe for concurrent use.
type searcher struct {
	text  []byte
	order []int32 // suffixes of text, sorted
	first []int32 // by the first three bytes (two for small texts): first position of their suffixes in order
	shift int     // 0 if first uses three bytes, 8 if it uses two
}

// largeText is the size from which suffixes are grouped by three bytes rather than two. The table takes 64 MiB, and
// saves a search in a large text a third of its cache misses.
const largeText = 16 << 20

// newSearcher builds the suffix array of text. It takes 4 bytes a byte of text.
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

// group is the number of the group of b's first bytes. Missing bytes count as zero, which sorts a short suffix to its
// right place, the front of the group.
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

// find returns the longest prefix of b in the text: its length, and its position in order, around which equally long
// matches lie. Length 0 means no useful match.
func (s *searcher) find(b []byte) (length, at int) {
	if len(b) < 3 {
		return 0, 0
	}
	g := s.group(b)
	lo, hi := int(s.first[g]), int(s.first[g+1])
	if lo == hi {
		return 0, 0
	}
	loLen, hiLen := 0, 0 // common prefix of b with order[lo-1] and order[hi]
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

// common is the length of the common prefix of a and b.
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

// neighbours is how many equally long matches are compared, on each side.
const neighbours = 6

func (s *searcher) nearest(b []byte, near, minimum int) (length, place int) {
	length, at := s.find(b)
	if length < minimum {
		return 0, 0
	}
	place = int(s.order[at])
	least := distance(place, near)
	for _, step := range []int{-1, 1} {
		for i, k := at+step, 0; k < neighbours && i >= 0 && i < len(s.order); i, k = i+step, k+1 {
			v := int(s.order[i])
			d := distance(v, near)
			if d >= least {
				continue
			}
			if common(b[:length], s.text[v:]) < length {
				break
			}
			place, least = v, d
		}
	}
	return length, place
}

func distance(a, b int) int {
	if a < b {
		return b - a
	}
	return a - b
}
