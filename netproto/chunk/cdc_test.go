package chunk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"collet/platform/testlevel"
)

// A golden file that differs is a change of the format: a diff in testdata after -update is one, too.
var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another one; that is a change of format:\n%s", path, got)
	}
}

// known returns bytes that anyone can make again: SHA-256 of the text and a counter (uint64, little-endian), block after
// block.
func knownBytes(text string, size int) []byte {
	var b []byte
	for n := uint64(0); len(b) < size; n++ {
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(text), n))
		b = append(b, sum[:]...)
	}
	return b[:size]
}

func TestGearDerivation(t *testing.T) {
	for i, g := range gear {
		sum := sha256.Sum256(append([]byte("collet gear 1 "), byte(i)))
		if want := binary.LittleEndian.Uint64(sum[:]); g != want {
			t.Errorf("gear %d is %#016x, want %#016x", i, g, want)
		}
	}
}

// cutSlowly is the rule of the cutter, said a second time and without haste.
func cutSlowly(g Grain, data []byte) int {
	hash := uint64(0)
	for i := 0; i < len(data); i++ {
		switch {
		case i+1 > MaxChunk:
			return MaxChunk
		case i < g.min():
			continue
		}
		hash = hash<<1 + gear[data[i]]
		zeroes := g + 2
		if i >= g.average() {
			zeroes = g - 2
		}
		if hash>>(64-zeroes) == 0 {
			return i + 1
		}
	}
	return min(len(data), MaxChunk)
}

func cuts(g Grain, data []byte) (sizes []int) {
	for len(data) > 0 {
		n := g.Cut(data)
		sizes = append(sizes, n)
		data = data[n:]
	}
	return sizes
}

// TestGoldenBoundaries pins the chunks of known bytes for ever.
func TestGoldenBoundaries(t *testing.T) {
	var text strings.Builder
	for _, g := range []Grain{Fine, Medium, Coarse} {
		fmt.Fprintf(&text, "grain %d\n", g)
		for _, c := range []struct {
			name string
			data []byte
		}{{"noise", knownBytes("collet", 300_001)}, {"zeroes", make([]byte, 150_000)}, {"pairs", bytes.Repeat(knownBytes("pair", 6000), 25)}} {
			fmt.Fprintf(&text, "%s %v\n", c.name, cuts(g, c.data))
		}
	}
	golden(t, "cuts.txt", text.String())
}

func TestCutRule(t *testing.T) {
	for _, g := range []Grain{Fine, Medium, Coarse} {
		for _, data := range [][]byte{knownBytes("rule", 700_000), make([]byte, 200_001), chunkProse(1, 500_000), nil, {1}, knownBytes("s", g.min()), knownBytes("s", g.min()+1)} {
			total := 0
			for rest := data; len(rest) > 0; {
				n := g.Cut(rest)
				if want := cutSlowly(g, rest); n != want {
					t.Fatalf("grain %d at %d of %d: cut of %d, want %d", g, total, len(data), n, want)
				}
				if n > MaxChunk || n < g.min() && n != len(rest) {
					t.Fatalf("grain %d: chunk of %d bytes", g, n)
				}
				total += n
				rest = rest[n:]
			}
			if total != len(data) {
				t.Fatalf("%d of %d bytes", total, len(data))
			}
		}
	}
}

func TestCutAverages(t *testing.T) {
	testlevel.Slow(t)
	data := knownBytes("average", sized(24<<20, 12<<20))
	for _, g := range []Grain{Fine, Medium, Coarse} {
		mean := len(data) / len(cuts(g, data))
		if off := float64(mean) / float64(g.average()); off < 0.9 || off > 1.25 {
			t.Errorf("grain %d: %d bytes on average, %d wanted", g, mean, g.average())
		}
	}
}

// TestCutFollowsContent puts bytes into the middle: chunks before and soon after are those that were.
func TestCutFollowsContent(t *testing.T) {
	old := knownBytes("moves", 4<<20)
	changed := append(append(append([]byte(nil), old[:2<<20]...), "seven b"...), old[2<<20:]...)
	for _, g := range []Grain{Fine, Medium, Coarse} {
		had := map[ChunkSum]bool{}
		at := 0
		for _, n := range cuts(g, old) {
			had[SumChunk(old[at:at+n])] = true
			at += n
		}
		lost := 0
		at = 0
		for _, n := range cuts(g, changed) {
			if !had[SumChunk(changed[at:at+n])] {
				lost += n
			}
			at += n
		}
		if lost == 0 || lost > 4*g.average()+MaxChunk/2 {
			t.Errorf("grain %d: an insertion of 7 bytes changed %d", g, lost)
		}
	}
}

func TestGrainFor(t *testing.T) {
	for size, want := range map[int64]Grain{0: Fine, 32 << 20: Fine, 32<<20 + 1: Medium, 256 << 20: Medium, 256<<20 + 1: Coarse, 1 << 50: Coarse} {
		if got := GrainFor(size); got != want {
			t.Errorf("GrainFor(%d) = %d, want %d", size, got, want)
		}
	}
}

// TestCutAll wants the same chunks from a stream, however it comes, as from memory.
func TestCutAll(t *testing.T) {
	data := knownBytes("stream", 3<<20+77)
	for _, size := range []int{0, 1, MaxChunk - 1, MaxChunk, MaxChunk + 1, cutBuffer, cutBuffer + 1, len(data)} {
		want := cuts(Coarse, data[:size])
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(data[:size]), "halves": iotest.HalfReader(bytes.NewReader(data[:size])), "with its end": iotest.DataErrReader(bytes.NewReader(data[:size]))} {
			var got []int
			var all []byte
			err := cutAll(context.Background(), Coarse, r, func(c []byte) error {
				got = append(got, len(c))
				all = append(all, c...)
				return nil
			})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || !bytes.Equal(all, data[:size]) {
				t.Fatalf("%d bytes, %s: cut as %v, want %v, %v", size, name, got, want, err)
			}
		}
	}
}

func TestCutAllEnds(t *testing.T) {
	mine := errors.New("mine")
	keep := func([]byte) error { return nil }
	if err := cutAll(context.Background(), Fine, failing(make([]byte, 100), mine), keep); !errors.Is(err, mine) {
		t.Errorf("reader's fault: %v", err)
	}
	if err := cutAll(context.Background(), Fine, bytes.NewReader(make([]byte, 100)), func([]byte) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("user's fault: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := cutAll(gone, Fine, bytes.NewReader(nil), keep); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzCut(f *testing.F) {
	f.Add(uint8(0), knownBytes("fuzz", 5000))
	f.Add(uint8(2), make([]byte, 70_000))
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		g := Fine + Grain(n%3)
		for rest := data; len(rest) > 0; {
			size := g.Cut(rest)
			if size != cutSlowly(g, rest) || size < 1 {
				t.Fatalf("cut of %d, want %d", size, cutSlowly(g, rest))
			}
			rest = rest[size:]
		}
	})
}

func BenchmarkCut(b *testing.B) {
	data := knownBytes("speed", 32<<20)
	for _, g := range []Grain{Fine, Medium, Coarse} {
		b.Run(fmt.Sprint(g), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				for rest := data; len(rest) > 0; {
					rest = rest[g.Cut(rest):]
				}
			}
		})
	}
}
