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

// Files is what a Tree needs of a folder.
type Files interface {
	OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
}

// LinkPolicy is what a scan does with symbolic links.
type LinkPolicy uint8

// The policies. Under both a link that leads out of the tree is left out, and nobody else sees a link: the layout has the
// file or the folder it points to.
const (
	LinksLeftOut LinkPolicy = 0 // links are left out and reported
	LinksInside  LinkPolicy = 1 // links to files and folders inside the tree are followed
)

// Options say how a Tree sees its folder. The zero value takes every regular file and keeps hashes in memory.
type Options struct {
	// Skip leaves out a file, or a folder with everything below it. It is called with paths below the root, from several
	// goroutines. nil leaves out nothing. StateFolder is left out in any case.
	Skip func(path string, dir bool) bool
	// Links is what happens to symbolic links.
	Links LinkPolicy
	// Cache and CacheName are a file that keeps the hashes for the next process; without it they stay in memory. The
	// folder of CacheName must exist. A cache that can't be read counts as empty.
	Cache     platform.FS
	CacheName string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Tree knows the files of a folder and their hashes. Use New to make one. All methods are safe for concurrent use; one
// Scan at a time does anything.
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

// New makes a Tree of a folder, which stays the caller's to close, after the last call. It reads the cache, and nothing
// else.
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

// Progress is how many bytes the scan under way, or the last one, has to hash and has hashed.
func (t *Tree) Progress() (done, total uint64) { return t.done.Load(), t.total.Load() }

// Open opens a regular file for reading. Links are followed as Scan does, within the tree. Anything else is not even opened: a
// pipe would wait for its writer.
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

// Scan looks at every file and hashes those that the cache does not know. Problems are files that are left out and why: they
// can't be read, are no regular files, have a name that CheckPath refuses, or changed each time they were read. The error is
// that of ctx, of the root, or says that there are more than MaxFiles.
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

// Blocks are the hashes of the blocks of a file, the last one of what is left; one of nothing for an empty file. The error says
// why they can't be told, a *PathError or *fs.PathError among others.
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

// Record tells the tree that a file was just written with this content, so that the next scan need not read it. Who calls it
// vouches that nobody else wrote to the file.
func (t *Tree) Record(path string, hash wire.Hash) error {
	info, err := t.fsys.Lstat(path)
	if err != nil {
		return err
	}
	t.cache.put(path, platform.IdentityOf(info), hash)
	return nil
}

// Known is the hash of a file if the cache knows it and the file did not change since.
func (t *Tree) Known(path string) (wire.File, bool) {
	info, err := t.fsys.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return wire.File{}, false
	}
	id := platform.IdentityOf(info)
	hash, known := t.cache.get(path, id)
	return wire.File{Path: path, Size: uint64(id.Size), Hash: hash}, known
}

// settled is how long a file must be untouched before its hash may be cached: a second change within one tick of the clock of
// the file system could not be seen afterwards. Linux ticks with 4 to 10 ms; systems without a time of change may have FAT,
// which ticks with 2 s.
const (
	settled      = 50 * time.Millisecond
	settledOlder = 2 * time.Second
)

// unchanged reports whether what was read of f since started is what id stands for, and will stay tellable from anything
// later.
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
