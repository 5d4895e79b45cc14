package install

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/release"
	"collet/platform"
)

const (
	// maxLines is the largest number of cached files: the largest set, with room for modules.
	maxLines = release.MaxSet + 100
	// maxCache is the largest hash cache in bytes that is read: maxLines lines of at most 200 bytes.
	maxCache = 41 << 20
)

// cacheHeader begins the first line of the file; with another header the cache counts as empty.
const cacheHeader = "collet hashes 1"

// hashCache maps files to digests, valid while a file's identity stays the same. Losing it only costs one hashing of
// everything. The key is a digest of the full path and the algorithm, so that equal names in two folders have different
// lines. It is not safe for concurrent use.
type hashCache struct {
	lines   map[cacheKey]cacheLine
	used    map[cacheKey]bool // keys looked up or stored by this process
	stored  map[cacheKey]bool // keys stored by this process
	changed bool
	unread  func() *hashCache // reads the file on first use; nil afterwards

	hash hash.Hash // for keys
	text []byte    // buffer of the hashed text
}

// lazyCache reads the file on first use: a start without a server does not need it.
func lazyCache(fsys platform.FS, dir string) *hashCache {
	c := newCache()
	c.unread = func() *hashCache { return loadCache(fsys, dir) }
	return c
}

// known is the number of cached files. It reads the file on first use.
func (c *hashCache) known() int {
	if c.unread != nil {
		read := c.unread()
		c.lines, c.used, c.unread = read.lines, read.used, nil
	}
	return len(c.lines)
}

func newCache() *hashCache { return sizedCache(0) }

// sizedCache returns a cache with room for this many lines.
func sizedCache(lines int) *hashCache {
	return &hashCache{lines: make(map[cacheKey]cacheLine, lines), used: make(map[cacheKey]bool, lines), stored: map[cacheKey]bool{}}
}

// cacheKey is a truncated digest: 96 bits, enough to exclude collisions.
type cacheKey [12]byte

type cacheLine struct {
	size     int64
	modified int64 // nanoseconds since 1970
	changed  int64 // the same for the inode's change time; 0 without one
	inode    uint64
	digest   release.Digest
}

// key is the key of a file and an algorithm. All calls share one hash, because a start looks up every file of the set.
func (c *hashCache) key(fullPath string, a release.Algorithm) cacheKey {
	if c.hash == nil {
		c.hash = release.SHA256.NewHash()
	}
	c.hash.Reset()
	c.text = append(append(append(c.text[:0], a.String()...), 0), fullPath...)
	_, _ = c.hash.Write(c.text) // Hash.Write never fails
	c.text = c.hash.Sum(c.text[:0])
	return cacheKey(c.text)
}

func lineOf(id platform.Identity, d release.Digest) cacheLine {
	line := cacheLine{size: id.Size, modified: id.Modified.UnixNano(), inode: id.Inode, digest: d}
	if !id.Changed.IsZero() {
		line.changed = id.Changed.UnixNano()
	}
	return line
}

// lookup returns the cached digest of a file if its identity is unchanged.
func (c *hashCache) lookup(fullPath string, a release.Algorithm, id platform.Identity) (release.Digest, bool) {
	c.known()
	key := c.key(fullPath, a)
	line, found := c.lines[key]
	c.used[key] = true
	if !found || line != lineOf(id, line.digest) {
		return release.Digest{}, false
	}
	return line.digest, true
}

const (
	// coarse is the largest resolution of modification times: 2 s on FAT.
	coarse = 2 * time.Second
	// tick is twice the largest resolution on file systems with inode change times: one kernel tick, 10 ms.
	tick = 20 * time.Millisecond
)

// showsChanges reports whether a change after now would show in the identity: the last change is at least one resolution step
// ago.
func showsChanges(id platform.Identity, now time.Time) bool {
	latest, step := id.Modified, coarse
	if id.Changed.After(latest) {
		latest = id.Changed
	}
	if id.Inode != 0 {
		step = tick
	}
	return now.Sub(latest) >= step
}

// store caches a digest.
func (c *hashCache) store(fullPath string, id platform.Identity, d release.Digest) {
	c.known()
	key, line := c.key(fullPath, d.Algorithm), lineOf(id, d)
	c.used[key], c.stored[key] = true, true
	if c.lines[key] != line {
		c.lines[key], c.changed = line, true
	}
}

// fresh reports whether this process itself hashed the file.
func (c *hashCache) fresh(fullPath string, a release.Algorithm) bool {
	return c.stored[c.key(fullPath, a)]
}

// loadCache reads the cache; an invalid file yields an empty one.
func loadCache(fsys platform.FS, dir string) *hashCache {
	data, err := platform.ReadFile(fsys, path.Join(dir, CacheFile), maxCache)
	if err != nil {
		return newCache()
	}
	c, ok := decodeCache(data)
	if !ok {
		return newCache()
	}
	return c
}

func decodeCache(data []byte) (c *hashCache, ok bool) {
	header, body, _ := bytes.Cut(data, []byte("\n"))
	if string(header) != cacheTitle(body) {
		return nil, false
	}
	c = sizedCache(bytes.Count(body, []byte("\n")))
	for text := range strings.Lines(string(body)) {
		key, line, ok := parseLine(strings.TrimSuffix(text, "\n"))
		if !ok {
			return nil, false
		}
		c.lines[key] = line
	}
	return c, true
}

func (c *hashCache) encode() []byte {
	var body bytes.Buffer
	byBytes := func(a, b cacheKey) int { return bytes.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(c.lines), byBytes) {
		l := c.lines[key]
		fmt.Fprintf(&body, "%x %d %d %d %d %s\n", key, l.size, l.modified, l.changed, l.inode, l.digest)
	}
	return append([]byte(cacheTitle(body.Bytes())+"\n"), body.Bytes()...)
}

// cacheTitle is the first line: the layout's name and the checksum of everything after it.
func cacheTitle(body []byte) string {
	return fmt.Sprintf("%s %08x", cacheHeader, crc32.Checksum(body, castagnoli))
}

func parseLine(text string) (key cacheKey, line cacheLine, ok bool) {
	var fields [6]string
	for i := range fields[:5] {
		var more bool
		if fields[i], text, more = strings.Cut(text, " "); !more {
			return key, cacheLine{}, false
		}
	}
	if fields[5] = text; len(fields[0]) != hex.EncodedLen(len(key)) {
		return key, cacheLine{}, false
	}
	var errs [6]error
	line.size, errs[0] = strconv.ParseInt(fields[1], 10, 64)
	line.modified, errs[1] = strconv.ParseInt(fields[2], 10, 64)
	line.changed, errs[2] = strconv.ParseInt(fields[3], 10, 64)
	line.inode, errs[3] = strconv.ParseUint(fields[4], 10, 64)
	line.digest, errs[4] = release.ParseDigest(fields[5])
	_, errs[5] = hex.Decode(key[:], []byte(fields[0]))
	return key, line, errors.Join(errs[:]...) == nil
}

// save writes the cache if it has changed. It does not sync, because the file has a checksum. A failure only costs time, so
// the caller may log the error and continue.
func (c *hashCache) save(fsys platform.FS, dir string) error {
	if !c.changed {
		return nil
	}
	c.bound(maxLines)
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := platform.WriteHint(fsys, path.Join(dir, CacheFile), c.encode()); err != nil {
		return err
	}
	c.changed = false
	return nil
}

// bound deletes files that this process did not use, and if necessary others, until limit lines are left.
func (c *hashCache) bound(limit int) {
	for _, old := range []bool{true, false} {
		for key := range c.lines {
			if len(c.lines) > limit && !(old && c.used[key]) {
				delete(c.lines, key)
			}
		}
	}
}
