package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

const (
	// private is the folder of the publisher's own files.
	private   = ".collet"
	lockFile  = private + "/lock"
	tmpFolder = private + "/tmp"
	// maxMetadata limits reads of signed lists, in addition to their own limits.
	maxMetadata = trust.MaxTargets
)

// Options configure an open Folder.
type Options struct {
	Now      func() time.Time // time.Now if nil
	Allow    trust.Allow      // weaknesses that are refused unless allowed here
	Workers  int              // how many cores to use; 0 means all
	Progress func(Progress)   // called by one goroutine at a time; may be nil
	ReadOnly bool             // takes no lock and forbids changes
}

// Progress is the progress of one operation.
type Progress struct {
	Doing       string // "hash", "pack", "chunks", "patch from 7", "upload", "verify"
	What        string // the file or release; may be empty
	Done, Total int64  // bytes; Total is 0 if unknown
}

// Folder is a release folder. Use Open and Close.
type Folder struct {
	fs       platform.FS
	settings Settings
	repo     *trust.Repo
	options  Options
	lock     io.Closer
	meter    *meter
	ledger   *ledger
	serial   number
	heads    map[release.Object]release.Head

	dirty   dirty
	packers sync.Pool // of *chunk.ObjectPacker

	mu       sync.Mutex              // guards the following fields while several goroutines write objects
	unpacked map[release.Digest]bool // blobs below tmpFolder
	waiting  []waiting               // complete files without their final name
}

// Open opens a release folder. fsys stays the caller's to close after Close.
func Open(fsys platform.FS, o Options) (*Folder, error) {
	f, err := begin(fsys, o)
	if err != nil {
		return nil, err
	}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// begin takes the lock.
func begin(fsys platform.FS, o Options) (*Folder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Folder{
		fs: fsys, options: o, meter: newMeter(o.Progress), heads: map[release.Object]release.Head{},
		unpacked: map[release.Digest]bool{},
	}
	if o.ReadOnly {
		return f, nil
	}
	if err := fsys.MkdirAll(private, 0o755); err != nil {
		return nil, advice.Because(err, "", "make the folder for unfinished work in %s", fsys.Path("."))
	}
	lock, err := fsys.Lock(lockFile)
	if errors.Is(err, platform.ErrLocked) {
		return nil, advice.Wrong("wait until it has ended", "another command works on the release folder %s", fsys.Path("."))
	}
	if err != nil {
		return nil, advice.Because(err, "", "lock the release folder")
	}
	f.lock = lock
	return f, nil
}

func (f *Folder) open() (err error) {
	if f.settings, err = loadSettings(f.fs); err != nil {
		return err
	}
	f.repo, err = trust.OpenRepo(store{f.fs}, trust.RepoOptions{Now: f.options.Now, Allow: f.options.Allow})
	if errors.Is(err, fs.ErrNotExist) {
		return advice.Because(err, "if it is new, set it up with collet release init", "release folder %s", f.fs.Path("."))
	}
	if err != nil {
		return advice.Because(err, "", "release folder %s", f.fs.Path("."))
	}
	if f.options.ReadOnly {
		return nil
	}
	if err := errors.Join(f.clear(tmpFolder), f.sweep("metadata"), f.sweep(sequelFolder), f.mendPlain()); err != nil {
		return err
	}
	f.ledger, err = openLedger(f.fs)
	return err
}

// Close releases the folder's lock and removes unpacked blobs.
func (f *Folder) Close() error {
	var err error
	for _, w := range f.waiting { // of work that failed
		w.file.drop()
	}
	if f.ledger != nil {
		err = errors.Join(f.ledger.close(), f.clear(tmpFolder))
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// Settings returns the folder's settings.
func (f *Folder) Settings() Settings { return f.settings }

// clear removes all files of a private folder.
func (f *Folder) clear(folder string) error {
	entries, err := f.fs.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil && !e.IsDir() {
			err = f.fs.Remove(path.Join(folder, e.Name()))
		}
	}
	if err != nil {
		return advice.Because(err, "", "remove unfinished files")
	}
	return nil
}

// unfinishedExt ends the temporary names of files (platform.WriteFile, folderOutput.Put). No file of a release folder ends so.
const unfinishedExt = ".new"

// sweep removes unfinished files of killed commands below a folder.
func (f *Folder) sweep(folder string) error {
	err := walk(f.fs, folder, func(name string, _ fs.DirEntry) error {
		if strings.HasSuffix(name, unfinishedExt) {
			return f.fs.Remove(name)
		}
		return nil
	})
	if err != nil {
		return advice.Because(err, "", "remove unfinished files")
	}
	return nil
}

// store is a platform.FS as trust.Store.
type store struct{ fs platform.FS }

var _ trust.Store = store{}

// Load implements trust.Store.
func (s store) Load(name string, limit int64) ([]byte, error) {
	data, err := platform.ReadFile(s.fs, name, min(limit, maxMetadata))
	if errors.Is(err, platform.ErrTooLong) {
		return nil, errors.Join(err, trust.ErrTooLong)
	}
	return data, err
}

// Save implements trust.Store.
func (s store) Save(name string, data []byte) error {
	if err := makeFolders(s.fs, path.Dir(name)); err != nil {
		return err
	}
	return platform.WriteFile(s.fs, name, data)
}

// makeFolders creates a folder and its parents, and makes new names durable.
func makeFolders(fsys platform.FS, folder string) error {
	if folder == "." {
		return nil
	}
	if info, err := fsys.Lstat(folder); err == nil && info.IsDir() {
		return nil
	}
	if err := makeFolders(fsys, path.Dir(folder)); err != nil {
		return err
	}
	if err := fsys.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(folder))
}

// size is the length of a plain file, or -1.
func size(fsys platform.FS, name string) int64 {
	info, err := fsys.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// head reads the head of an entry.
func (f *Folder) head(e release.Entry) (release.Head, error) {
	if h, known := f.heads[e.Head]; known {
		return h, nil
	}
	data, err := platform.ReadFile(f.fs, e.Head.HeadPath(), release.MaxHead)
	if err != nil {
		return release.Head{}, advice.Because(err, "", "head of release %s", e.Path())
	}
	h, err := trust.OpenHead(trust.UnverifiedBytes(data), e)
	if err != nil {
		return release.Head{}, advice.Because(err, "", "head of release %s", e.Path())
	}
	f.heads[e.Head] = h
	return h, nil
}

// object reads a small object whole. The caller verifies it.
func (f *Folder) object(o release.Object) ([]byte, error) {
	data, err := platform.ReadFile(f.fs, o.Path(), o.Size)
	if err != nil {
		return nil, advice.Because(err, "run collet release verify", "object %s", o.Path())
	}
	return data, nil
}

// listing reads the listing of a head.
func (f *Folder) listing(h release.Head) (release.Listing, error) {
	data, err := f.object(h.Listing.Object)
	if err != nil {
		return nil, err
	}
	return release.UnpackListing(data, h.Listing)
}

// sources reads the list of sources of a head.
func (f *Folder) sources(h release.Head) (release.Sources, error) {
	data, err := f.object(h.Sources)
	if err != nil {
		return nil, err
	}
	return release.UnpackSources(data, h.Sources)
}

// isPublic reports whether a name is published, and not the temporary name of an unfinished file.
func isPublic(name string) bool {
	top, _, deep := strings.Cut(name, "/")
	return deep && (top == "metadata" || top == "releases" || top == "objects" || top == sequelFolder) && !strings.HasSuffix(name, unfinishedExt)
}

// walk visits the plain files below a folder, sorted by name. A missing folder is empty.
func walk(fsys platform.FS, folder string, visit func(name string, e fs.DirEntry) error) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir():
			err = walk(fsys, name, visit)
		case e.Type().IsRegular():
			err = visit(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
