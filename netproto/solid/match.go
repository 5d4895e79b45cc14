package solid

import (
	"context"
	"encoding/binary"
	"math/bits"
)

const (
	// hashWidth is how many bytes a hash of the table covers: shorter matches at new shifts are left to brotli.
	hashWidth = 24
	// hashStep is the distance in bytes between the places in the table.
	hashStep = 2
	// lookStride is the distance in bytes between the groups of hashStep places that are looked up in the table, which misses the
	// processor's cache. A match of minNew bytes has several of them, and is extended to its beginning.
	lookStride = 8
	// lookAll is how many bytes behind a match are all looked up: there the next one often begins.
	lookAll = 64
	// maxTableBits is the largest table of places, as a power of two: 64 MiB.
	maxTableBits = 24
	// minNew is the smallest match at a new shift in bytes, minRepeat the smallest at one of the last shifts. Brotli codes shorter ones in
	// fewer bytes: with 32 and 16 a set of 100 MB gets 5 % larger.
	minNew    = 48
	minRepeat = 24
	// triedShifts is how many of the last shifts are tried at every place.
	triedShifts = 4
	// hashFactor is the multiplier of the rolling hash.
	hashFactor = 0x9E3779B97F4A7C15
)

// match is an earlier copy of bytes.
type match struct {
	at    int // place of its first byte
	size  int
	shift int // the copy begins at place at-shift
}

// findMatches finds the matches of a group, in order and without overlaps. It also counts the bytes outside of them.
func findMatches(ctx context.Context, data []byte) (list []match, literals int, err error) {
	m, end := newMatcher(data), 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		found, ok := m.next(end)
		if !ok {
			return list, literals + len(data) - end, nil
		}
		list = append(list, found)
		literals += found.at - end
		end = found.at + found.size
	}
}

// matcher finds long matches in a group, from its beginning to its end. It is for one goroutine.
type matcher struct {
	data      []byte
	table     []int32 // place + 1 by hash
	hashShift uint    // of a hash, to its slot
	hash      uint64  // of the hashWidth bytes at place at
	power     uint64  // hashFactor^hashWidth
	at        int
	recent    shifts
}

func newMatcher(data []byte) *matcher {
	n := min(max(bits.Len(uint(len(data)/hashStep)), 10), maxTableBits)
	m := &matcher{data: data, table: make([]int32, 1<<n), hashShift: uint(64 - n), power: 1}
	for i := range hashWidth {
		m.power *= hashFactor
		if i < len(data) {
			m.hash = m.hash*hashFactor + uint64(data[i]) + 1
		}
	}
	return m
}

func (m *matcher) slot() *int32 {
	h := m.hash ^ m.hash>>29
	return &m.table[h*0xbf58476d1ce4e5b9>>m.hashShift]
}

// step goes to the next place.
func (m *matcher) step() {
	if next := m.at + hashWidth; next < len(m.data) {
		m.hash = m.hash*hashFactor + uint64(m.data[next]) + 1 - m.power*(uint64(m.data[m.at])+1)
	}
	m.at++
}

// next finds the next match that begins at or after from. It is false if none is left.
func (m *matcher) next(from int) (match, bool) {
	for ; m.at+hashWidth <= len(m.data); m.step() {
		found, ok := m.repeat()
		if m.at%lookStride < hashStep || m.at-from < lookAll {
			if better, is := m.lookUp(from); is && (!ok || better.size > found.size+hashWidth) {
				found, ok = better, true
			}
		}
		if ok {
			m.skip(found)
			return found, true
		}
		m.note()
	}
	return match{}, false
}

// note puts the current place into the table.
func (m *matcher) note() {
	if m.at%hashStep == 0 && m.at+hashWidth <= len(m.data) {
		*m.slot() = int32(m.at + 1)
	}
}

// skip passes over a match, and puts its places into the table.
func (m *matcher) skip(found match) {
	m.recent.use(m.recent.find(found.shift), found.shift)
	for end := found.at + found.size; m.at < end; m.step() {
		m.note()
	}
}

// repeat tries the last shifts at the current place.
func (m *matcher) repeat() (best match, ok bool) {
	here := binary.LittleEndian.Uint64(m.data[m.at:])
	for _, shift := range m.recent[:triedShifts] {
		if shift == 0 || shift > m.at || binary.LittleEndian.Uint64(m.data[m.at-shift:]) != here {
			continue
		}
		if n := m.forward(m.at, shift); n >= minRepeat && n > best.size {
			best = match{m.at, n, shift}
		}
	}
	return best, best.size > 0
}

// lookUp tries the place in the table.
func (m *matcher) lookUp(from int) (match, bool) {
	was := int(*m.slot()) - 1
	if was < 0 || m.data[was] != m.data[m.at] {
		return match{}, false
	}
	shift := m.at - was
	n := m.forward(m.at, shift)
	at := m.at
	for at > from && at-shift > 0 && m.data[at-1] == m.data[at-1-shift] {
		at--
		n++
	}
	return match{at, n, shift}, n >= minNew
}

// forward is how many bytes from a place on equal those before it by shift.
func (m *matcher) forward(at, shift int) int {
	n, end := 0, len(m.data)
	for at+n+8 <= end {
		x := binary.LittleEndian.Uint64(m.data[at+n:]) ^ binary.LittleEndian.Uint64(m.data[at+n-shift:])
		if x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for at+n < end && m.data[at+n] == m.data[at+n-shift] {
		n++
	}
	return n
}
