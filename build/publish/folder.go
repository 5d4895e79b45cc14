package publish

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"time"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/solid"
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
	Propose  platform.FS      // changes of the signed list become a proposal in this folder, see package proposal; nil: they are made
}

// Progress is the progress of one operation.
type Progress struct {
	Doing       string // "hash", "pack", "chunks", "patch from 7", "upload", "verify"
	What        string // the file or release; may be empty
	Done, Total int64  // bytes; Total is 0 if unknown

	Stage, Stages int // of a publication, the stages from 1 on; 0 for other commands
}

// Folder is a release folder. Use Open and Close.
type Folder struct {
	fs       platform.FS
	settings Settings
	repo     *trust.Repo
	options  Options
	lock     io.Closer
	proposed bool // a proposal was written
	meter    *meter
	workers  int
	ledger   *cache.Ledger // nil if the folder is read only

	// Reading.
	releases *releases
	unpacker *unpacker

	// Writing, in the order of a publication.
	digester *digester
	store    *objectStore
	packer   *packer
	chunker  *chunker
	patches  *patchMaker
	solids   *solidMaker
	heads    *headWriter
	sequels  *sequelFiles
	plain    *plainFiles
}

// Open opens a release folder. fsys stays the caller's to close after Close.
func Open(fsys platform.FS, o Options) (*Folder, error) {
	f, err := openRepo(fsys, o)
	if err != nil {
		return nil, err
	}
	if err := f.openFolder(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openRepo takes the lock.
func openRepo(fsys platform.FS, o Options) (*Folder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Folder{fs: fsys, options: o, meter: newMeter(o.Progress), workers: o.Workers}
	if f.workers <= 0 {
		f.workers = runtime.GOMAXPROCS(0)
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
		if errors.Is(err, fs.ErrPermission) {
			return nil, advice.Because(platform.Reason(err), "run this as the user who publishes, or let this user write there", "release folder %s can't be written", fsys.Path("."))
		}
		return nil, advice.Because(err, room(err), "lock the release folder")
	}
	f.lock = lock
	return f, nil
}

func (f *Folder) openFolder() (err error) {
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
	f.assemble()
	if f.options.ReadOnly {
		return nil
	}
	err = errors.Join(clearFolder(f.fs, tmpFolder), sweepUnfinished(f.fs, "metadata"), sweepUnfinished(f.fs, sequelFolder), f.plain.mend())
	if err != nil {
		return err
	}
	f.ledger, err = cache.OpenLedger(f.fs)
	f.packer.ledger, f.chunker.ledger, f.patches.ledger, f.solids.ledger = f.ledger, f.ledger, f.ledger, f.ledger
	return err
}

// assemble makes the parts of the folder.
func (f *Folder) assemble() {
	f.releases = &releases{fs: f.fs, repo: f.repo, settings: f.settings, heads: map[release.Object]release.Head{}}
	f.unpacker = &unpacker{fs: f.fs, unpacked: map[release.Digest]bool{}}
	f.digester = &digester{fs: f.fs, meter: f.meter, workers: f.workers, now: f.options.Now}
	f.store = &objectStore{fs: f.fs}
	f.packer = &packer{store: f.store, maxBrotli: f.settings.maxBrotli()}
	f.chunker = &chunker{store: f.store, meter: f.meter, workers: f.workers, minimum: f.settings.ChunkMinimum}
	f.patches = &patchMaker{store: f.store, meter: f.meter, workers: f.options.Workers, memory: f.settings.PatchMemory << 20}
	f.solids = &solidMaker{
		store: f.store, releases: f.releases, meter: f.meter, workers: f.workers, memory: f.settings.PatchMemory << 20, made: map[string][]release.Object{},
		examined: map[examinedContent]solid.Member{},
	}
	f.heads = &headWriter{store: f.store, releases: f.releases}
	f.sequels = &sequelFiles{releases: f.releases}
	f.plain = &plainFiles{
		fs: f.fs, releases: f.releases, store: f.store, unpacker: f.unpacker, digester: f.digester, now: f.options.Now,
	}
}

// Close releases the folder's lock and removes unpacked blobs.
func (f *Folder) Close() error {
	var err error
	if f.store != nil && f.ledger != nil {
		f.store.keepFinished()
	}
	if f.ledger != nil {
		err = errors.Join(f.ledger.Close(), clearFolder(f.fs, tmpFolder))
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// Settings returns the folder's settings.
func (f *Folder) Settings() Settings { return f.settings }

// clearFolder removes all files of a private folder.
func clearFolder(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil && !e.IsDir() {
			err = fsys.Remove(path.Join(folder, e.Name()))
		}
	}
	if err != nil {
		return advice.Because(err, "", "remove unfinished files")
	}
	return nil
}

// sweepUnfinished removes unfinished files of killed commands below a folder.
func sweepUnfinished(fsys platform.FS, folder string) error {
	err := platform.Walk(fsys, folder, func(name string, _ fs.DirEntry) error {
		if strings.HasSuffix(name, places.UnfinishedExt) {
			return fsys.Remove(name)
		}
		return nil
	}, nil)
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
