package install

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io/fs"
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
	// maxLines is how many files are remembered: the largest set, with room for modules.
	maxLines = release.MaxSet + 100
	// maxCache is the largest hash cache in bytes that is read: maxLines lines of at most 200 bytes.
	maxCache = 41 << 20
)

// cacheHeader begins the first line of the file; another one means another layout, and the cache counts as empty.
const cacheHeader = "collet hashes 1"

// hashCache remembers which file had which digest while its identity stays the same. It is only ever a saving: losing it
// costs one hashing of everything. The key is a digest of the full path and the algorithm, so that two folders, or two
// files of one name, never share a line. It is not safe for concurrent use.
type hashCache struct {
	lines   map[cacheKey]cacheLine
	used    map[cacheKey]bool // keys that this process asked for or stored
	stored  map[cacheKey]bool // keys that this process stored
	changed bool
	unread  func() *hashCache // where the lines come from when they are first needed; nil when they are here

	hash hash.Hash // of keys
	text []byte    // the one that is hashed
}

// lazyCache reads the cache when it is first asked: a start that asks no server does without.
func lazyCache(fsys platform.FS, dir string) *hashCache {
	c := newCache()
	c.unread = func() *hashCache { return loadCache(fsys, dir) }
	return c
}

// known is how many files are remembered.
func (c *hashCache) known() int {
	if c.unread != nil {
		read := c.unread()
		c.lines, c.used, c.unread = read.lines, read.used, nil
	}
	return len(c.lines)
}

func newCache() *hashCache { return sizedCache(0) }

// sizedCache has room for so many lines.
func sizedCache(lines int) *hashCache {
	return &hashCache{lines: make(map[cacheKey]cacheLine, lines), used: make(map[cacheKey]bool, lines), stored: map[cacheKey]bool{}}
}

// cacheKey is the beginning of a digest: 96 bits, so that two files never share one.
type cacheKey [12]byte

type cacheLine struct {
	size     int64
	modified int64 // nanoseconds since 1970
	changed  int64 // the same for the inode's own time; 0 where there is none
	inode    uint64
	digest   release.Digest
}

// key names a file and the algorithm. One hash serves all calls, because a start asks for every file of the set.
func (c *hashCache) key(fullPath string, a release.Algorithm) cacheKey {
	if c.hash == nil {
		c.hash = release.SHA256.NewHash()
	}
	c.hash.Reset()
	c.text = append(append(append(c.text[:0], a.String()...), 0), fullPath...)
	_, _ = c.hash.Write(c.text) // no hash ever fails
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

// lookup returns the digest that a file had when its identity was the same.
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
	// coarse is the largest step in which times alone are stamped: 2 s on FAT.
	coarse = 2 * time.Second
	// tick is the largest step of the file systems that have a time of the inode's own: one kernel tick, 10 ms, twice.
	tick = 20 * time.Millisecond
)

// settled reports whether a change after now would show in the identity: the last one is more than a step ago.
func settled(id platform.Identity, now time.Time) bool {
	latest, step := id.Modified, coarse
	if id.Changed.After(latest) {
		latest = id.Changed
	}
	if id.Inode != 0 {
		step = tick
	}
	return now.Sub(latest) >= step
}

// store remembers a digest.
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

// loadCache reads the cache; anything wrong with it makes an empty one.
func loadCache(fsys platform.FS, dir string) *hashCache {
	data, err := platform.ReadFile(fsys, path.Join(dir, cacheFile), maxCache)
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

// save writes the cache if it changed, without a sync: it has a checksum. A folder that can't be written loses the saving and nothing else, so the caller
// may log the error and go on.
func (c *hashCache) save(fsys platform.FS, dir string) error {
	if !c.changed {
		return nil
	}
	c.bound(maxLines)
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := platform.WriteHint(fsys, path.Join(dir, cacheFile), c.encode()); err != nil {
		return err
	}
	c.changed = false
	return nil
}

// bound forgets files that this process did not meet, and if need be any others, until limit lines are left.
func (c *hashCache) bound(limit int) {
	for _, old := range []bool{true, false} {
		for key := range c.lines {
			if len(c.lines) > limit && !(old && c.used[key]) {
				delete(c.lines, key)
			}
		}
	}
}

// planned is the digest of a file as this process's Plan had it from the hash cache; zero where it has to be hashed.
func (d *Dir) planned(name string, info fs.FileInfo, a release.Algorithm) release.Digest {
	if d.work == nil || a == release.NoDigest {
		return release.Digest{}
	}
	full := d.fs.Path(name)
	digest, found := d.cache.lookup(full, a, platform.IdentityOf(info))
	if !found || d.cfg.Verify && !d.cache.fresh(full, a) {
		return release.Digest{}
	}
	return digest
}

// remember puts what a finished transaction verified into the hash cache, so that the next start hashes nothing.
// Companions may have stayed what they were.
//
// The files were renamed a moment ago, so their identities are not settled. Where there is an inode that is accepted: to
// hide a change, somebody would have to write within the tick of our rename and to restore the time of our last write.
func (d *Dir) remember(files []entry) {
	for _, e := range files {
		info, err := d.fs.Lstat(e.Live)
		if err != nil || e.Kind == companion || e.gone() || info.Size() != e.Size {
			continue
		}
		if id := platform.IdentityOf(info); id.Inode != 0 || settled(id, d.cfg.Now()) {
			d.cache.store(d.fs.Path(e.Live), id, e.Digest)
		}
	}
}
