package predict

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAddresses compares with a search by hand, for areas in any order that do not overlap and have bytes in the file.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var areas []Area
		at, address := uint32(0), uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "areas") {
			a := Area{Size: rapid.Uint32Range(1, 50).Draw(t, "size"), Code: rapid.Bool().Draw(t, "code")}
			a.Memory = a.Size + rapid.Uint32Range(0, 20).Draw(t, "memory")
			a.At, a.Address = at+rapid.Uint32Range(0, 9).Draw(t, "gap"), address+rapid.Uint64Range(0, 9).Draw(t, "hole")
			at, address = a.At+a.Size, a.Address+uint64(a.Memory)
			areas = append(areas, a)
		}
		m := newAddresses(rapid.Permutation(areas).Draw(t, "order"))
		for range 60 {
			ask := rapid.Uint64Range(0, address+9).Draw(t, "address")
			got, ok := m.find(ask)
			var want *Area
			for i := range areas {
				if ask-areas[i].Address < uint64(areas[i].Memory) {
					want = &areas[i]
				}
			}
			if ok != (want != nil) || ok && *got != *want {
				t.Fatalf("address %d: %+v, want %+v", ask, got, want)
			}
			place := uint32(rapid.IntRange(0, int(at)+9).Draw(t, "place"))
			in, ok := m.address(place)
			want = nil
			for i := range areas {
				if place-areas[i].At < areas[i].Size {
					want = &areas[i]
				}
			}
			if ok != (want != nil) || ok && in != want.Address+uint64(place-want.At) {
				t.Fatalf("place %d: %d, want one of %+v", place, in, want)
			}
		}
	})
}

// TestMoves compares with a direct implementation: the match that covers an old offset, or else the nearer neighbour.
func TestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 5000
		var links []Match
		at, old := uint32(0), uint32(0)
		for range rapid.IntRange(1, 30).Draw(t, "matches") {
			old += rapid.Uint32Range(0, 200).Draw(t, "gap")
			m := Match{At: at, Old: old, Size: rapid.Uint32Range(1, 100).Draw(t, "size")}
			if m.OldEnd() > size {
				break
			}
			at, old = m.End()+rapid.Uint32Range(0, 50).Draw(t, "new gap"), m.OldEnd()
			links = append(links, m)
		}
		m := NewOffsetMap(rapid.Permutation(links).Draw(t, "order"), size)
		for range 50 {
			place := rapid.Uint32Range(0, size).Draw(t, "place")
			got, ok := m.newOffset(place)
			if len(links) == 0 {
				continue
			}
			best, least := links[0], uint32(1<<31)
			for _, l := range links {
				distance := uint32(0)
				switch {
				case place < l.Old:
					distance = l.Old - place
				case place >= l.OldEnd():
					distance = place - (l.OldEnd() - 1)
				}
				if distance < least {
					best, least = l, distance
				}
			}
			if want := best.At + (place - best.Old); !ok || got != want {
				t.Fatalf("%d went to %d, %v, want %d", place, got, ok, want)
			}
		}
	})
}

// TestMovesInsert: whatever the matches are, the links are disjoint, sorted, and no more than the matches, and every old
// place that a match covers has a link.
func TestMovesInsert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 300
		var list []Match
		covered := make([]bool, size)
		for range rapid.IntRange(0, 20).Draw(t, "matches") {
			x := Match{Old: rapid.Uint32Range(0, size-1).Draw(t, "old"), At: rapid.Uint32Range(0, 1000).Draw(t, "at")}
			x.Size = rapid.Uint32Range(1, size-x.Old).Draw(t, "size")
			for i := x.Old; i < x.OldEnd(); i++ {
				covered[i] = true
			}
			list = append(list, x)
		}
		m := NewOffsetMap(list, size)
		if len(m.links) > len(list) {
			t.Fatalf("%d links of %d matches", len(m.links), len(list))
		}
		end := uint32(0)
		for _, l := range m.links {
			if l.Old < end || l.Size == 0 {
				t.Fatalf("%+v overlaps, of %+v", l, m.links)
			}
			for i := l.Old; i < l.OldEnd(); i++ {
				if !covered[i] {
					t.Fatalf("place %d is covered by nothing but %+v", i, l)
				}
			}
			end = l.OldEnd()
		}
	})
}
