// Package cache keeps the results of earlier work on a release folder, so that the next publication repeats nothing: the digests of the game's
// files (Digests), and which objects were made of which contents (Ledger). Its files are in the folder's private part. Without them a publication
// only takes longer.
package cache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/platform"
)

const (
	cacheFile = ".collet/hashes"
	// maxCache limits the cache file in bytes. 250 bytes for each of release.MaxSet files of 20 targets stay below it. A longer file is
	// discarded.
	maxCache = 256 << 20
	// cacheMagic is the first line of a cache file. A file with another first line is ignored.
	cacheMagic = "collet hashes 1"
	// tooYoung is the minimum age of a file's times when it is hashed. File systems stamp in steps of up to two seconds, so a second change
	// within one step would not show.
	tooYoung = 3 * time.Second
)

// Digests is the cache of digests of unchanged files. It is not safe for concurrent use.
//
// The file has a line for each: digest, size, both times in nanoseconds, inode, and the absolute path to the end of the line.
type Digests struct {
	root  string // files below it that are not used are forgotten
	known map[string]hashed
	used  map[string]hashed
}

type hashed struct {
	sum      release.Digest
	identity platform.Identity
}

// LoadDigests reads the cache. A missing or damaged cache only costs time: the files are hashed again.
func LoadDigests(fsys platform.FS, root string) *Digests {
	h := &Digests{root: root, known: map[string]hashed{}, used: map[string]hashed{}}
	data, err := platform.ReadFile(fsys, cacheFile, maxCache)
	if err != nil {
		return h
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	if !lines.Scan() || lines.Text() != cacheMagic {
		return h
	}
	for lines.Scan() {
		if name, v, ok := parseHashed(lines.Text()); ok {
			h.known[name] = v
		}
	}
	return h
}

func parseHashed(line string) (name string, v hashed, ok bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) != 6 {
		return "", hashed{}, false
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[1+i], 10, 64)
		if err != nil {
			return "", hashed{}, false
		}
		numbers[i] = n
	}
	sum, err := release.ParseDigest(fields[0])
	v.sum, v.identity.Size, v.identity.Inode = sum, numbers[0], uint64(numbers[3])
	v.identity.Modified, v.identity.Changed = time.Unix(0, numbers[1]), time.Unix(0, numbers[2])
	return fields[5], v, err == nil && sum.Algorithm == release.SHA256
}

// Find returns the cached digest of a file whose size, inode and times are unchanged.
func (h *Digests) Find(name string, info fs.FileInfo) (release.Digest, bool) {
	v, known := h.known[name]
	id := platform.IdentityOf(info)
	if !known || v.identity.Size != id.Size || v.identity.Inode != id.Inode || stamp(v.identity.Modified) != stamp(id.Modified) ||
		stamp(v.identity.Changed) != stamp(id.Changed) {
		return release.Digest{}, false
	}
	h.used[name] = v
	return v.sum, true
}

// Add caches a digest. info is the file's identity before it was read, now the current time.
func (h *Digests) Add(name string, info fs.FileInfo, sum release.Digest, now time.Time) {
	id := platform.IdentityOf(info)
	young := now.Sub(id.Modified) < tooYoung || !id.Changed.IsZero() && now.Sub(id.Changed) < tooYoung
	if !young && !strings.ContainsAny(name, "\n\r") {
		h.used[name] = hashed{sum, id}
	}
}

// Carry caches the digest of a file that has since gained or lost hard links, which changes the inode's time but not the content. was is
// the file's identity before it was read at the time then; is is the current identity.
func (h *Digests) Carry(name string, was, is fs.FileInfo, sum release.Digest, then time.Time) {
	a, b := platform.IdentityOf(was), platform.IdentityOf(is)
	same := a.Size == b.Size && a.Inode == b.Inode && a.Modified.Equal(b.Modified) && then.Sub(a.Modified) >= tooYoung
	if same && !strings.ContainsAny(name, "\n\r") {
		h.used[name] = hashed{sum, b}
	}
}

// Save writes the used and added entries, and those outside root.
func (h *Digests) Save(fsys platform.FS) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, cacheMagic)
	for name, v := range h.known {
		if !strings.HasPrefix(name, h.root) {
			h.used[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.used)) {
		v := h.used[name]
		fmt.Fprintf(&b, "%s %d %d %d %d %s\n", v.sum, v.identity.Size, stamp(v.identity.Modified), stamp(v.identity.Changed), int64(v.identity.Inode), name)
	}
	if err := platform.WriteFile(fsys, cacheFile, b.Bytes()); err != nil && !errors.Is(err, fs.ErrPermission) {
		return advice.Because(err, "", "write the cache of digests")
	}
	return nil
}

// stamp converts a time to nanoseconds; the zero time is 0.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
