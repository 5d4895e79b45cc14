package install

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/release"
	"collet/platform"
)

func crc(text string) uint32 { return crc32.Checksum([]byte(text), castagnoli) }

var someTime = time.Unix(1_700_000_000, 123_456_789)

func identity() platform.Identity {
	return platform.Identity{Size: 10, Modified: someTime, Changed: someTime.Add(time.Second), Inode: 77}
}

func TestCacheHits(t *testing.T) {
	c := newCache()
	c.store("/d/a", identity(), wantedDigest)
	if got, found := c.lookup("/d/a", release.FNV1a64, identity()); !found || got != wantedDigest {
		t.Errorf("%v %v", got, found)
	}
	local := identity()
	local.Modified, local.Changed = local.Modified.Local(), local.Changed.UTC()
	if _, found := c.lookup("/d/a", release.FNV1a64, local); !found {
		t.Error("the same moment in another zone misses")
	}
	for name, change := range map[string]func(*platform.Identity){
		"size":          func(id *platform.Identity) { id.Size++ },
		"time":          func(id *platform.Identity) { id.Modified = id.Modified.Add(1) },
		"inode's time":  func(id *platform.Identity) { id.Changed = id.Changed.Add(-1) },
		"inode":         func(id *platform.Identity) { id.Inode++ },
		"no inode":      func(id *platform.Identity) { id.Inode, id.Changed = 0, time.Time{} },
		"time restored": func(id *platform.Identity) { id.Changed = id.Changed.Add(time.Hour) },
	} {
		id := identity()
		change(&id)
		if got, found := c.lookup("/d/a", release.FNV1a64, id); found {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, miss := range []struct {
		path      string
		algorithm release.Algorithm
	}{{"/e/a", release.FNV1a64}, {"/d/b", release.FNV1a64}, {"/d/a", release.SHA256}, {"/d/A", release.FNV1a64}} {
		if _, found := c.lookup(miss.path, miss.algorithm, identity()); found {
			t.Errorf("%v hits", miss)
		}
	}
}

func TestCacheKeepsBothAlgorithms(t *testing.T) {
	c, sha := newCache(), release.SHA256Digest([32]byte{9})
	c.store("/a", identity(), wantedDigest)
	c.store("/a", identity(), sha)
	fnv, _ := c.lookup("/a", release.FNV1a64, identity())
	if got, _ := c.lookup("/a", release.SHA256, identity()); got != sha || fnv != wantedDigest {
		t.Errorf("%v %v", got, fnv)
	}
}

// TestShowsChanges checks the required age of a change, on systems with and without an inode change time.
func TestShowsChanges(t *testing.T) {
	plain := platform.Identity{Size: 1, Modified: someTime}
	inode := platform.Identity{Size: 1, Modified: someTime, Changed: someTime, Inode: 5}
	renamed := platform.Identity{Size: 1, Modified: someTime.Add(-time.Hour), Changed: someTime, Inode: 5}
	for _, test := range []struct {
		id   platform.Identity
		age  time.Duration
		want bool
	}{
		{plain, 0, false}, {plain, coarse - 1, false}, {plain, coarse, true}, {plain, time.Hour, true},
		{plain, -time.Hour, false}, // a clock that was set back
		{inode, 0, false}, {inode, tick - 1, false}, {inode, tick, true},
		{renamed, 0, false}, {renamed, tick - 1, false}, {renamed, tick, true},
	} {
		if got := showsChanges(test.id, someTime.Add(test.age)); got != test.want {
			t.Errorf("%+v after %s: %v", test.id, test.age, got)
		}
	}
}

func TestCacheOnDisk(t *testing.T) {
	d := slots(t)
	c := loadCache(d, "Cache")
	if err := c.save(d, "Cache"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lstat("Cache"); err == nil {
		t.Error("an unchanged cache was written")
	}
	for i := range 100 {
		id := identity()
		id.Inode = uint64(i)
		c.store(fmt.Sprint("/", i), id, release.FNVDigest(uint64(i)))
	}
	plain := platform.Identity{Size: 3, Modified: time.Unix(-5, 0)}
	c.store("/plain", plain, release.SHA256Digest([32]byte{1, 2, 3}))
	for range 2 {
		if err := c.save(d, "Cache"); err != nil {
			t.Fatal(err)
		}
	}
	read := loadCache(d, "Cache")
	if len(read.lines) != 101 {
		t.Fatalf("%d lines", len(read.lines))
	}
	for key, line := range c.lines {
		if read.lines[key] != line {
			t.Errorf("%s: %+v, want %+v", key, read.lines[key], line)
		}
	}
	if got, found := read.lookup("/plain", release.SHA256, plain); !found || got != release.SHA256Digest([32]byte{1, 2, 3}) {
		t.Errorf("%v %v", got, found)
	}
	info, err := os.Stat(d.Path("Cache/hashes"))
	if err != nil {
		t.Fatal(err)
	}
	read.store("/plain", plain, release.SHA256Digest([32]byte{1, 2, 3}))
	if err := read.save(d, "Cache"); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(d.Path("Cache/hashes")); err != nil || !os.SameFile(info, now) {
		t.Errorf("written again without a change: %v", err)
	}
}

// TestDamagedCacheIsEmpty flips every bit and cuts at every byte: the worst result is another hashing.
func TestDamagedCacheIsEmpty(t *testing.T) {
	c := newCache()
	c.store("/a", identity(), wantedDigest)
	c.store("/b", identity(), release.SHA256Digest([32]byte{1}))
	whole := c.encode()
	if read, ok := decodeCache(whole); !ok || len(read.lines) != 2 {
		t.Fatalf("%v %v", read, ok)
	}
	for at := range whole {
		if read, ok := decodeCache(whole[:at]); ok {
			t.Errorf("cut at %d: %v", at, read.lines)
		}
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << bit
			if read, ok := decodeCache(damaged); ok {
				t.Errorf("bit %d of byte %d: %v", bit, at, read.lines)
			}
		}
	}
	for name, body := range map[string]string{
		"too few fields":  "key 1 2 3 4\n",
		"too many fields": "key 1 2 3 4 fnv1a64:0000000000000001 x\n",
		"no number":       "key 1 x 3 4 fnv1a64:0000000000000001\n",
		"negative inode":  "key 1 2 3 -4 fnv1a64:0000000000000001\n",
		"no digest":       "key 1 2 3 4 \n",
		"empty line":      "\n",
	} {
		if _, ok := decodeCache([]byte(cacheTitle([]byte(body)) + "\n" + body)); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	other := strings.Replace(string(whole), cacheHeader, "collet hashes 2", 1)
	if _, ok := decodeCache([]byte(other)); ok {
		t.Error("another layout: accepted")
	}
}

func FuzzDecodeCache(f *testing.F) {
	c := newCache()
	f.Add(c.encode(), false)
	c.store("/a", identity(), wantedDigest)
	f.Add(c.encode(), false)
	_, body, _ := bytes.Cut(c.encode(), []byte("\n"))
	f.Add(body, true)
	f.Add([]byte("x\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if sign {
			data = slices.Concat([]byte(cacheTitle(data)), []byte("\n"), data)
		}
		c, ok := decodeCache(data)
		if !ok {
			return
		}
		again, ok := decodeCache(c.encode())
		if !ok || len(again.lines) != len(c.lines) {
			t.Fatalf("%d lines, then %v", len(c.lines), ok)
		}
		for key, line := range c.lines {
			if again.lines[key] != line {
				t.Fatalf("%s: %+v, then %+v", key, line, again.lines[key])
			}
		}
	})
}

func TestCacheThatCanNotBeReadOrWritten(t *testing.T) {
	d := slots(t)
	if err := os.WriteFile(d.Path("Cache"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := loadCache(d, "Cache")
	c.store("/a", identity(), wantedDigest)
	if err := c.save(d, "Cache"); err == nil {
		t.Error("saved below a file")
	}
	if !c.changed {
		t.Error("forgot that it has something to save")
	}
	if err := os.Remove(d.Path("Cache")); err != nil {
		t.Fatal(err)
	}
	if err := c.save(d, "Cache"); err != nil || len(loadCache(d, "Cache").lines) != 1 {
		t.Errorf("later: %v", err)
	}
}

// TestCacheIsBounded checks that unused files are dropped first.
func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	for i := range 10 {
		c.store(fmt.Sprint("/", i), identity(), wantedDigest)
	}
	read, _ := decodeCache(c.encode())
	for i := range 4 {
		read.lookup(fmt.Sprint("/", i), release.FNV1a64, identity())
	}
	for limit, want := range map[int]int{20: 10, 10: 10, 6: 6, 4: 4} {
		bounded, _ := decodeCache(c.encode())
		bounded.used = read.used
		if bounded.bound(limit); len(bounded.lines) != want {
			t.Errorf("limit %d: %d lines", limit, len(bounded.lines))
		}
		for i := range 4 {
			if _, found := bounded.lookup(fmt.Sprint("/", i), release.FNV1a64, identity()); !found {
				t.Errorf("limit %d: forgot /%d, which was met", limit, i)
			}
		}
	}
	if read.bound(2); len(read.lines) != 2 {
		t.Errorf("%d lines over the limit", len(read.lines))
	}
}

// TestLargestCacheFits checks that the largest written cache can be read.
func TestLargestCacheFits(t *testing.T) {
	var c hashCache
	c.lines = map[cacheKey]cacheLine{{0xff}: {
		size: -1 << 63, modified: -1 << 63, changed: -1 << 63, inode: 1<<64 - 1, digest: release.SHA256Digest([32]byte{1}),
	}}
	line := len(c.encode()) - len(cacheTitle(nil)) - 1
	if need := line*maxLines + len(cacheTitle(nil)) + 1; need > maxCache {
		t.Errorf("%d lines of %d bytes need %d, the limit is %d", maxLines, line, need, maxCache)
	}
}

func TestCacheThatIsTooLong(t *testing.T) {
	d := slots(t)
	if err := errors.Join(d.MkdirAll("Cache", 0o755), os.WriteFile(d.Path("Cache/hashes"), newCache().encode(), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.Path("Cache/hashes"), maxCache+1); err != nil {
		t.Fatal(err)
	}
	if c := loadCache(d, "Cache"); len(c.lines) != 0 {
		t.Errorf("%d lines", len(c.lines))
	}
}
