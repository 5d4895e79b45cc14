package delta

import (
	"cmp"
	"slices"
	"sort"
)

// addresses tells places in contents from addresses and back.
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

// find returns the area that an address lies in, in file or memory.
func (m *addresses) find(address uint64) (*area, bool) {
	if m.last < len(m.byAddress) {
		if a := &m.byAddress[m.last]; address-a.address < uint64(a.memory) {
			return a, true
		}
	}
	return m.search(address)
}

// search is find without a look at the area found last.
func (m *addresses) search(address uint64) (*area, bool) {
	lo, hi := 0, len(m.byAddress) // sort.Search, for which this is too hot
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

// address is where a place in the contents is in memory.
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

// moves tells where a place of the old contents went, by the matches: sorted, disjoint stretches of the old contents.
type moves struct {
	links []match
	pages []uint32 // the first link that ends behind the start of each page of the old contents
}

// movePage is the granularity of the first look, in bytes as a power of two: a page seldom holds more than a few links.
const movePage = 10

// newMoves sorts the matches by old place. Where several took the same old bytes, the largest says where they went.
func newMoves(matches []match, oldSize int64) *moves {
	sorted := slices.Clone(matches)
	slices.SortFunc(sorted, func(a, b match) int { // equal ones in the order of their new places, as they came
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

// insert adds a match that begins at or behind the ones before. It never makes more links than it was given matches:
// what a smaller match loses to a larger one is cut from its end or its start.
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

// to is where an old place went. Places between links go with the nearer one. It is false if there is no link at all.
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
