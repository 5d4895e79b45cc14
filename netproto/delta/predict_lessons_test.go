package delta

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// plainLessons is the correction cache as the format defines it, without the shortcut.
type plainLessons struct {
	from [1 << 6]uint64
	move [1 << 6]int32
}

func (p *plainLessons) place(old uint64) int { return int(old * 0x9e3779b97f4a7c15 >> (64 - 6)) }

func (p *plainLessons) learn(old, real uint64) {
	if move := int64(real - old); move >= -1<<31 && move < 1<<31 {
		p.from[p.place(old)], p.move[p.place(old)] = old, int32(move)
	}
}

func (p *plainLessons) find(old uint64) (uint64, bool) {
	if p.from[p.place(old)] != old {
		return 0, false
	}
	return old + uint64(int64(p.move[p.place(old)])), true
}

// TestLessons: the table equals the plain one for any entries, also when entries replace each other.
func TestLessons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64(), rapid.Uint64Range(0x400000, 0x400100))
		l, p := newLessons(6), &plainLessons{}
		for range rapid.IntRange(0, 200).Draw(t, "lessons") {
			old := address.Draw(t, "old")
			real := old + uint64(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "move"))
			l.learn(old, real)
			p.learn(old, real)
			for _, ask := range []uint64{old, address.Draw(t, "ask"), 0} {
				got, known := l.find(ask)
				want, wanted := p.find(ask)
				if known != wanted || known && got != want {
					t.Fatalf("%#x: %#x, %v, want %#x, %v", ask, got, known, want, wanted)
				}
			}
		}
	})
}

// TestLessonsAtTheirEdges: address 0 keeps its displacement until its slot is reused; too large displacements are not stored.
func TestLessonsAtTheirEdges(t *testing.T) {
	l := newLessons(learnBits)
	if to, known := l.find(0); !known || to != 0 {
		t.Errorf("address 0 went to %#x, %v", to, known)
	}
	l.learn(0, 0x1000)
	if to, known := l.find(0); !known || to != 0x1000 {
		t.Errorf("address 0 was learned to go to 0x1000 and went to %#x, %v", to, known)
	}
	for _, c := range []struct {
		old, real uint64
		learned   bool
	}{
		{0x5000, 0x5000, true}, {0x5008, 0x5008 + 1<<31 - 1, true}, {0x5010, 0x5010 + 1<<31, false},
		{1 << 40, 1<<40 - 1<<31, true}, {1<<40 + 8, 1<<40 + 8 - 1<<31 - 1, false}, {5, ^uint64(0), true}, {^uint64(0), 5, true},
	} {
		l.learn(c.old, c.real)
		if to, known := l.find(c.old); known != c.learned || known && to != c.real {
			t.Errorf("%#x to %#x: %#x, %v", c.old, c.real, to, known)
		}
	}
	none := newLessons(0)
	none.learn(7, 9)
	if to, known := none.find(7); !known || to != 9 {
		t.Errorf("a table of one place: %#x, %v", to, known)
	}
	if _, known := none.find(8); known {
		t.Error("a table of one place knows an address that it was not taught")
	}
}

// TestLessonsFor: small contents take small tables, and none takes more than a trial may.
func TestLessonsFor(t *testing.T) {
	for n, want := range map[int]int{0: 0, 3: 0, 4: 1, 4096: 11, 128 << 10: trialBits, 1 << 30: trialBits} {
		if got := lessonsFor(n); got != want {
			t.Errorf("%d bytes: %d bits, want %d", n, got, want)
		}
	}
}

// TestX86Next: eight bytes at a time find the sites that one at a time finds, and nothing is jumped over.
func TestX86Next(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	alphabet := []byte{0xe8, 0xe9, 0xea, 0xe7, 0x0f, 0x80, 0x8f, 0x90, 0x7f, 0x05, 0x0d, 0x3d, 0x45, 0x04, 0x06, 0, 0xff, 0x90, 0x90, 0x90}
	for range 300 {
		b := make([]byte, r.IntN(80))
		for i := range b {
			if b[i] = alphabet[r.IntN(len(alphabet))]; r.IntN(4) == 0 {
				b[i] = byte(r.Uint32())
			}
		}
		end := r.IntN(len(b) + 1)
		for from := range end {
			want := from
			for want < end {
				if at, _ := x86Site(b, want); at > 0 {
					break
				}
				want++
			}
			got := x86Next(b, from, end)
			for got < end { // it may stop early: at the ends of b there is no word to look at
				if at, _ := x86Site(b, got); at > 0 {
					break
				}
				got = x86Next(b, got+1, end)
			}
			if min(got, end) != want {
				t.Fatalf("% x from %d to %d: %d, want %d", b, from, end, got, want)
			}
		}
	}
}

// TestX86NextSkips: bytes that are no site are passed in one call.
func TestX86NextSkips(t *testing.T) {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = 0x90
	}
	b[777] = 0xe8
	if got := x86Next(b, 0, 900); got != 777 {
		t.Errorf("the site at 777 is found at %d", got)
	}
	if got := x86Next(b, 778, 900); got < 900 {
		t.Errorf("stopped at %d", got)
	}
}

// TestX86Site is what counts as a reference.
func TestX86Site(t *testing.T) {
	for _, c := range []struct {
		code   string
		at     int
		branch bool
	}{
		{"\xe8\x00\x00\x00\x00", 1, true}, {"\xe9\x00\x00\x00\x00", 1, true}, {"\x0f\x84\x00\x00\x00\x00", 2, true},
		{"\x0f\x8f\x00\x00\x00\x00", 2, true}, {"\x0f\x90\x00\x00\x00\x00", 0, false}, {"\x0f", 0, false},
		{"\x05\x00\x00\x00\x00", 0, false}, {"\xea\x00", 0, false}, {"\x90", 0, false},
	} {
		if at, branch := x86Site([]byte(c.code), 0); at != c.at || branch != c.branch {
			t.Errorf("% x: %d, %v", c.code, at, branch)
		}
	}
	for modrm := range 256 {
		at, branch := x86Site([]byte{0x8b, byte(modrm), 0, 0, 0, 0}, 1)
		relative := modrm>>6 == 0 && modrm&7 == 5
		switch {
		case modrm == 0xe8 || modrm == 0xe9 || modrm == 0x0f:
		case relative && (at != 2 || branch), !relative && at != 0:
			t.Errorf("modrm %02x: %d, %v", modrm, at, branch)
		}
	}
}

// TestAddresses compares with a search by hand, for areas in any order that do not overlap and have bytes in the file.
func TestAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var areas []area
		at, address := uint32(0), uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "areas") {
			a := area{size: rapid.Uint32Range(1, 50).Draw(t, "size"), code: rapid.Bool().Draw(t, "code")}
			a.memory = a.size + rapid.Uint32Range(0, 20).Draw(t, "memory")
			a.at, a.address = at+rapid.Uint32Range(0, 9).Draw(t, "gap"), address+rapid.Uint64Range(0, 9).Draw(t, "hole")
			at, address = a.at+a.size, a.address+uint64(a.memory)
			areas = append(areas, a)
		}
		m := newAddresses(rapid.Permutation(areas).Draw(t, "order"))
		for range 60 {
			ask := rapid.Uint64Range(0, address+9).Draw(t, "address")
			got, ok := m.find(ask)
			var want *area
			for i := range areas {
				if ask-areas[i].address < uint64(areas[i].memory) {
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
				if place-areas[i].at < areas[i].size {
					want = &areas[i]
				}
			}
			if ok != (want != nil) || ok && in != want.address+uint64(place-want.at) {
				t.Fatalf("place %d: %d, want one of %+v", place, in, want)
			}
		}
	})
}

// TestMoves compares with a direct implementation: the match that covers an old offset, or else the nearer neighbour.
func TestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 5000
		var links []match
		at, old := uint32(0), uint32(0)
		for range rapid.IntRange(1, 30).Draw(t, "matches") {
			old += rapid.Uint32Range(0, 200).Draw(t, "gap")
			m := match{at: at, old: old, size: rapid.Uint32Range(1, 100).Draw(t, "size")}
			if m.oldEnd() > size {
				break
			}
			at, old = m.end()+rapid.Uint32Range(0, 50).Draw(t, "new gap"), m.oldEnd()
			links = append(links, m)
		}
		m := newMoves(rapid.Permutation(links).Draw(t, "order"), size)
		for range 50 {
			place := rapid.Uint32Range(0, size).Draw(t, "place")
			got, ok := m.to(place)
			if len(links) == 0 {
				continue
			}
			best, least := links[0], uint32(1<<31)
			for _, l := range links {
				distance := uint32(0)
				switch {
				case place < l.old:
					distance = l.old - place
				case place >= l.oldEnd():
					distance = place - (l.oldEnd() - 1)
				}
				if distance < least {
					best, least = l, distance
				}
			}
			if want := best.at + (place - best.old); !ok || got != want {
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
		var list []match
		covered := newBitset(size)
		for range rapid.IntRange(0, 20).Draw(t, "matches") {
			x := match{old: rapid.Uint32Range(0, size-1).Draw(t, "old"), at: rapid.Uint32Range(0, 1000).Draw(t, "at")}
			x.size = rapid.Uint32Range(1, size-x.old).Draw(t, "size")
			for i := x.old; i < x.oldEnd(); i++ {
				covered.set(int(i))
			}
			list = append(list, x)
		}
		m := newMoves(list, size)
		if len(m.links) > len(list) {
			t.Fatalf("%d links of %d matches", len(m.links), len(list))
		}
		end := uint32(0)
		for _, l := range m.links {
			if l.old < end || l.size == 0 {
				t.Fatalf("%+v overlaps, of %+v", l, m.links)
			}
			for i := l.old; i < l.oldEnd(); i++ {
				if !covered.has(int(i)) {
					t.Fatalf("place %d is covered by nothing but %+v", i, l)
				}
			}
			end = l.oldEnd()
		}
	})
}
