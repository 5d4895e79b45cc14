package delta

import (
	"cmp"
	"slices"
	"sort"
)

// addresses maps offsets in contents to addresses and back.
type addresses struct {
	byAddress []area
	byPlace   []area
	last      int // the area found last, in byAddress
	lastPlace int
}

func newAddresses(areas []area) addresses {
	m := addresses{byAddress: slices.Clone(areas), byPlace: slices.Clone(areas)}
	slices.SortStableFunc(m.byAddress, func(a, b area) int { return cmp.Compare(a.address, b.address) })
	slices.SortStableFunc(m.byPlace, func(a, b area) int { return cmp.Compare(a.at, b.at) })
	return m
}

// find returns the area of an address, in file or memory.
func (m *addresses) find(address uint64) (*area, bool) {
	if m.last < len(m.byAddress) {
		if a := &m.byAddress[m.last]; address-a.address < uint64(a.memory) {
			return a, true
		}
	}
	return m.search(address)
}

// search is find without the area found last.
func (m *addresses) search(address uint64) (*area, bool) {
	lo, hi := 0, len(m.byAddress) // sort.Search, which is too slow for this hot path
	for lo < hi {
		if i := int(uint(lo+hi) >> 1); m.byAddress[i].address > address {
			hi = i
		} else {
			lo = i + 1
		}
	}
	i := lo - 1
	if i < 0 || address-m.byAddress[i].address >= uint64(m.byAddress[i].memory) {
		return nil, false
	}
	m.last = i
	return &m.byAddress[i], true
}

// address is the memory address of an offset in the contents.
func (m *addresses) address(at uint32) (uint64, bool) {
	if m.lastPlace < len(m.byPlace) {
		if a := &m.byPlace[m.lastPlace]; at-a.at < a.size {
			return a.address + uint64(at-a.at), true
		}
	}
	i := sort.Search(len(m.byPlace), func(i int) bool { return m.byPlace[i].at > at }) - 1
	if i < 0 || at-m.byPlace[i].at >= m.byPlace[i].size {
		return 0, false
	}
	m.lastPlace = i
	return m.byPlace[i].address + uint64(at-m.byPlace[i].at), true
}

// moves maps offsets of the old contents to the new ones, by the matches: sorted, disjoint ranges of the old contents.
type moves struct {
	links []match
	pages []uint32 // for each page of the old contents, the first link that ends behind its start
}

// movePage is the granularity of the page table, in bytes as a power of two: a page rarely has more than a few links.
const movePage = 10

// newMoves sorts the matches by old offset. Of several matches with the same old bytes, the largest counts.
func newMoves(matches []match, oldSize int64) *moves {
	sorted := slices.Clone(matches)
	slices.SortFunc(sorted, func(a, b match) int { // equal ones in the order of their new offsets, as given
		return cmp.Compare(uint64(a.old)<<32|uint64(a.at), uint64(b.old)<<32|uint64(b.at))
	})
	m := &moves{links: sorted[:0]}
	for _, x := range sorted {
		m.insert(x)
	}
	m.links = slices.Clip(m.links)
	m.pages = make([]uint32, oldSize>>movePage+2)
	i := 0
	for page := range m.pages {
		for i < len(m.links) && uint64(m.links[i].oldEnd()) <= uint64(page)<<movePage {
			i++
		}
		m.pages[page] = uint32(i)
	}
	return m
}

// insert adds a match that does not begin before the earlier ones. The number of links never exceeds the number of
// matches: the smaller of two overlapping matches is clipped at its end or its start.
func (m *moves) insert(x match) {
	for len(m.links) > 0 {
		last := &m.links[len(m.links)-1]
		switch {
		case last.oldEnd() <= x.old:
			m.links = append(m.links, x)
			return
		case last.oldEnd() >= x.oldEnd(), last.size >= x.size:
			if last.oldEnd() >= x.oldEnd() {
				return
			}
			cut := last.oldEnd() - x.old
			x.old, x.at, x.size = x.old+cut, x.at+cut, x.size-cut
		case last.old == x.old:
			m.links = m.links[:len(m.links)-1]
		default:
			last.size = x.old - last.old
		}
	}
	m.links = append(m.links, x)
}

// to is the new offset of an old one. Offsets between links belong to the nearer one. It returns false if there are no links.
func (m *moves) to(old uint32) (uint32, bool) {
	page := old >> movePage
	if int(page) >= len(m.pages) || len(m.links) == 0 {
		return 0, false
	}
	i := int(m.pages[page])
	for i < len(m.links) && m.links[i].oldEnd() <= old {
		i++
	}
	switch {
	case i == len(m.links):
		i--
	case m.links[i].old > old && i > 0 && old-(m.links[i-1].oldEnd()-1) <= m.links[i].old-old:
		i--
	}
	return m.links[i].at + (old - m.links[i].old), true
}
