package tree

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/launcher/wire"
	"collet/platform"
)

// Files is the file system interface that a Tree needs.
type Files interface {
	OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
}

// LinkPolicy is how a scan treats symbolic links.
type LinkPolicy uint8

// The policies. Under both, a link that leads out of the tree is left out. A layout never contains a link, but the file
// or folder that it points to.
const (
	LinksLeftOut LinkPolicy = 0 // links are left out and reported
	LinksInside  LinkPolicy = 1 // links to files and folders inside the tree are followed
)

// Options configure a Tree. The zero value takes every regular file and keeps hashes in memory.
type Options struct {
	// Skip leaves out a file, or a folder with everything below it. It is called with paths below the root, from several
	// goroutines. nil leaves out nothing. wire.StateFolder is always left out.
	Skip func(path string, dir bool) bool
	// Links is the policy for symbolic links.
	Links LinkPolicy
	// Cache and CacheName are a file that keeps the hashes for the next process; without it they stay in memory. The
	// folder of CacheName must exist. An unreadable cache counts as empty.
	Cache     platform.FS
	CacheName string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Tree scans a folder and caches its hashes. Make one with New. All methods are safe for concurrent use; scans run one at a time.
type Tree struct {
	fsys  Files
	skip  func(path string, dir bool) bool
	links LinkPolicy
	now   func() time.Time
	store platform.FS
	name  string

	scanning sync.Mutex
	total    atomic.Uint64
	done     atomic.Uint64

	cache treeCache
}

// New makes a Tree of a folder. The caller closes the folder after its last call. New reads the cache and nothing else.
func New(fsys Files, o Options) *Tree {
	t := &Tree{fsys: fsys, skip: o.Skip, links: o.Links, now: o.Now, store: o.Cache, name: o.CacheName}
	if t.skip == nil {
		t.skip = func(string, bool) bool { return false }
	}
	if t.now == nil {
		t.now = time.Now
	}
	t.cache.entries = t.load()
	return t
}

// Progress returns how many bytes the current or last scan has hashed, and has to hash.
func (t *Tree) Progress() (done, total uint64) { return t.done.Load(), t.total.Load() }

// Open opens a regular file for reading. It follows links as Scan does, within the tree. Other kinds of files are not
// opened: opening a pipe would block.
func (t *Tree) Open(path string) (platform.File, error) {
	if err := wire.CheckPath(path); err != nil {
		return nil, err
	}
	look := t.fsys.Lstat
	if t.links == LinksInside {
		look = t.fsys.Stat
	}
	info, err := look(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &wire.PathError{Path: path, Reason: "is not a regular file"}
	}
	return t.fsys.OpenFile(path, os.O_RDONLY, 0)
}

// Scan lists the folder and hashes the files that the cache does not know. Problems are files left out, with the reason:
// they are unreadable, are no regular files, have a name that wire.CheckPath rejects, or changed each time they were
// read. The error is that of ctx, of the root, or ErrTooManyFiles.
func (t *Tree) Scan(ctx context.Context) (*wire.Layout, []PathProblem, error) {
	t.scanning.Lock()
	defer t.scanning.Unlock()
	found, problems, err := t.walk(ctx)
	if err != nil {
		return nil, nil, err
	}
	t.cache.keepOnly(found)
	more, err := t.hashAll(ctx, found)
	if err != nil {
		return nil, nil, err
	}
	files := make([]wire.File, 0, len(found))
	for _, f := range found {
		if f.known {
			files = append(files, f.File)
		}
	}
	return wire.NewLayout(files), append(problems, more...), nil
}

// Blocks returns the hashes of the blocks of a file; the last block may be shorter. An empty file has one, of no bytes.
// The error is a *wire.PathError or *fs.PathError, among others.
func (t *Tree) Blocks(ctx context.Context, path string, blockSize uint32) ([]wire.Hash, error) {
	if blockSize == 0 {
		return nil, &wire.PathError{Path: path, Reason: "can't be cut into blocks of 0 bytes"}
	}
	f, err := t.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	id := platform.IdentityOf(info)
	if known := t.cache.blocks(path, id, blockSize); known != nil {
		return known, nil
	}
	started := t.now()
	hashes, err := hashBlocks(ctx, f, id.Size, blockSize)
	if err != nil {
		return nil, err
	}
	if t.unchanged(f, id, started) {
		t.cache.putBlocks(path, id, blockSize, hashes)
	}
	return hashes, nil
}

// Record stores the hash of a file that was just written, so that the next scan need not read it. The caller guarantees
// that the file has this content.
func (t *Tree) Record(path string, hash wire.Hash) error {
	info, err := t.fsys.Lstat(path)
	if err != nil {
		return err
	}
	t.cache.put(path, platform.IdentityOf(info), hash)
	return nil
}

// Known is the cached hash of a file, if the file did not change since.
func (t *Tree) Known(path string) (wire.File, bool) {
	info, err := t.fsys.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return wire.File{}, false
	}
	id := platform.IdentityOf(info)
	hash, known := t.cache.get(path, id)
	return wire.File{Path: path, Size: uint64(id.Size), Hash: hash}, known
}

// settled is how long a file must be untouched before its hash may be cached: a second change within one clock tick of the file
// system would be invisible. Linux ticks with 4 to 10 ms. Systems without a change time may have FAT, which ticks with 2 s.
const (
	settled      = 50 * time.Millisecond
	settledOlder = 2 * time.Second
)

// unchanged reports whether the bytes read of f since started belong to id, and whether later changes will be visible in its identity.
func (t *Tree) unchanged(f platform.File, id platform.Identity, started time.Time) bool {
	info, err := f.Stat()
	if err != nil || !platform.IdentityOf(info).Same(id) {
		return false
	}
	last, margin := id.Changed, settled
	if last.IsZero() {
		last, margin = id.Modified, settledOlder
	}
	return started.Sub(last) > margin
}
