package delta_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/netproto/delta"
)

// A vector that differs is a change of the format: a diff in testdata after -update is one, too.
var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// vectorSets are the sets of the vectors. They never change.
var vectorSets = []struct {
	name     string
	old, new tree
	options  delta.SetPatchOptions
	exact    bool // the delta alone decides every byte
}{
	{"nothing", tree{"a": "1"}, tree{"a": "1"}, delta.SetPatchOptions{}, true},
	{"removed", tree{"a": "1", "b/c": "2", "b/d": "3"}, tree{"b/c": "2"}, delta.SetPatchOptions{}, true},
	{"moved", tree{"a/one.zip": "1", "a/two.zip": "2", "m.so": "3"}, tree{"b/one.zip": "1", "b/two.zip": "2", "m.dll": "3", "n.so": "3"}, delta.SetPatchOptions{}, true},
	{"changed", tree{"a.txt": "the quick brown fox jumps over the lazy dog", "b": "x"}, tree{"a.txt": "the quick brown fox leaps over the lazy dog", "b": "x", "c": "", "d": "new", "e": "new"}, delta.SetPatchOptions{}, false},
	{"whole", tree{"a.so": "old"}, tree{"a.so": "new", "b": "other"}, delta.SetPatchOptions{MaxMemory: 1}, false},
	{"sums", tree{"a.txt": "the quick brown fox jumps over the lazy dog"}, tree{"a.txt": "the quick brown fox leaps over the lazy dog", "d": "new"}, delta.SetPatchOptions{Sums: true}, false},
	{"groups", tree{"a.txt": "one", "b.txt": "two"}, tree{"a.txt": "one and", "b.txt": "two and"}, delta.SetPatchOptions{Group: 1}, false},
	{"long", tree{"a.zip": prose(1, 20_000)}, tree{"a.zip": "begin" + prose(1, 20_000)[:9000] + "middle" + prose(1, 20_000)[9000:]}, delta.SetPatchOptions{LongResource: 1000}, false},
}

func vectorFile(name string) string { return filepath.Join("testdata", "setpatch", name+".hex") }

func vector(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(vectorFile(name))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

// hexLines is 32 bytes a line.
func hexLines(b []byte) []byte {
	var out bytes.Buffer
	for ; len(b) > 0; b = b[min(len(b), 32):] {
		out.WriteString(hex.EncodeToString(b[:min(len(b), 32)]) + "\n")
	}
	return out.Bytes()
}

// TestSetPatchVectors: patches of today apply for ever.
func TestSetPatchVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectorSets {
		made := makePatch(t, v.old, v.new, v.options)
		if *update {
			if err := os.MkdirAll(filepath.Dir(vectorFile(v.name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(vectorFile(v.name), hexLines(made), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		patch := vector(t, v.name)
		got, err := applyPatch(bytes.NewReader(patch), v.old, digestOf(t, v.new.listing()))
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		for name, content := range v.new {
			if got[name] != content {
				t.Errorf("%s: %s differs", v.name, name)
			}
		}
		if v.exact && !bytes.Equal(made, patch) {
			t.Errorf("%s: made %x, want %x", v.name, made, patch)
		}
	}
}

// FuzzSetPatch: whatever comes is refused as the peer's fault or applied within bounds, in little memory.
func FuzzSetPatch(f *testing.F) {
	for i, v := range vectorSets {
		f.Add(uint8(i), vector(f, v.name))
	}
	f.Fuzz(func(t *testing.T, which uint8, patch []byte) {
		v := vectorSets[int(which)%len(vectorSets)]
		side := v.old.side()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := delta.OpenAnySetPatch(bytes.NewReader(patch), side.Listing, digestOf(t, v.new.listing()))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 160<<20 {
			t.Fatalf("%d bytes of memory for %d of a patch", n, len(patch))
		}
		if err != nil {
			if !peersFault(err) {
				t.Fatalf("%v", err)
			}
			return
		}
		p.Reads()
		sink := &bounded{contents: p.Contents()}
		if err := p.Apply(context.Background(), side.Source, sink); err != nil && !peersFault(err) {
			t.Fatalf("%v", err)
		}
	})
}

// bounded is a sink that takes no more of a content than it may have.
type bounded struct {
	contents []delta.SetContent
	begun    int
	left     int64
}

func (b *bounded) Begin(i int) (io.Writer, error) {
	if b.begun++; i != b.begun-1 {
		panic("contents out of order")
	}
	b.left = b.contents[i].Size
	return b, nil
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		panic("a content is longer than it was said to be")
	}
	return len(p), nil
}

func (b *bounded) End(int) error { return nil }

// deltaOf is a set patch with a delta as it is and no groups' bytes.
func deltaOf(delta []byte) []byte {
	return append([]byte{'C', 'S', 1, byte(len(delta) << 1)}, delta...)
}

// TestSetPatchHostileDeltas: each breaks one rule.
func TestSetPatchHostileDeltas(t *testing.T) {
	t.Parallel()
	old := tree{"a": "1", "b": "2"}
	to := sha("elsewhere")
	for _, test := range []struct {
		what  string
		delta []byte
		want  string
	}{
		{"nothing", nil, "ends too early"},
		{"parts larger than the delta", []byte{9, 0}, "ends too early"},
		{"keeps too many", []byte{2, 0, 3, 0}, "keeps more files than there are"},
		{"removes too many", []byte{2, 0, 2, 0}, "changes more files"},
		{"an op that is none", []byte{2, 0, 0, 3}, "op that does not exist"},
		{"remove with more", []byte{2, 0, 0, 4}, "op that does not exist"},
		{"an added file with the content of nothing", []byte{4, 0, 0, 2, 0, 0}, "op that does not exist"},
		{"bits that mean nothing", []byte{3, 0, 0, 33, 0}, "op that does not exist"},
		{"a head longer than the path before", []byte{5, 0, 1, 10, 2, 0, 0}, "the head of a path"},
		{"text that is not there", []byte{5, 0, 0, 10, 0, 9, 0}, "ends too early"},
		{"a copy of nothing", []byte{6, 0, 0, 6, 0, 0, 0, 9}, "copies a file that does not exist"},
		{"a tail longer than the path", []byte{6, 0, 0, 6, 0, 5, 0, 0}, "tail of a path"},
		{"an earlier content of none", []byte{5, 1, 0, 14, 0, 1, 0, 'x'}, "repeats a content"},
		{"a negative size", []byte{5, 1, 0, 10, 0, 1, 1, 'x'}, "has a file of -1 bytes"},
		{"a use that is none", []byte{4, 0, 0, 17, 9, 0}, "as a use"},
		{"unused text", []byte{0, 1, 'x'}, "text that no path uses"},
		{"no group for a content", []byte{5, 1, 0, 10, 0, 1, 2, 'x'}, "ends too early"},
		{"an empty group", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 0, 0}, "group without contents"},
		{"a group of too many", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 2, 0}, "the contents of a group"},
		{"flags that mean nothing", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 4}, "the flags of a group"},
		{"a reference to nothing", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 0, 1, 5}, "refers to a file"},
		{"a long content that is none", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 3, 1, 1, 0, 0}, "long content"},
		{"a long content of no file", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 3, 1, 0, 2, 0}, "long content"},
		{"a copy behind the end", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 3, 1, 0, 0, 1, 0, 9, 0}, "outside of its files"},
		{"something behind the groups", []byte{5, 1, 0, 10, 0, 1, 2, 'x', 1, 1, 7}, "behind its delta"},
	} {
		_, err := delta.OpenAnySetPatch(bytes.NewReader(deltaOf(test.delta)), old.listing(), to)
		if err == nil || !peersFault(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.what, err, test.want)
		}
	}
}
