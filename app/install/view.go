package install

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
)

// This file is the seam to package inspect: what a reader sees of an install, and an opened install whose end leaves no
// trace. Nothing else of the package serves readers.

// File is one file of a set or of a transaction, with all names that it can have.
type File struct {
	Kind   Kind
	Live   string
	Part   string // in transfer
	Staged string // complete, before the swap; not used for packs
	Backup string // the replaced file, until its successor has proven itself
	Size   int64
	Digest release.Digest // zero: no file
}

func fileOf(e entry) File {
	return File{
		Kind: e.Kind, Live: e.Live, Part: e.part(), Staged: e.staged(), Backup: e.backup(), Size: e.Size, Digest: e.Digest,
	}
}

// ModuleFile is the module of an install with these names. Its size and digest are zero.
func (n Names) ModuleFile() File { return fileOf(entry{Kind: Module, Live: n.Library()}) }

// Slot is one slot of the journal, as it is on the disk.
type Slot struct {
	Name      string
	ListsName string         // name of the file with its lists
	Size      int64          // of the file; -1: missing
	Records   []string       // the JSON of each valid record
	Valid     int64          // bytes of the valid records
	Rest      []byte         // what follows them
	Lists     release.Digest // SHA-256 of its lists; zero without a valid record
}

// ReadSlot reads slot 0 or 1 of a journal, valid or not. A missing slot is no error.
func ReadSlot(fsys platform.FS, n int) (Slot, error) {
	s := Slot{Name: slotName(n), ListsName: listsName(n), Size: -1}
	data, err := platform.ReadFile(fsys, s.Name, maxJournal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil && !errors.Is(err, platform.ErrTooLong):
		return s, err
	}
	j, _ := decodeJournal(data)
	s.Size, s.Valid, s.Rest, s.Lists = int64(len(data)), j.size, data[j.size:], j.listed
	for _, r := range j.events {
		if line, err := json.Marshal(r); err == nil {
			s.Records = append(s.Records, string(line))
		}
	}
	return s, nil
}

// View reads an install without a lock and changes nothing. Another process may change the files meanwhile. It is not safe
// for concurrent use.
type View struct {
	*folder
	tx     *transaction
	health *Health
}

// NewView is a view of an install that this process has not opened. base may be nil. Names must be checked. Journal and
// cache count as empty until LoadJournal and LoadCache.
func NewView(fsys, base platform.FS, names Names) *View {
	return viewOf(newDir(Config{FS: fsys, Base: base, Names: names, Now: time.Now, Log: zerolog.Nop()}, newCache()))
}

func viewOf(d *Dir) *View { return &View{d.Contents.folder, d.tx, d.Health} }

// ViewOf is a view of an opened install.
func ViewOf(d *Dir) *View {
	v := viewOf(d)
	v.loadListsOrNone()
	return v
}

// LoadJournal selects the newer valid slot, like Open. Lists that can't be used count as empty.
func (v *View) LoadJournal() error {
	j, err := loadJournal(v.fs, maxJournal)
	*v.journal = j
	if err == nil {
		v.loadListsOrNone()
	}
	return err
}

func (v *View) loadListsOrNone() {
	if ok, err := v.journal.load(v.fs); !ok || err != nil {
		v.journal.loaded, v.journal.events = true, nil
	}
}

// LoadCache reads the hash cache and returns its number of lines. A damaged one is an error, and a missing one an error for
// which IsAbsent holds.
func (v *View) LoadCache() (lines int, err error) {
	data, err := platform.ReadFile(v.fs, path.Join(v.names.Cache, CacheFile), maxCache)
	if err != nil {
		return 0, err
	}
	cache, ok := decodeCache(data)
	if !ok {
		return 0, errors.New("hash cache is damaged")
	}
	v.hash.cache = cache
	return len(cache.lines), nil
}

// Status is the content of the journal, without its files.
type Status struct {
	Slot    int    // the valid one; -1: no transaction
	Number  uint64 // of the newest transaction
	State   State
	LeadsTo release.Digest // identity of the set that the newest transaction installs or installed
	Set     release.Digest // identity of the live set
	Last    release.Digest // identity of the last proven set, while the live one is pending
	Mixed   []string       // files of the live set known to be missing or from another release
	Pending bool           // the live set of this host is unproven
	Clean   bool           // nothing is pending, and no backup is left
	Tries   []Try
}

// Status returns the state of the journal.
func (v *View) Status() Status {
	j := v.journal
	if j.Number == 0 {
		return Status{Slot: -1}
	}
	return Status{
		Slot: j.slot, Number: j.Number, State: j.State, LeadsTo: j.Build, Set: j.lists.Is, Last: j.lists.Was, Mixed: j.lists.Mixed,
		Pending: v.health.Pending(), Clean: j.Clean, Tries: j.Tries,
	}
}

// Files is the live set, sorted by name.
func (v *View) Files() (files []File) {
	for _, e := range v.journal.lists.Set {
		files = append(files, fileOf(e))
	}
	return files
}

// FoundFile is a file of a transaction with what its names hold.
type FoundFile struct {
	File
	Found Seen
}

// Transaction compares the files of a prepared transaction with the disk, and hashes them. It is empty in other states.
// The error is that of the disk, or of ctx.
func (v *View) Transaction(ctx context.Context) (files []FoundFile, err error) {
	if v.journal.State != Prepared {
		return nil, nil
	}
	seen, err := v.tx.examineNames(ctx)
	for n, s := range seen {
		files = append(files, FoundFile{fileOf(v.journal.lists.Files[n]), s})
	}
	return files, err
}

// Backup is a file of the last proven set under a name that has changed since. Its digest is zero if there was no file.
type Backup struct {
	File
	Proven    bool // its successor has proven itself
	Reverting bool // it is being restored
}

// Backups lists the files that a rollback restores.
func (v *View) Backups() (files []Backup) {
	for _, u := range v.journal.lists.Undo {
		files = append(files, Backup{fileOf(u.entry()), u.Proven, u.Reverting})
	}
	return files
}

// Parts lists the unfinished files that the journal binds to a digest, except those of a prepared transaction.
func (v *View) Parts() (files []File) {
	j := v.journal
	planned := map[string]entry{}
	for _, e := range j.lists.Files {
		planned[e.Live] = e
	}
	bound := j.bound()
	for _, live := range slices.Sorted(maps.Keys(bound)) {
		e := bound[live]
		now, known := planned[live]
		if known && j.State == Prepared {
			continue
		}
		e.Aside = e.Aside || now.Aside
		files = append(files, fileOf(e))
	}
	return files
}

// Content classifies what a name holds: Wanted is the content with this digest. The file is hashed.
func (v *View) Content(ctx context.Context, name string, wanted release.Digest) (Content, error) {
	return v.hash.content(ctx, name, wanted, release.Digest{})
}

// Digest hashes a file.
func (v *View) Digest(ctx context.Context, name string, a release.Algorithm) (release.Digest, error) {
	return v.hash.digestFile(ctx, name, a, nil)
}

// Cached is the digest of an unchanged file in the hash cache.
func (v *View) Cached(name string, info fs.FileInfo, a release.Algorithm) (digest release.Digest, found bool) {
	return v.hash.cache.lookup(v.fs.Path(name), a, platform.IdentityOf(info))
}

// HasModule reports whether a live module exists, in the folder or in the base.
func (v *View) HasModule() bool {
	if there, err := exists(v.fs, v.names.Library()); there && err == nil {
		return true
	}
	if v.base == nil {
		return false
	}
	info, err := v.base.Lstat(v.names.Library())
	return err == nil && info.Mode().IsRegular()
}

// Rehearse opens an install on a file system that keeps all changes in memory. The files of the set for which intact holds
// count as verified, and no others are hashed only because of an unclean end. Kill ends the rehearsal. The error is that of
// Open.
func Rehearse(ctx context.Context, cfg Config, intact func(live string) bool) (*Dir, error) {
	d, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := d.loadLists(); err != nil {
		return nil, errors.Join(d.fault(err), Kill(d))
	}
	d.hash.verify = false
	for _, e := range d.journal.lists.Set {
		if info, err := cfg.FS.Lstat(e.Live); err == nil && intact(e.Live) {
			d.hash.cache.store(cfg.FS.Path(e.Live), platform.IdentityOf(info), e.Digest)
		}
	}
	return d, nil
}

// Kill releases the locks of an install and does nothing else, like the end of its process.
func Kill(d *Dir) error { return d.tx.locks.release() }
