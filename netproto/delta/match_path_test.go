package delta

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestSearcherFindsTheLongest compares with a search by hand.
func TestSearcherFindsTheLongest(t *testing.T) {
	for name, text := range suffixTexts(700) {
		s := newSearcher(text)
		r := rand.New(rand.NewPCG(8, 8))
		for range 60 {
			from := r.IntN(len(text))
			b := append(bytes.Clone(text[from:min(len(text), from+r.IntN(40))]), byte(r.IntN(256)), 1, 2)
			want := 0
			for i := range text {
				want = max(want, common(b, text[i:]))
			}
			length, place := s.nearest(b, from, 1)
			if want >= 3 && length != want || length > 0 && common(b, text[place:]) < length {
				t.Fatalf("%s: %d bytes at %d, the longest has %d", name, length, place, want)
			}
		}
	}
}

// TestSearcherPrefersTheNearest: of equal stretches that which continues where the last match was.
func TestSearcherPrefersTheNearest(t *testing.T) {
	piece := noise(4, 50)
	text := append(append(append(noise(1, 300), piece...), noise(2, 300)...), piece...)
	s := newSearcher(text)
	for near, want := range map[int]int{0: 300, 310: 300, 640: 650, 9000: 650} {
		if length, place := s.nearest(piece, near, 8); length != 50 || place != want {
			t.Errorf("near %d: %d bytes at %d, want %d", near, length, place, want)
		}
	}
}

// TestSparseFindsLongStretches: what is longer than two strides is found wherever it begins, by a few strides late at most.
func TestSparseFindsLongStretches(t *testing.T) {
	text := noise(6, 100_000)
	s := newSparse(text)
	for _, from := range []int{0, 1, 15, 16, 12_345, 99_900} {
		found := false
		for skip := 0; skip < 5*smallStride && !found; skip++ {
			length, place := s.nearest(text[from+skip:], 0, 8)
			found = place == from+skip && length >= sparseMinimum
		}
		if !found {
			t.Errorf("the stretch at %d is not found", from)
		}
	}
	if length, _ := s.nearest(noise(7, 100), 0, 8); length != 0 {
		t.Errorf("%d bytes of noise are found", length)
	}
	if length, _ := newSparse(nil).nearest(text, 0, 8); length != 0 {
		t.Error("something is found in nothing")
	}
}

// TestSparsePatch: contents that are searched sparsely come back like others.
func TestSparsePatch(t *testing.T) {
	old := noise(6, 300_000)
	fresh := append(append(bytes.Clone(old[100_000:200_001]), noise(9, 500)...), old[7:90_000]...)
	p := &pathfinder{old: old, new: fresh, find: newSparse(old), minimum: 8, costs: textCosts}
	p.costs.literal = 8 * bit
	covered := 0
	for _, m := range p.findMatches(0, len(fresh), 0) {
		covered += int(m.Size)
	}
	if covered < len(fresh)-600 {
		t.Errorf("%d of %d bytes are covered", covered, len(fresh))
	}
}

// TestPath: matches are in order, apart, within both contents, and cover what is the same.
func TestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := mutated(t, words(1, 4000))
		fresh := mutated(t, old)
		p := &pathfinder{old: old, new: fresh, find: newSearcher(old), minimum: 8, costs: nativeCosts}
		p.costs.literal = int32(rapid.IntRange(bit, 8*bit).Draw(t, "literal"))
		at := uint32(0)
		for _, m := range p.findMatches(0, len(fresh), rapid.IntRange(-9000, 9000).Draw(t, "shift")) {
			if m.At < at || m.Size == 0 || int(m.End()) > len(fresh) || int(m.OldEnd()) > len(old) {
				t.Fatalf("match %+v after %d, of %d and %d bytes", m, at, len(old), len(fresh))
			}
			at = m.End()
		}
	})
}

// TestPathIsCheap: a stretch that differs in single bytes is one match, and a worthless find is none.
func TestPathIsCheap(t *testing.T) {
	old := noise(1, 20_000)
	fresh := bytes.Clone(old)
	for i := 50; i < len(fresh); i += 97 {
		fresh[i]++
	}
	p := &pathfinder{old: old, new: fresh, find: newSearcher(old), minimum: 8, costs: nativeCosts}
	p.costs.literal = 8 * bit
	if found := p.findMatches(0, len(fresh), 0); len(found) != 1 || found[0].Size != uint32(len(fresh)) {
		t.Errorf("single wrong bytes cut a match: %d matches", len(found))
	}
	other := noise(2, 20_000)
	copy(other[5000:], old[700:709])
	p = &pathfinder{old: old, new: other, find: newSearcher(old), minimum: 8, costs: nativeCosts}
	p.costs.literal = 2 * bit
	if found := p.findMatches(0, len(other), 0); len(found) != 0 {
		t.Errorf("9 bytes that cost more as a match than as literals are a match: %v", found)
	}
}

func TestRecentShifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b recentShifts
		for _, shift := range rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<31, 1<<31))).Draw(t, "shifts") {
			if got, ok := b.decode(a.encode(shift)); !ok || got != shift {
				t.Fatalf("%d came back as %d", shift, got)
			}
		}
	})
	var r recentShifts
	if _, ok := r.decode(uint64(len(r))<<1 | 1); ok {
		t.Error("a number behind the last shift is taken")
	}
}
