package delta

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"collet/netproto/delta/predict"
	"collet/platform/testlevel"
)

// skippedOf is which segments of the new contents are not searched.
func skippedOf(t *testing.T, old, fresh []byte, noisy ...bool) []bool {
	t.Helper()
	m := &maker{old: old, new: fresh, options: PatchOptions{Workers: 2}}
	b, err := m.skippedSegments(t.Context(), old, fresh, noisy)
	if at, _ := m.segmentBounds(); err != nil || len(b) != len(at)-1 {
		t.Fatalf("%v, %d of %d segments", err, len(b), len(at)-1)
	}
	return b
}

// TestSkipped: a segment is searched unless it and its neighbours are incompressible and share no sample with the old contents.
func TestSkipped(t *testing.T) {
	old := noise(1, 400_000)
	const n = 7
	with := func(at, size int) []byte {
		fresh := noise(2, n*segment-1000)
		copy(fresh[at:], old[1234:1234+size])
		return fresh
	}
	all := slices.Repeat([]bool{true}, n)
	but := func(from, to int) []bool {
		b := slices.Clone(all)
		clear(b[from:to])
		return b
	}
	for name, c := range map[string]struct {
		fresh       []byte
		noisy, want []bool
	}{
		"nothing in common":           {with(0, 0), all, all},
		"no noise":                    {with(0, 0), make([]bool, n), make([]bool, n)},
		"in the middle":               {with(3*segment+99, 200), all, but(2, 5)},
		"at the start":                {with(0, 200), all, but(0, 2)},
		"at the end":                  {with(n*segment-1000-200, 200), all, but(n-2, n)},
		"over a border":               {with(3*segment-20, 40), all, but(1, 5)},
		"one segment is not noise":    {with(0, 0), but(4, 5), but(3, 6)},
		"the last is not noise":       {with(0, 0), but(n-1, n), but(n-2, n)},
		"shorter than what is hashed": {with(3*segment, anchorSize-1), all, all},
	} {
		got := skippedOf(t, old, c.fresh, c.noisy...)
		if name == "over a border" { // either or both of the segments see it
			got[1], got[4] = false, false
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSkippedInTinyContents: contents below what is hashed have nothing in common with anything, and nothing breaks.
func TestSkippedInTinyContents(t *testing.T) {
	for _, old := range [][]byte{nil, {1}, []byte("seven b"), []byte("eight by"), noise(1, 9)} {
		for _, size := range []int{1, 7, 8, 9} {
			if got := skippedOf(t, old, bytes.Repeat([]byte{0xa7}, size), true); !got[0] {
				t.Errorf("%d bytes of old, %d new ones: something is in common", len(old), size)
			}
		}
	}
	if got := skippedOf(t, []byte("eight by"), []byte("eight by"), false); got[0] {
		t.Error("compressible data is not searched")
	}
}

// TestAnchors: a stretch of some length is found wherever it lies, and what is not there is not.
func TestAnchors(t *testing.T) {
	text := noise(5, 200_000)
	a := newAnchors(text)
	for _, size := range []int{40, 64, 1000} {
		missed := 0
		const tries = 2000
		for i := range tries {
			if at := i * (len(text) - size) / tries; !a.in(text[at : at+size]) {
				missed++
			}
		}
		if most := map[int]int{40: tries / 100, 64: 2, 1000: 0}[size]; missed > most {
			t.Errorf("%d of %d stretches of %d bytes are missed, the most is %d", missed, tries, size, most)
		}
	}
	if a.in(noise(6, 1<<20)) {
		t.Error("noise is found in other noise")
	}
	if a.in(text[:anchorSize-1]) || a.in(nil) {
		t.Error("what is too short is found")
	}
}

// TestAnchorsOfLargeContents: the table stays within its bounds, and still knows a part of the places.
func TestAnchorsOfLargeContents(t *testing.T) {
	for size, want := range map[int]int{100: 1 << 5, 1 << 20: 1 << 19, 1<<20 - 1: 1 << 18} {
		if a := newAnchors(make([]byte, size)); len(a.sums) != want || a.every != anchorEvery {
			t.Errorf("%d bytes: a table of %d, one of %d", size, len(a.sums), 1<<a.every)
		}
	}
}

// TestNoiseIsNotSearched: a patch for incompressible contents without common data is made without a suffix array, and has their size.
func TestNoiseIsNotSearched(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	old, fresh := noise(1, 3*segment), noise(2, 2*segment+7)
	patch, stats := roundTrip(t, [][]byte{old}, [][]byte{fresh})
	if stats.Matches != 0 || stats.ExtraBytes != int64(len(fresh)) || len(patch) > len(fresh)+100 {
		t.Errorf("%+v", stats)
	}
}

// TestNoiseWithAKnownPartIsSearched: data that incompressible contents share with the old ones is still found.
func TestNoiseWithAKnownPartIsSearched(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	old, fresh := noise(1, 2*segment), noise(2, 5*segment)
	copy(fresh[2*segment+777:], old[5000:105_000])
	_, stats := roundTrip(t, [][]byte{old}, [][]byte{fresh})
	if want := int64(len(fresh) - 100_000); stats.ExtraBytes > want+16 {
		t.Errorf("%d bytes are taken from nowhere, want %d: %+v", stats.ExtraBytes, want, stats)
	}
}

// TestDivision: segments and parts follow each other, none is empty or too large, and together they are all there is.
func TestDivision(t *testing.T) {
	testlevel.Slow(t)
	for _, size := range []int{1, segment - 1, segment, segment + 1, partSize - 1, partSize, partSize + 1, 100<<20 + 5} {
		m := &maker{new: make([]byte, size)}
		at, parts := m.segmentBounds()
		if at[0] != 0 || at[len(at)-1] != size || parts[0] != 0 || parts[len(parts)-1] != len(at)-1 {
			t.Errorf("%d bytes: segments %v, parts %v", size, at, parts)
		}
		for i := range len(at) - 1 {
			if n := at[i+1] - at[i]; n < 1 || n > segment {
				t.Errorf("%d bytes: segment %d has %d", size, i, n)
			}
		}
		for i := range len(parts) - 1 {
			if n := at[parts[i+1]] - at[parts[i]]; n < 1 || n > partSize+len(parts) {
				t.Errorf("%d bytes: part %d has %d", size, i, n)
			}
		}
	}
}

// TestLiteralPrices: bytes that compress are cheaper as literals than those that do not, and noise is told as such.
func TestLiteralPrices(t *testing.T) {
	testlevel.Slow(t)
	text, dense := words(1, 3*segment), noise(1, segment)
	m := &maker{new: append(bytes.Clone(text), dense...), options: PatchOptions{Workers: 2}}
	p := m.pricing()
	prices, noisy, err := p.literals(t.Context(), m)
	if err != nil || len(prices) != 4 {
		t.Fatalf("%v, %d prices", err, len(prices))
	}
	if !slices.Equal(noisy, []bool{false, false, false, true}) {
		t.Errorf("noise: %v", noisy)
	}
	if prices[0] < bit || prices[0] > 4*bit || prices[3] < 7*bit || prices[3] > 9*bit {
		t.Errorf("prices in bits: %d for text, %d for noise", prices[0]/bit, prices[3]/bit)
	}
	small := &maker{new: text[:smallest-1], options: PatchOptions{Workers: 1}}
	p = small.pricing()
	if prices, noisy, err = p.literals(t.Context(), small); err != nil || prices[0] != 3*bit || noisy[0] {
		t.Errorf("small contents: %v, %v, %v", prices, noisy, err)
	}
}

// TestJoin: two matches that go on are one; others stay.
func TestJoin(t *testing.T) {
	a := []predict.Match{{At: 0, Size: 5, Old: 100}}
	for _, c := range []struct {
		b    predict.Match
		want int
	}{{predict.Match{At: 5, Size: 3, Old: 105}, 1}, {predict.Match{At: 6, Size: 3, Old: 106}, 2}, {predict.Match{At: 5, Size: 3, Old: 106}, 2}, {predict.Match{At: 5, Size: 3, Old: 5}, 2}} {
		got := joinMatches(slices.Clone(a), []predict.Match{c.b})
		if len(got) != c.want || c.want == 1 && got[0] != (predict.Match{At: 0, Size: 8, Old: 100}) {
			t.Errorf("%+v: %+v", c.b, got)
		}
	}
	if got := joinMatches(nil, a); len(got) != 1 {
		t.Errorf("behind nothing: %+v", got)
	}
	if got := joinMatches(a, nil); len(got) != 1 {
		t.Errorf("nothing more: %+v", got)
	}
}

// TestParallel: everything is done once, by no more goroutines than there may be, and nothing more once the context ended.
func TestParallel(t *testing.T) {
	m := &maker{options: PatchOptions{Workers: 3}}
	done := make([]int, 100)
	if err := m.parallel(t.Context(), len(done), func(i int) { done[i]++ }); err != nil {
		t.Fatal(err)
	}
	for i, n := range done {
		if n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
	if err := m.parallel(t.Context(), 0, func(int) { t.Error("something of nothing was done") }); err != nil {
		t.Error(err)
	}
	_, err := MakePatch(stoppedContext(t), io.Discard, olds(words(1, 100)), news(words(2, 100)), PatchOptions{})
	if err == nil {
		t.Error("a patch was made although it was stopped before")
	}
}

// stoppedContext is a context that has ended.
func stoppedContext(t *testing.T) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	return ctx
}
