package delta

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"collet/netproto/predicttest"
	"collet/platform/testlevel"
)

// olds wraps contents as those that a receiver has.
func olds(contents ...[]byte) []Old {
	var list []Old
	for _, c := range contents {
		list = append(list, Old{ReaderAt: bytes.NewReader(c), Size: int64(len(c))})
	}
	return list
}

// news wraps contents as those that a receiver is to get.
func news(contents ...[]byte) []New {
	var list []New
	for _, c := range contents {
		list = append(list, New{ReaderAt: bytes.NewReader(c), Size: int64(len(c)), Name: "content"})
	}
	return list
}

func sizesOf(contents [][]byte) []int64 {
	var list []int64
	for _, c := range contents {
		list = append(list, int64(len(c)))
	}
	return list
}

// made is MakePatch into memory.
func made(t rapid.TB, old, fresh [][]byte) ([]byte, PatchStats) {
	t.Helper()
	var out bytes.Buffer
	stats, err := MakePatch(context.Background(), &out, olds(old...), news(fresh...), PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stats.PatchBytes != int64(out.Len()) {
		t.Fatalf("the statistics say %d bytes, the patch has %d", stats.PatchBytes, out.Len())
	}
	return out.Bytes(), stats
}

// applied is ApplyPatch into memory.
func applied(patch io.Reader, old [][]byte, sizes []int64) ([][]byte, error) {
	var got []*bytes.Buffer
	err := ApplyPatch(context.Background(), patch, olds(old...), sizes, func(i int) (io.Writer, error) {
		if i != len(got) {
			return nil, errors.New("contents are asked for out of order")
		}
		got = append(got, &bytes.Buffer{})
		return got[i], nil
	})
	var contents [][]byte
	for _, b := range got {
		contents = append(contents, b.Bytes())
	}
	return contents, err
}

// roundTrip makes and applies a patch, and returns it.
func roundTrip(t rapid.TB, old, fresh [][]byte) ([]byte, PatchStats) {
	t.Helper()
	patch, stats := made(t, old, fresh)
	got, err := applied(bytes.NewReader(patch), old, sizesOf(fresh))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(fresh) {
		t.Fatalf("%d contents, want %d", len(got), len(fresh))
	}
	for i := range fresh {
		if !bytes.Equal(got[i], fresh[i]) {
			t.Fatalf("content %d of %d bytes differs", i, len(fresh[i]))
		}
	}
	return patch, stats
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 7}).Read(b) // it never fails
	return b
}

// words is text of n bytes that compresses, and differs by seed.
func words(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 9))
	list := strings.Fields("the collet grips one tool after another and lets go of none before the next is held fast by its sleeve")
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(list[r.IntN(len(list))])
		b.WriteByte(" \n"[r.IntN(8)/7])
	}
	return b.Bytes()[:n]
}

func TestPatchTable(t *testing.T) {
	t.Parallel()
	n := sized(300_000, 20_000)
	text, dense := words(1, n), noise(1, n)
	edited := bytes.Clone(text)
	copy(edited[1000:], "another thing altogether")
	shuffled := append(append(bytes.Clone(dense[n*2/3:]), dense[n/3:n*2/3]...), dense[:n/3]...)
	for name, c := range map[string]struct {
		old, fresh [][]byte
		most       int // bytes of the patch
	}{
		"nothing to nothing":   {nil, nil, 12},
		"empty contents":       {[][]byte{{}, {}}, [][]byte{{}, {}, {}}, 12},
		"nothing to something": {nil, [][]byte{dense}, len(dense) + 60},
		"something to nothing": {[][]byte{dense}, nil, 16},
		"one byte":             {[][]byte{{1}}, [][]byte{{2}}, 40},
		"identical":            {[][]byte{dense}, [][]byte{dense}, 40},
		"identical, two":       {[][]byte{text, dense}, [][]byte{text, dense}, 40},
		"other borders":        {[][]byte{text, dense}, [][]byte{append(bytes.Clone(text), dense...)}, 40},
		"swapped contents":     {[][]byte{text, dense}, [][]byte{dense, text}, 60},
		"shuffled":             {[][]byte{dense}, [][]byte{shuffled}, 70},
		"small edit":           {[][]byte{text}, [][]byte{edited}, 90},
		"appended":             {[][]byte{dense}, [][]byte{append(bytes.Clone(dense), "more"...)}, 50},
		"cut at the front":     {[][]byte{dense}, [][]byte{dense[n/4+777:]}, 40},
		"all zeros":            {[][]byte{make([]byte, n)}, [][]byte{make([]byte, 2*n)}, 80},
		"empty ones between":   {[][]byte{text, {}, dense}, [][]byte{{}, text, {}, dense, {}}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			patch, stats := roundTrip(t, c.old, c.fresh)
			if len(patch) > c.most {
				t.Errorf("%d bytes, the most is %d: %+v", len(patch), c.most, stats)
			}
		})
	}
}

// mutated is content made from old stretches, edits and new bytes.
func mutated(t *rapid.T, old []byte) []byte {
	var b []byte
	for range rapid.IntRange(0, 12).Draw(t, "pieces") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "fresh")...)
		case 1:
			b = append(b, bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 3000).Draw(t, "run"))...)
		default:
			if len(old) == 0 {
				continue
			}
			from := rapid.IntRange(0, len(old)-1).Draw(t, "from")
			piece := bytes.Clone(old[from:rapid.IntRange(from, len(old)).Draw(t, "to")])
			for range rapid.IntRange(0, 4).Draw(t, "edits") {
				if len(piece) > 0 {
					piece[rapid.IntRange(0, len(piece)-1).Draw(t, "edit")]++
				}
			}
			b = append(b, piece...)
		}
	}
	return b
}

func TestPatchProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := [][]byte{mutated(t, words(rapid.Uint64Range(0, 3).Draw(t, "seed"), 5000)), mutated(t, noise(1, 5000))}
		var fresh [][]byte
		for range rapid.IntRange(0, 3).Draw(t, "contents") {
			fresh = append(fresh, mutated(t, old[rapid.IntRange(0, 1).Draw(t, "of")]))
		}
		roundTrip(t, old, fresh)
	})
}

func FuzzPatchRoundTrip(f *testing.F) {
	f.Add([]byte(""), []byte(""))
	f.Add([]byte("the same"), []byte("the same"))
	f.Add(words(1, 2000), words(2, 3000))
	f.Add(make([]byte, 5000), make([]byte, 7000))
	f.Add(noise(1, 2000), append(noise(1, 2000)[700:], noise(1, 700)...))
	f.Fuzz(func(t *testing.T, old, fresh []byte) {
		if len(old)+len(fresh) > 1<<17 {
			return
		}
		roundTrip(t, [][]byte{old}, [][]byte{fresh})
	})
}

// TestPatchInPieces: what arrives byte by byte or in halves is the same patch.
func TestPatchInPieces(t *testing.T) {
	old, fresh := [][]byte{words(1, 50_000)}, [][]byte{append(noise(3, 100), words(1, 60_000)...)}
	patch, _ := made(t, old, fresh)
	for name, r := range map[string]io.Reader{
		"byte by byte": iotest.OneByteReader(bytes.NewReader(patch)), "halves": iotest.HalfReader(bytes.NewReader(patch)),
		"end with data": iotest.DataErrReader(bytes.NewReader(patch)),
	} {
		got, err := applied(r, old, sizesOf(fresh))
		if err != nil || !bytes.Equal(got[0], fresh[0]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProgress: what is reported rises to 1, and a context that ends stops the work.
func TestProgress(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	n := sized(1<<20, 24<<10)
	old, fresh := words(1, 2*n), append(words(2, n), words(1, n)...)
	var reports []float64
	_, err := MakePatch(t.Context(), io.Discard, olds(old), news(fresh), PatchOptions{Progress: func(done float64) { reports = append(reports, done) }})
	if err != nil || len(reports) < 5 || !slices.IsSorted(reports) || reports[len(reports)-1] != 1 {
		t.Errorf("%v, %v", reports, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err = MakePatch(ctx, io.Discard, olds(old), news(fresh), PatchOptions{Progress: func(done float64) {
		if stop(); done == 1 {
			t.Error("finished although it was stopped")
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestWorkersAgree: the patch does not depend on how many cores made it.
func TestWorkersAgree(t *testing.T) {
	t.Parallel()
	n := sized(1<<20, 12<<10)
	old := append(predicttest.Module(0), words(1, n)...)
	fresh := append(append(predicttest.Module(48), words(3, n/10)...), words(1, n)[5000:]...)
	var first []byte
	for _, workers := range []int{1, 5, 1, 2}[:sized(4, 2)] {
		var out bytes.Buffer
		if _, err := MakePatch(t.Context(), &out, olds(old), news(fresh), PatchOptions{Workers: workers}); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out.Bytes()
		}
		if !bytes.Equal(first, out.Bytes()) {
			t.Errorf("%d workers made another patch", workers)
		}
	}
}

// TestRepeatsDoNotExplode: contents of one byte or a short period, where every suffix resembles every other, take no longer
// than a small multiple of noise.
func TestRepeatsDoNotExplode(t *testing.T) {
	testlevel.Lab(t) // a time, which other tests make longer
	const n = 1 << 20
	took := map[string]time.Duration{}
	for name, old := range suffixTexts(n) {
		fresh := append(append(bytes.Clone(old[n/3:]), "an edit"...), old[:n/2]...)
		start := time.Now()
		roundTrip(t, [][]byte{old}, [][]byte{fresh})
		took[name] = time.Since(start)
	}
	for name, d := range took {
		if d > 10*took["noise 256"]+10*time.Second {
			t.Errorf("%s took %v, noise %v", name, d, took["noise 256"])
		}
	}
	t.Log(took)
}
