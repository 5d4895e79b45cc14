package tree

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
	codec "collet/netproto/wire"
	"collet/platform"
)

// maxCachedHashes bounds the cached block hashes of all files together: 32 MiB of memory and of disk.
const maxCachedHashes = 1 << 20

// maxCacheFile bounds the cache file that is read, in bytes: wire.MaxFiles entries of 300 bytes, and maxCachedHashes.
const maxCacheFile int64 = wire.MaxFiles*300 + maxCachedHashes*int64(len(wire.Hash{}))

// cacheMagic begins a cache file; the number changes with the format.
const cacheMagic = "collet tree cache 1\n"

// cached is the cache entry of one file.
type cached struct {
	id     platform.Identity
	hash   wire.Hash // zero: unknown
	blocks []blockList
}

// blockList are the hashes of the blocks of one size.
type blockList struct {
	size   uint32
	hashes []wire.Hash
}

// treeCache holds the entries of all files, by path.
type treeCache struct {
	mu      sync.Mutex
	entries map[string]*cached
	dirty   bool // differs from the saved cache
}

// at returns the entry of a path, empty if the file has changed.
func (c *treeCache) at(path string, id platform.Identity) *cached {
	e := c.entries[path]
	if e == nil || !e.id.Same(id) {
		e = &cached{id: id}
		c.entries[path] = e
		c.dirty = true
	}
	return e
}

func (c *treeCache) put(path string, id platform.Identity, hash wire.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at(path, id)
	c.dirty = c.dirty || e.hash != hash
	e.hash = hash
}

func (c *treeCache) get(path string, id platform.Identity) (wire.Hash, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[path]; e != nil && e.id.Same(id) && e.hash != (wire.Hash{}) {
		return e.hash, true
	}
	return wire.Hash{}, false
}

// putBlocks caches a list unless that would exceed maxCachedHashes.
func (c *treeCache) putBlocks(path string, id platform.Identity, size uint32, hashes []wire.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := len(hashes)
	for _, e := range c.entries {
		total += e.hashes()
	}
	if total > maxCachedHashes {
		return
	}
	e := c.at(path, id)
	e.blocks = append(e.blocks, blockList{size: size, hashes: hashes})
	c.dirty = true
}

func (e *cached) hashes() (n int) {
	for _, b := range e.blocks {
		n += len(b.hashes)
	}
	return n
}

func (c *treeCache) blocks(path string, id platform.Identity, size uint32) []wire.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[path]; e != nil && e.id.Same(id) {
		for _, b := range e.blocks {
			if b.size == size {
				return b.hashes
			}
		}
	}
	return nil
}

// fill sets the cached hashes and returns the indexes of the other files, the largest first.
func (c *treeCache) fill(files []found) (missing []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range files {
		f := &files[i]
		if e := c.entries[f.Path]; e != nil && e.id.Same(f.id) && e.hash != (wire.Hash{}) {
			f.Hash, f.known = e.hash, true
			continue
		}
		missing = append(missing, i)
	}
	slices.SortFunc(missing, func(a, b int) int { return cmp.Compare(files[b].Size, files[a].Size) })
	return missing
}

// keepOnly drops the entries of other files.
func (c *treeCache) keepOnly(files []found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) == 0 {
		return
	}
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f.Path] = true
	}
	maps.DeleteFunc(c.entries, func(path string, _ *cached) bool {
		c.dirty = c.dirty || !there[path]
		return !there[path]
	})
}

// savedCache is the format of the file: cacheMagic, these fields, and the SHA-256 of everything before.
type savedCache struct {
	boot    string // boot id of the machine when it was saved
	when    int64  // time of the save, nanoseconds since 1970
	entries []savedEntry
}

// savedEntry is one file of savedCache.
type savedEntry struct {
	path string
	cached
}

func (s *savedCache) code(c *codec.Coder) {
	c.Text("Boot", &s.boot, 1, wire.MaxName)
	c.I64("When", &s.when)
	codec.List(c, "Entries", 4, &s.entries, wire.MaxFiles, 2+4*8+len(wire.Hash{})+4, func(e *savedEntry) {
		c.Text("Path", &e.path, 2, wire.MaxText)
		c.I64("Size", &e.id.Size)
		codeTime(c, "Modified", &e.id.Modified)
		codeTime(c, "Changed", &e.id.Changed)
		c.U64("Inode", &e.id.Inode)
		c.Array("Hash", e.hash[:])
		codec.List(c, "Blocks", 4, &e.blocks, maxCachedHashes, 8, func(b *blockList) {
			c.U32("BlockSize", &b.size)
			codec.List(c, "Hashes", 4, &b.hashes, maxCachedHashes, len(wire.Hash{}), func(h *wire.Hash) { c.Array("Hash", h[:]) })
		})
	})
}

// codeTime codes nanoseconds since 1970; 0 is the zero time.
func codeTime(c *codec.Coder, field string, v *time.Time) {
	n := int64(0)
	if !v.IsZero() {
		n = v.UnixNano()
	}
	if c.I64(field, &n); n == 0 {
		*v = time.Time{}
		return
	}
	*v = time.Unix(0, n)
}

// unsynced is the age from which a change has certainly reached the disk when the machine stops. Linux writes back after
// 30 s and checks every 5 s.
const unsynced = time.Minute

// load reads the saved cache. Any fault makes the cache empty, because it only saves time.
func (t *Tree) load() map[string]*cached {
	entries := map[string]*cached{}
	if t.store == nil {
		return entries
	}
	data, err := platform.ReadFile(t.store, t.name, maxCacheFile)
	if err != nil {
		return entries
	}
	saved, ok := parseCache(data)
	if !ok {
		return entries
	}
	rebooted := saved.boot != platform.BootID()
	for _, e := range saved.entries {
		if !rebooted || e.before(time.Unix(0, saved.when).Add(-unsynced)) {
			entries[e.path] = &cached{id: e.id, hash: e.hash, blocks: e.blocks}
		}
	}
	return entries
}

// before reports whether the file was last changed before a moment. After a power failure, a younger file may have the
// recorded size and times without the bytes.
func (e *savedEntry) before(moment time.Time) bool {
	return e.id.Modified.Before(moment) && (e.id.Changed.IsZero() || e.id.Changed.Before(moment))
}

func parseCache(data []byte) (saved savedCache, ok bool) {
	end := len(data) - len(wire.Hash{})
	if end < len(cacheMagic) || !bytes.HasPrefix(data, []byte(cacheMagic)) || wire.HashOf(data[:end]) != wire.Hash(data[end:]) {
		return savedCache{}, false
	}
	c := codec.Reader(data[len(cacheMagic):end])
	saved.code(c)
	c.End()
	return saved, c.Err() == nil
}

func formatCache(saved *savedCache) ([]byte, error) {
	c := codec.Writer([]byte(cacheMagic))
	saved.code(c)
	data := c.Written()
	sum := wire.HashOf(data)
	return append(data, sum[:]...), c.Err()
}

// Save writes the cache if it changed since the last save. Without Options.Cache it does nothing. After an error the
// next process hashes again.
func (t *Tree) Save() error {
	if t.store == nil {
		return nil
	}
	saved := t.cache.snapshot(platform.BootID(), t.now())
	if saved == nil {
		return nil
	}
	data, err := formatCache(saved)
	if err == nil {
		err = platform.WriteHint(t.store, t.name, data)
	}
	if err != nil {
		t.cache.unsaved()
	}
	return err
}

// unsaved makes the next Save try again.
func (c *treeCache) unsaved() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = true
}

// snapshot copies the cache if it has to be saved.
func (c *treeCache) snapshot(boot string, now time.Time) *savedCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty {
		return nil
	}
	c.dirty = false
	saved := &savedCache{boot: boot, when: now.UnixNano()}
	for path, e := range c.entries {
		saved.entries = append(saved.entries, savedEntry{path: path, cached: *e})
	}
	return saved
}
