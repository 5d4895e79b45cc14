package delta

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collet/platform/testlevel"
)

// suffixTexts are texts that trouble suffix sorting: runs, periods, Fibonacci words, and noise of several alphabets.
func suffixTexts(n int) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(alphabet int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(alphabet))
		}
		return b
	}
	fib := []byte("ab")
	for prev := []byte("a"); len(fib) < n; {
		fib, prev = append(bytes.Clone(fib), prev...), fib
	}
	falling := make([]byte, n)
	for i := range falling {
		falling[i] = byte(255 - i*256/max(n, 1))
	}
	return map[string][]byte{
		"zeros": make([]byte, n), "period 2": bytes.Repeat([]byte("ab"), n/2), "period 7": bytes.Repeat([]byte("abacaba"), n/7),
		"fibonacci": fib[:n], "noise 2": noise(2), "noise 4": noise(4), "noise 256": noise(256), "falling": falling,
		"run then end": append(make([]byte, n/2), noise(3)[:n-n/2]...),
	}
}

func TestSortSuffixes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 8, 21, 100, 1000} {
		for name, text := range suffixTexts(n) {
			want := make([]int32, len(text))
			for i := range want {
				want[i] = int32(i)
			}
			slices.SortFunc(want, func(a, b int32) int { return bytes.Compare(text[a:], text[b:]) })
			got := make([]int32, len(text))
			sortSuffixes(text, got, 256)
			if !slices.Equal(got, want) {
				t.Fatalf("%s of %d: %v, want %v", name, n, got, want)
			}
		}
	}
}

func FuzzSortSuffixes(f *testing.F) {
	for _, text := range suffixTexts(40) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		order := make([]int32, len(text))
		sortSuffixes(text, order, 256)
		seen := newBitset(len(text))
		for i, v := range order {
			seen.set(int(v))
			if i > 0 && bytes.Compare(text[order[i-1]:], text[v:]) >= 0 {
				t.Fatalf("suffix %d stands before %d", order[i-1], v)
			}
		}
		for i := range text {
			if !seen.has(i) {
				t.Fatalf("suffix %d is missing", i)
			}
		}
	})
}

// TestSortSuffixesIsLinear: texts of one symbol or short periods take no longer than noise does, by a wide margin.
func TestSortSuffixesIsLinear(t *testing.T) {
	testlevel.Lab(t) // a time, which other tests make longer
	const n = 1 << 20
	took := map[string]time.Duration{}
	for name, text := range suffixTexts(n) {
		start := time.Now()
		sortSuffixes(text, make([]int32, len(text)), 256)
		took[name] = time.Since(start)
	}
	for name, d := range took {
		if d > 20*took["noise 256"]+time.Second {
			t.Errorf("%s took %v, noise %v", name, d, took["noise 256"])
		}
	}
	t.Log(took)
}

// TestBitset: bits are apart from each other.
func TestBitset(t *testing.T) {
	b := newBitset(200)
	for i := 0; i < 200; i += 7 {
		b.set(i)
	}
	for i := range 200 {
		if b.has(i) != (i%7 == 0) {
			t.Errorf("bit %d is %v", i, b.has(i))
		}
	}
	if len(newBitset(0)) != 0 || len(newBitset(64)) != 1 || len(newBitset(65)) != 2 {
		t.Error("a set has another size")
	}
}
