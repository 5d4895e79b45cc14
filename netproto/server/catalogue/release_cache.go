package catalogue

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/netproto/server/config"
	"collet/platform"
)

const (
	// runPrefix begins the name of a running server's own folder in a cache, so several servers can share a cache.
	runPrefix = "run-"
	// sweptPrefix begins the name of a folder that is being removed.
	sweptPrefix = "swept-"
	// runLock is the file in it that is locked while that server runs.
	runLock = "lock"
	// runTries is how often a server tries to create its folder while others sweep.
	runTries = 20
	// cacheReserve is how many bytes of the disk a cache leaves free for logs and the next publication.
	cacheReserve = 256 << 20
)

// cache holds unpacked blobs of releases that have no plain file, one file for each, named by its SHA-256. A blob without users
// is removed. The cache creates its own folder in the configured one with the first blob, and removes it with the last. It is
// safe for concurrent use.
type cache struct {
	dir  string // Release.CacheFolder
	ours bool   // dir is the default folder and is removed with the last blob
	most int64  // bytes

	mu    sync.Mutex
	run   *platform.Dir // nil: the cache is empty
	lock  io.Closer
	size  int64
	users map[release.Digest]*cached
}

// cached is one blob.
type cached struct {
	path    string
	size    int64
	holders int
	ready   chan struct{} // closed when the file is complete or err is set
	err     error
}

func newCache(r config.Release) *cache {
	return &cache{dir: r.CacheFolder(), ours: r.Cache == "", most: r.CacheSize, users: map[release.Digest]*cached{}}
}

// holdBlob returns the path of a blob's file, which unpack writes on first use. Each caller calls drop after its use.
func (c *cache) holdBlob(content release.Digest, size int64, unpack func(out io.Writer) error) (string, error) {
	c.mu.Lock()
	entry, known := c.users[content]
	if !known {
		var err error
		if entry, err = c.addEntry(content, size); err != nil {
			c.mu.Unlock()
			return "", err
		}
	}
	entry.holders++
	c.mu.Unlock()
	if known {
		<-entry.ready
	} else {
		entry.err = writeUnpacked(entry.path, unpack)
		close(entry.ready)
	}
	if entry.err != nil {
		c.dropBlob(content)
		return "", entry.err
	}
	return entry.path, nil
}

// addEntry adds an entry for a blob. The caller holds the lock.
func (c *cache) addEntry(content release.Digest, size int64) (*cached, error) {
	if c.size+size > c.most {
		return nil, fmt.Errorf("%d bytes more than the %d in it would be above the %d of Release.CacheSize", size, c.size, c.most)
	}
	if err := c.openFolder(); err != nil {
		return nil, err
	}
	if free, err := c.run.Free(); err == nil && free < uint64(size)+cacheReserve {
		return nil, fmt.Errorf("the disk has %d bytes left, and %d are needed with %d to spare", free, size, cacheReserve)
	}
	sum, _ := content.SHA256()
	entry := &cached{path: c.run.Path(hex.EncodeToString(sum[:])), size: size, ready: make(chan struct{})}
	c.users[content], c.size = entry, c.size+size
	return entry, nil
}

// openFolder creates this server's folder and removes those of ended servers. The caller holds the lock. Until the folder's lock file
// is locked, another server may sweep it, or remove the whole cache with its own last blob; then open tries again.
func (c *cache) openFolder() (err error) {
	if c.run != nil {
		return nil
	}
	for range runTries {
		if err = c.claimFolder(); err == nil {
			return nil
		}
	}
	return err
}

// claimFolder creates a folder, locks it, and checks that it still exists.
func (c *cache) claimFolder() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	c.sweepFolders()
	name, err := os.MkdirTemp(c.dir, runPrefix)
	if err != nil {
		return err
	}
	run, err := platform.OpenDir(name)
	if err != nil {
		return err
	}
	lock, err := run.Lock(runLock)
	if err != nil {
		return errors.Join(err, run.Close())
	}
	if _, err := os.Lstat(run.Path(runLock)); err != nil { // swept before it was locked
		return errors.Join(err, lock.Close(), run.Close())
	}
	c.run, c.lock = run, lock
	return nil
}

// sweepFolders removes the folders of killed servers. It holds a folder's lock until the folder has another name. So a running server
// never loses its folder, and one that was about to lock it finds that the name is gone. Windows renames no folder with an open file;
// there the open lock file can't be removed either, and only an empty folder goes.
func (c *cache) sweepFolders() {
	children, _ := os.ReadDir(c.dir)
	for _, child := range children {
		name := filepath.Join(c.dir, child.Name())
		switch {
		case !child.IsDir():
		case strings.HasPrefix(child.Name(), sweptPrefix):
			_ = os.RemoveAll(name)
		case strings.HasPrefix(child.Name(), runPrefix):
			c.sweepFolder(name)
		}
	}
}

// sweepFolder removes one folder of a server unless that server runs.
func (c *cache) sweepFolder(name string) {
	dir, err := platform.OpenDir(name)
	if err != nil {
		return
	}
	lock, err := dir.Lock(runLock)
	if err != nil {
		_ = dir.Close()
		return
	}
	swept := filepath.Join(c.dir, sweptPrefix+filepath.Base(name))
	renamed := os.Rename(name, swept)
	if renamed != nil {
		_ = os.RemoveAll(name)
	}
	_ = lock.Close()
	_ = dir.Close()
	if renamed == nil {
		_ = os.RemoveAll(swept)
		return
	}
	_ = os.Remove(filepath.Join(name, runLock))
	_ = os.Remove(name)
}

// dropBlob removes a user of a blob.
func (c *cache) dropBlob(content release.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.users[content]
	if entry.holders--; entry.holders > 0 {
		return
	}
	delete(c.users, content)
	c.size -= entry.size
	os.Remove(entry.path)
	if len(c.users) == 0 {
		c.lock.Close()
		name := c.run.Path(".")
		c.run.Close()
		c.run = nil
		os.RemoveAll(name)
		if c.ours {
			os.Remove(c.dir) // fails if another server uses it
		}
	}
}

// writeUnpacked creates a file and lets unpack write it.
func writeUnpacked(path string, unpack func(out io.Writer) error) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(unpack(out), out.Close())
}

// unpackObject unpacks a blob from its whole object. The caller hashes the result when it loads it.
func (d diskStore) unpackObject(ctx context.Context, s release.Source, size int64, out io.Writer) error {
	encoding, known := chunk.ParseEncoding(string(s.Encoding))
	if !known {
		return fmt.Errorf("object %s is of encoding %q, which this program does not know", s.Whole.Path(), s.Encoding)
	}
	in, err := d.root.Open(filepath.FromSlash(s.Whole.Path()))
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.Size() != s.Whole.Size || !info.Mode().IsRegular() {
		return errors.Join(err, &fs.PathError{Op: "unpack", Path: s.Whole.Path(), Err: errIncomplete})
	}
	return chunk.UnpackObject(ctx, out, in, encoding, size)
}

var errIncomplete = errors.New("is not whole; has the release been copied to its end?")
