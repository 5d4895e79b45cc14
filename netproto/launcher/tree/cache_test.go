package tree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform"
)

// cachedTree is a folder with files that are old enough, and a tree with a cache on disk.
func cachedTree(t *testing.T, files int) (string, *platform.Dir, func() *Tree) {
	t.Helper()
	root, state := t.TempDir(), t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i)), bytes.Repeat([]byte{byte(i)}, 100*i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dirs := make([]*platform.Dir, 2)
	for i, name := range []string{root, state} {
		dir, err := platform.OpenDir(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dir.Close() })
		dirs[i] = dir
	}
	future := func() time.Time { return time.Now().Add(10 * time.Second) }
	return root, dirs[1], func() *Tree {
		return New(dirs[0], Options{Cache: dirs[1], CacheName: "cache", Now: future})
	}
}

// hashed is how many bytes a scan had to read.
func hashed(t *testing.T, folder *Tree) uint64 {
	t.Helper()
	if _, problems, err := folder.Scan(t.Context()); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	_, total := folder.Progress()
	return total
}

func TestCacheOutlivesItsProcess(t *testing.T) {
	root, state, next := cachedTree(t, 5)
	folder := next()
	if n := hashed(t, folder); n != 1000 {
		t.Fatalf("the first scan read %d bytes", n)
	}
	blocks, err := folder.Blocks(t.Context(), "4", 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(); err != nil {
		t.Fatal(err)
	}
	again := next()
	if n := hashed(t, again); n != 0 {
		t.Errorf("the next process read %d bytes", n)
	}
	info, err := os.Stat(filepath.Join(root, "4"))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.cache.blocks("4", platform.IdentityOf(info), 100); !slices.Equal(got, blocks) {
		t.Errorf("%d block hashes came back, want %d", len(got), len(blocks))
	}
	if err := os.Remove(filepath.Join(root, "3")); err != nil {
		t.Fatal(err)
	}
	hashed(t, again)
	if len(again.cache.entries) != 4 || !again.cache.dirty {
		t.Errorf("%d entries after a removal", len(again.cache.entries))
	}
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	before, err := state.Stat("cache")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	if after, err := state.Stat("cache"); err != nil || platform.IdentityOf(after) != platform.IdentityOf(before) {
		t.Errorf("a cache that did not change is written: %v", err)
	}
}

// TestCacheAfterAReboot: what changed shortly before the save may have been lost by a power cut.
func TestCacheAfterAReboot(t *testing.T) {
	root, state, next := cachedTree(t, 5)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "1"), old, old); err != nil {
		t.Fatal(err)
	}
	folder := next()
	hashed(t, folder)
	saved := folder.cache.snapshot("another boot", time.Now().Add(10*time.Second))
	write := func() {
		data, err := formatCache(saved)
		if err == nil {
			err = platform.WriteHint(state, "cache", data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := hashed(t, next()); n != 1000 {
		t.Errorf("%d bytes were read after a reboot, want all 1000", n)
	}
	saved.when = time.Now().Add(2 * unsynced).UnixNano()
	write()
	if n := hashed(t, next()); n != 0 {
		t.Errorf("%d bytes were read though all was on the disk", n)
	}
}

// TestBrokenCache: whatever is in the file, scans are right.
func TestBrokenCache(t *testing.T) {
	_, state, next := cachedTree(t, 3)
	folder := next()
	hashed(t, folder)
	data, err := formatCache(folder.cache.snapshot("b", time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	broken := [][]byte{nil, []byte(cacheMagic), data[:len(data)-1], append(slices.Clone(data), 0), bytes.Repeat([]byte{0}, 100)}
	for i := range data {
		one := slices.Clone(data)
		one[i] ^= 1
		broken = append(broken, one)
	}
	for i, text := range broken {
		if _, ok := parseCache(text); ok {
			t.Errorf("broken cache %d is taken", i)
		}
	}
	if err := platform.WriteHint(state, "cache", broken[2]); err != nil {
		t.Fatal(err)
	}
	if n := hashed(t, next()); n != 300 {
		t.Errorf("%d bytes were read with a broken cache, want 300", n)
	}
}

func TestBlockHashesAreBounded(t *testing.T) {
	c := treeCache{entries: map[string]*cached{}}
	id := platform.Identity{Size: 1}
	c.putBlocks("a", id, 1, make([]wire.Hash, maxCachedHashes-10))
	c.putBlocks("b", id, 1, make([]wire.Hash, 11))
	c.putBlocks("c", id, 1, make([]wire.Hash, 10))
	if c.blocks("a", id, 1) == nil || c.blocks("b", id, 1) != nil || c.blocks("c", id, 1) == nil {
		t.Error("the cap does not hold")
	}
	if c.blocks("a", id, 2) != nil || c.blocks("a", platform.Identity{Size: 2}, 1) != nil {
		t.Error("another size or file has blocks")
	}
}

// FuzzParseCache: no panic, bounded memory, and what is read is written as it was. The sum at the end is made right, or
// nothing would get through.
func FuzzParseCache(f *testing.F) {
	saved := &savedCache{boot: "b", when: 5, entries: []savedEntry{{path: "a", cached: cached{
		id: platform.Identity{Size: 3, Inode: 4, Modified: time.Unix(5, 6)}, blocks: []blockList{{size: 9, hashes: make([]wire.Hash, 2)}}}}}}
	data, err := formatCache(saved)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[len(cacheMagic) : len(data)-len(wire.Hash{})])
	f.Fuzz(func(t *testing.T, body []byte) {
		text := append([]byte(cacheMagic), body...)
		sum := wire.HashOf(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		saved, ok := parseCache(append(text, sum[:]...))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(64*len(body)+1<<20) {
			t.Fatalf("%d bytes of memory for a cache of %d", used, len(body))
		}
		if !ok {
			return
		}
		if again, err := formatCache(&saved); err != nil || !bytes.Equal(again, append(text, sum[:]...)) {
			t.Fatalf("%x became %x, %v", body, again, err)
		}
	})
}
