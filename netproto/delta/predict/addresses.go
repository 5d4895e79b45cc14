package predict

import (
	"cmp"
	"slices"
	"sort"
)

// addresses maps offsets in contents to addresses and back.
type addresses struct {
	byAddress []Area
	byPlace   []Area
	last      int // the area found last, in byAddress
	lastPlace int
}

func newAddresses(areas []Area) addresses {
	m := addresses{byAddress: slices.Clone(areas), byPlace: slices.Clone(areas)}
	slices.SortStableFunc(m.byAddress, func(a, b Area) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortStableFunc(m.byPlace, func(a, b Area) int { return cmp.Compare(a.At, b.At) })
	return m
}

// find returns the area of an address, in file or memory.
func (m *addresses) find(address uint64) (*Area, bool) {
	if m.last < len(m.byAddress) {
		if a := &m.byAddress[m.last]; address-a.Address < uint64(a.Memory) {
			return a, true
		}
	}
	return m.search(address)
}

// search is find without the area found last.
func (m *addresses) search(address uint64) (*Area, bool) {
	lo, hi := 0, len(m.byAddress) // sort.Search, which is too slow for this hot path
	for lo < hi {
		if i := int(uint(lo+hi) >> 1); m.byAddress[i].Address > address {
			hi = i
		} else {
			lo = i + 1
		}
	}
	i := lo - 1
	if i < 0 || address-m.byAddress[i].Address >= uint64(m.byAddress[i].Memory) {
		return nil, false
	}
	m.last = i
	return &m.byAddress[i], true
}

// address is the memory address of an offset in the contents.
func (m *addresses) address(at uint32) (uint64, bool) {
	if m.lastPlace < len(m.byPlace) {
		if a := &m.byPlace[m.lastPlace]; at-a.At < a.Size {
			return a.Address + uint64(at-a.At), true
		}
	}
	i := sort.Search(len(m.byPlace), func(i int) bool { return m.byPlace[i].At > at }) - 1
	if i < 0 || at-m.byPlace[i].At >= m.byPlace[i].Size {
		return 0, false
	}
	m.lastPlace = i
	return m.byPlace[i].Address + uint64(at-m.byPlace[i].At), true
}

// OffsetMap maps offsets of the old contents to the new ones, by the matches: sorted, disjoint ranges of the old contents.
type OffsetMap struct {
	links []Match
	pages []uint32 // for each page of the old contents, the first link that ends behind its start
}

// movePage is the granularity of the page table, in bytes as a power of two: a page rarely has more than a few links.
const movePage = 10

// NewOffsetMap sorts the matches by old offset. Of several matches with the same old bytes, the largest counts.
func NewOffsetMap(matches []Match, oldSize int64) *OffsetMap {
	sorted := slices.Clone(matches)
	slices.SortFunc(sorted, func(a, b Match) int { // equal ones in the order of their new offsets, as given
		return cmp.Compare(uint64(a.Old)<<32|uint64(a.At), uint64(b.Old)<<32|uint64(b.At))
	})
	m := &OffsetMap{links: sorted[:0]}
	for _, x := range sorted {
		m.insert(x)
	}
	m.links = slices.Clip(m.links)
	m.pages = make([]uint32, oldSize>>movePage+2)
	i := 0
	for page := range m.pages {
		for i < len(m.links) && uint64(m.links[i].OldEnd()) <= uint64(page)<<movePage {
			i++
		}
		m.pages[page] = uint32(i)
	}
	return m
}

// insert adds a match that does not begin before the earlier ones. The number of links never exceeds the number of
// matches: the smaller of two overlapping matches is clipped at its end or its start.
func (m *OffsetMap) insert(x Match) {
	for len(m.links) > 0 {
		last := &m.links[len(m.links)-1]
		switch {
		case last.OldEnd() <= x.Old:
			m.links = append(m.links, x)
			return
		case last.OldEnd() >= x.OldEnd(), last.Size >= x.Size:
			if last.OldEnd() >= x.OldEnd() {
				return
			}
			cut := last.OldEnd() - x.Old
			x.Old, x.At, x.Size = x.Old+cut, x.At+cut, x.Size-cut
		case last.Old == x.Old:
			m.links = m.links[:len(m.links)-1]
		default:
			last.Size = x.Old - last.Old
		}
	}
	m.links = append(m.links, x)
}

// newOffset is the new offset of an old one. Offsets between links belong to the nearer one. It returns false if there are no links.
func (m *OffsetMap) newOffset(old uint32) (uint32, bool) {
	page := old >> movePage
	if int(page) >= len(m.pages) || len(m.links) == 0 {
		return 0, false
	}
	i := int(m.pages[page])
	for i < len(m.links) && m.links[i].OldEnd() <= old {
		i++
	}
	switch {
	case i == len(m.links):
		i--
	case m.links[i].Old > old && i > 0 && old-(m.links[i-1].OldEnd()-1) <= m.links[i].Old-old:
		i--
	}
	return m.links[i].At + (old - m.links[i].Old), true
}
