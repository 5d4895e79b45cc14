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
	// runPrefix begins the name of the folder of one running server in a cache, so that several can share one.
	runPrefix = "run-"
	// runLock is the file in it that is locked while that server runs.
	runLock = "lock"
	// runTries is how often a server tries to make its folder while others sweep.
	runTries = 20
	// cacheReserve is how much of a disk a cache leaves free, in bytes: logs and the next publication need some.
	cacheReserve = 256 << 20
)

// cache holds contents of releases that lie in no plain file, unpacked, one file for each, named by its SHA-256. A content
// that no catalogue uses any more is removed. It makes a folder of its own in the operator's with the first content, and
// takes it away with the last. It is safe for concurrent use.
type cache struct {
	dir  string // that the settings name
	ours bool   // the settings name none, so it goes with the last content
	most int64  // bytes

	mu    sync.Mutex
	run   *platform.Dir // nil: nothing is unpacked
	lock  io.Closer
	size  int64
	users map[release.Digest]*cached
}

// cached is one content.
type cached struct {
	path    string
	size    int64
	holders int
	ready   chan struct{} // closed when it is there, or when err is set
	err     error
}

func newCache(r config.Release) *cache {
	return &cache{dir: r.CacheFolder(), ours: r.Cache == "", most: r.CacheSize, users: map[release.Digest]*cached{}}
}

// hold gives the file of a content, which unpack writes on first use. Each caller calls drop when it is not
// needed any more.
func (c *cache) hold(content release.Digest, size int64, unpack func(out io.Writer) error) (string, error) {
	c.mu.Lock()
	entry, known := c.users[content]
	if !known {
		var err error
		if entry, err = c.enter(content, size); err != nil {
			c.mu.Unlock()
			return "", err
		}
	}
	entry.holders++
	c.mu.Unlock()
	if known {
		<-entry.ready
	} else {
		entry.err = write(entry.path, unpack)
		close(entry.ready)
	}
	if entry.err != nil {
		c.drop(content)
		return "", entry.err
	}
	return entry.path, nil
}

// enter makes room for a content. The lock is held.
func (c *cache) enter(content release.Digest, size int64) (*cached, error) {
	if c.size+size > c.most {
		return nil, fmt.Errorf("%d bytes more than the %d in it would be above the %d of Release.CacheSize", size, c.size, c.most)
	}
	if err := c.open(); err != nil {
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

// Reopen makes this server's folder and removes those of servers that are gone. The lock is held. Another server that does the same
// at this moment may take our folder for one that was left, as long as its lock is not held, or the cache itself away with its
// own last content: then there is another try.
func (c *cache) open() (err error) {
	if c.run != nil {
		return nil
	}
	for range runTries {
		if err = c.claim(); err == nil {
			return nil
		}
	}
	return err
}

// claim makes a folder that is ours once its lock is held and it is still there.
func (c *cache) claim() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	c.sweep()
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
	if _, err := os.Lstat(run.Path(runLock)); err != nil { // it was swept before it was locked
		return errors.Join(err, lock.Close(), run.Close())
	}
	c.run, c.lock = run, lock
	return nil
}

// sweep removes what servers left that were killed. A folder is removed while its lock is held, so that none is whose server has
// just locked it.
func (c *cache) sweep() {
	children, _ := os.ReadDir(c.dir)
	for _, child := range children {
		if !child.IsDir() || !strings.HasPrefix(child.Name(), runPrefix) {
			continue
		}
		name := filepath.Join(c.dir, child.Name())
		dir, err := platform.OpenDir(name)
		if err != nil {
			continue
		}
		lock, err := dir.Lock(runLock)
		if err == nil {
			_ = os.RemoveAll(name) // Windows leaves the lock itself
			_ = lock.Close()
		}
		_ = dir.Close()
		if err == nil {
			_ = os.RemoveAll(name)
		}
	}
}

// drop is a holder's end.
func (c *cache) drop(content release.Digest) {
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
			os.Remove(c.dir) // if no other server has something in it
		}
	}
}

// write makes a file and gives it its content.
func write(path string, unpack func(out io.Writer) error) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(unpack(out), out.Close())
}

// unpackFrom writes a content from its whole object. The caller that loads the result hashes it.
func (f *Folder) unpackFrom(ctx context.Context, s release.Source, size int64, out io.Writer) error {
	encoding, known := chunk.ParseEncoding(string(s.Encoding))
	if !known {
		return fmt.Errorf("object %s is of encoding %q, which this program does not know", s.Whole.Path(), s.Encoding)
	}
	in, err := f.root.Open(filepath.FromSlash(s.Whole.Path()))
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
