package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"

	"collet/netproto/launcher/wire"
	"collet/platform"
)

// MaxDepth is how deep folders may be nested: deeper than any project, and the bound of a loop of links on systems
// without inodes to detect it.
const MaxDepth = 64

// ErrKeepsChanging says that a file changed during every attempt to send it.
var ErrKeepsChanging = errors.New("it keeps changing while it is sent: end what writes it, or ignore it")

// ErrTooManyFiles says that a tree has more than wire.MaxFiles files.
var ErrTooManyFiles = fmt.Errorf("the folder holds more than %d files: leave some out", wire.MaxFiles)

// found is one file of a scan.
type found struct {
	wire.File
	id    platform.Identity
	known bool // Hash is set
}

// folder is one folder to list.
type folder struct {
	path   string   // "." is the root
	inodes []uint64 // of the folder and its parents, if links are followed
	depth  int
}

// walker lists folders in parallel.
type walker struct {
	tree *Tree
	ctx  context.Context

	mu       sync.Mutex
	wake     *sync.Cond
	queue    []folder
	busy     int
	files    []found
	problems []PathProblem
	err      error
}

// walk lists the files of the tree. The walker exists only during this call, so it may hold the context.
func (t *Tree) walk(ctx context.Context) ([]found, []PathProblem, error) {
	w := &walker{tree: t, ctx: ctx, queue: []folder{{path: "."}}}
	w.wake = sync.NewCond(&w.mu)
	var walking sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		walking.Go(w.work)
	}
	walking.Wait()
	return w.files, w.problems, w.err
}

func (w *walker) work() {
	for {
		f, ok := w.next()
		if !ok {
			return
		}
		files, folders, problems, err := w.readFolder(f)
		w.add(files, folders, problems, err)
	}
}

// next waits for a folder to list. It returns false at the end: the queue is empty and no folder is being listed.
func (w *walker) next() (folder, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && w.busy > 0 && w.err == nil {
		w.wake.Wait()
	}
	if len(w.queue) == 0 || w.err != nil {
		return folder{}, false
	}
	last := len(w.queue) - 1
	f := w.queue[last]
	w.queue = w.queue[:last]
	w.busy++
	return f, true
}

func (w *walker) add(files []found, folders []folder, problems []PathProblem, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	w.files = append(w.files, files...)
	w.problems = append(w.problems, problems...)
	w.queue = append(w.queue, folders...)
	if err == nil && len(w.files) > wire.MaxFiles {
		err = ErrTooManyFiles
	}
	if w.err == nil {
		w.err = err
	}
	w.wake.Broadcast()
}

// readFolder lists one folder. Only an error of the root is returned as one.
func (w *walker) readFolder(f folder) (files []found, folders []folder, problems []PathProblem, err error) {
	if err := w.ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	entries, err := w.tree.fsys.ReadDir(f.path)
	switch {
	case err != nil && f.path == ".":
		return nil, nil, nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil, nil
	case err != nil:
		return nil, nil, []PathProblem{{Path: f.path, Err: err}}, nil
	}
	for _, e := range entries {
		one, sub, err := w.entry(f, e)
		name := f.join(e)
		switch {
		case err != nil:
			problems = append(problems, PathProblem{Path: name, Err: err})
		case sub != nil:
			folders = append(folders, *sub)
		case one != nil:
			files = append(files, *one)
		}
	}
	return files, folders, problems, nil
}

// join is the path of an entry.
func (f folder) join(e fs.DirEntry) string {
	if f.path == "." {
		return e.Name()
	}
	return f.path + "/" + e.Name()
}

// entry classifies an entry, see sort, unless it is ignored. Its metadata was read together with its name: another call
// would double the time of a scan without changes.
func (w *walker) entry(f folder, e fs.DirEntry) (*found, *folder, error) {
	name := f.join(e)
	if f.path == "." && strings.EqualFold(name, wire.StateFolder) || w.tree.skip(name, e.IsDir()) {
		return nil, nil, nil
	}
	if err := wire.CheckPath(name); err != nil {
		return nil, nil, err
	}
	info, err := e.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return w.sort(f, name, info)
}

var (
	errLink    = errors.New("is a symbolic link: replace it by what it points to, or leave it out")
	errOutside = errors.New("is a symbolic link that leads out of the folder, or nowhere: replace it, or leave it out")
	errLoop    = errors.New("is a symbolic link to a folder that it lies in: remove it, or leave it out")
	errSpecial = errors.New("is no regular file: leave it out")
	errDeep    = fmt.Errorf("lies more than %d folders deep: move it up", MaxDepth)
)

// sort classifies a name: a file to take, a folder to list, or neither.
func (w *walker) sort(f folder, name string, info fs.FileInfo) (*found, *folder, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		if w.tree.links == LinksLeftOut {
			return nil, nil, errLink
		}
		target, err := w.tree.fsys.Stat(name)
		if err != nil {
			return nil, nil, errOutside
		}
		if w.tree.skip(name, target.IsDir()) {
			return nil, nil, nil
		}
		info = target
	}
	switch {
	case info.IsDir():
		sub, err := f.below(name, platform.IdentityOf(info).Inode)
		return nil, sub, err
	case !info.Mode().IsRegular():
		return nil, nil, errSpecial
	}
	id := platform.IdentityOf(info)
	return &found{File: wire.File{Path: name, Size: uint64(id.Size)}, id: id}, nil, nil
}

// below is a folder inside this one. An ancestor reached through a link is an error.
func (f folder) below(name string, inode uint64) (*folder, error) {
	if f.depth >= MaxDepth {
		return nil, errDeep
	}
	sub := &folder{path: name, depth: f.depth + 1, inodes: f.inodes}
	if inode == 0 {
		return sub, nil
	}
	for _, above := range f.inodes {
		if above == inode {
			return nil, errLoop
		}
	}
	sub.inodes = append(f.inodes[:len(f.inodes):len(f.inodes)], inode)
	return sub, nil
}

// hashAll fills in the hashes, from the cache or by reading. The largest files come first, so that all cores are busy until the end.
func (t *Tree) hashAll(ctx context.Context, files []found) ([]PathProblem, error) {
	missing := t.cache.fill(files)
	t.done.Store(0)
	total := uint64(0)
	for _, i := range missing {
		total += files[i].Size
	}
	t.total.Store(total)
	problems := make([]error, len(missing))
	err := atOnce(ctx, len(missing), func(ctx context.Context, n int, buf []byte) error {
		f := &files[missing[n]]
		if problems[n] = t.hashFile(ctx, f, buf); problems[n] == nil || errors.Is(problems[n], fs.ErrNotExist) {
			problems[n] = nil
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	var list []PathProblem
	for n, err := range problems {
		if err != nil {
			list = append(list, PathProblem{Path: files[missing[n]].Path, Err: err})
		}
	}
	return list, nil
}

// hashTries is how often a file that changes while it is read is read again.
const hashTries = 3

// hashFile reads a file until it did not change during the reading.
func (t *Tree) hashFile(ctx context.Context, f *found, buf []byte) error {
	for range hashTries {
		same, err := t.hashOnce(ctx, f, buf)
		if err != nil || same {
			return err
		}
	}
	return ErrKeepsChanging
}

// hashOnce reads a file and reports whether it stayed unchanged meanwhile.
func (t *Tree) hashOnce(ctx context.Context, f *found, buf []byte) (same bool, err error) {
	file, err := t.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	f.id, f.Size = platform.IdentityOf(info), uint64(info.Size())
	started := t.now()
	hash, err := hashRange(ctx, file, 0, info.Size(), buf, func(n int) { t.done.Add(uint64(n)) })
	if err != nil {
		return false, err
	}
	after, err := file.Stat()
	if err != nil || !platform.IdentityOf(after).Same(f.id) {
		return false, err
	}
	f.Hash, f.known = hash, true
	if t.unchanged(file, f.id, started) {
		t.cache.put(f.Path, f.id, hash)
	}
	return true, nil
}

// PathProblem names a file of the working copy that was left out.
type PathProblem struct {
	Path string // relative, with slashes
	Err  error
}
