package tree_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

func TestBlocks(t *testing.T) {
	contents := map[string]string{
		"empty": "", "one": "x", "even": strings.Repeat("ab", 4096), "odd": strings.Repeat("abc", 4097), "large": strings.Repeat("0123456789abcdef", 100_000),
	}
	root := t.TempDir()
	launchertest.Plant(t, root, contents)
	folder := tree.New(launchertest.Open(t, root), tree.Options{})
	for path, data := range contents {
		for _, size := range []int{1, 1000, 4096, 8192, 65536, 1_024_000, 1 << 31} {
			if len(data)/size > 1<<20 {
				continue
			}
			got, err := folder.Blocks(t.Context(), path, uint32(size))
			if err != nil || !slices.Equal(got, launchertest.BlocksOf(data, size)) {
				t.Errorf("%s in blocks of %d: %d hashes, %v", path, size, len(got), err)
			}
		}
	}
	for _, path := range []string{"missing", "../x", "", "sub"} {
		if got, err := folder.Blocks(t.Context(), path, 1000); err == nil {
			t.Errorf("%q has %d blocks", path, len(got))
		}
	}
	var fault *wire.PathError
	if _, err := folder.Blocks(t.Context(), "one", 0); !errors.As(err, &fault) {
		t.Errorf("blocks of nothing: %v", err)
	}
	if _, err := folder.Blocks(t.Context(), "large", 1); err == nil {
		t.Error("more than MaxBlocks blocks are hashed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := folder.Blocks(ctx, "large", 65537); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBlocksAreCached: asked again they are not computed again; after a change they are.
func TestBlocksAreCached(t *testing.T) {
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"a": strings.Repeat("x", 5000)})
	folder := tree.New(launchertest.Open(t, root), tree.Options{Now: later})
	first, err := folder.Blocks(t.Context(), "a", 1000)
	if err != nil {
		t.Fatal(err)
	}
	second, err := folder.Blocks(t.Context(), "a", 1000)
	if err != nil || &first[0] != &second[0] {
		t.Errorf("computed again: %v", err)
	}
	changed := strings.Repeat("x", 4999) + "y"
	tick(t, filepath.Join(root, "a"))
	launchertest.Plant(t, root, map[string]string{"a": changed})
	if got, err := folder.Blocks(t.Context(), "a", 1000); err != nil || !slices.Equal(got, launchertest.BlocksOf(changed, 1000)) {
		t.Errorf("a change is not seen: %v", err)
	}
	if got, err := folder.Blocks(t.Context(), "a", 2000); err != nil || !slices.Equal(got, launchertest.BlocksOf(changed, 2000)) {
		t.Errorf("another size: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Blocks(t.Context(), "a", 1000); err == nil {
		t.Error("a removed file has blocks")
	}
}

// TestLayoutDifference: what Since says makes the one of the other, for random pairs.
func TestLayoutDifference(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 7))
	random := func() *wire.Layout {
		var files []wire.File
		for n := dice.IntN(20); n > 0; n-- {
			f := wire.File{Path: string(rune('a' + dice.IntN(12))), Size: uint64(dice.IntN(2))}
			f.Hash[0] = byte(dice.IntN(2))
			files = append(files, f)
		}
		return wire.NewLayout(files)
	}
	for range 2000 {
		a, b := random(), random()
		removed, changed := b.Since(a)
		if !slices.IsSorted(removed) {
			t.Fatalf("removed %q is not sorted", removed)
		}
		again := a.With(removed, changed)
		if !slices.Equal(again.Files(), b.Files()) || again.Digest() != b.Digest() {
			t.Fatalf("%v became %v by -%v +%v, want %v", a.Files(), again.Files(), removed, changed, b.Files())
		}
		if same := slices.Equal(a.Files(), b.Files()); same != (a.Digest() == b.Digest()) || same != (len(removed)+len(changed) == 0) {
			t.Fatalf("%v and %v: digests say otherwise", a.Files(), b.Files())
		}
	}
}

func TestLayout(t *testing.T) {
	l := wire.NewLayout([]wire.File{{Path: "b", Size: 1}, {Path: "a", Size: 2}, {Path: "b", Size: 3}})
	if got := l.Files(); len(got) != 2 || got[0].Path != "a" || got[1].Size != 3 || l.Bytes() != 5 {
		t.Errorf("layout %v", got)
	}
	if _, there := l.Find("c"); there {
		t.Error("c is there")
	}
	if new(wire.Layout).Digest() != wire.HashOf(nil) {
		t.Error("the digest of nothing is not the hash of nothing")
	}
	one := wire.NewLayout([]wire.File{{Path: "a.txt", Size: 6, Hash: wire.HashOf([]byte("hello\n"))}})
	if got := one.Digest().String(); got != digestOfOne() {
		t.Errorf("digest %s, want %s", got, digestOfOne())
	}
}

// digestOfOne writes the digest's definition out.
func digestOfOne() string {
	hash := sha256.Sum256([]byte("hello\n"))
	return wire.HashOf([]byte("a.txt\x00\x06\x00\x00\x00\x00\x00\x00\x00" + string(hash[:]))).String()
}
