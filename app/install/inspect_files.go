package install

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
)

// The words of FileState.Found and similar fields.
const (
	foundRight     = "right"
	foundUnchecked = "unchecked" // the size matches
	foundAbsent    = "absent"
	foundPrevious  = "previous"
	foundOther     = "other"
	foundFolder    = "folder"
	foundLink      = "link"
	foundSize      = "size"
	foundDamaged   = "damaged" // the size matches, but not the digest
)

// word is the word for a Content in reports.
func (c Content) word() string {
	return map[Content]string{Absent: foundAbsent, Wanted: foundRight, Previous: foundPrevious, Other: foundOther, Folder: foundFolder}[c]
}

// lookAtCache reads the hash cache, so that fewer files need hashing.
func (i *inspector) lookAtCache() {
	c := &i.found.Cache
	c.Name, c.State = path.Join(i.found.Names.Cache, cacheFile), "none"
	data, err := platform.ReadFile(i.dir.fs, c.Name, maxCache)
	if isAbsent(err) {
		return
	}
	cache, ok := decodeCache(data)
	if c.State = "damaged"; err == nil && ok {
		c.State, c.Lines, i.dir.cache = "good", len(cache.lines), cache
	}
}

// lookAtFiles compares the live set with the disk.
func (i *inspector) lookAtFiles(ctx context.Context) error {
	i.found.Module = i.hasModule(i.dir)
	for _, e := range i.dir.journal.lists.Set {
		f, err := i.file(ctx, i.dir, e)
		if err != nil {
			return err
		}
		i.found.Files = append(i.found.Files, f)
	}
	return nil
}

// hasModule reports whether a module exists, in dir or in the base.
func (i *inspector) hasModule(dir *Dir) bool {
	if dir.HasLibrary() || i.dir.cfg.Base == nil {
		return dir.HasLibrary()
	}
	info, err := i.dir.cfg.Base.Lstat(i.found.Names.Library())
	return err == nil && info.Mode().IsRegular()
}

// file determines the state of one file of a set, as seen through dir.
func (i *inspector) file(ctx context.Context, dir *Dir, e entry) (FileState, error) {
	f := FileState{Name: e.Live, Kind: string(e.Kind), Size: e.Size, Digest: text(e.Digest)}
	info, err := dir.fs.Lstat(e.Live)
	switch {
	case isAbsent(err):
		f.Found = foundAbsent
	case err != nil:
		f.Found = err.Error()
	case info.IsDir():
		f.Found = foundFolder
	case !info.Mode().IsRegular():
		f.Found = foundLink
	case info.Size() != e.Size:
		f.Found = foundSize
	default:
		return f, i.compare(ctx, dir, e, info, &f)
	}
	return f, ctx.Err()
}

// compare determines the state of a file with the expected size.
func (i *inspector) compare(ctx context.Context, dir *Dir, e entry, info fs.FileInfo, f *FileState) error {
	known, found := i.dir.cache.lookup(i.dir.fs.Path(e.Live), e.Digest.Algorithm, platform.IdentityOf(info))
	if found && dir == i.dir {
		i.found.Cache.Known++
	}
	if i.hash {
		var err error
		if known, err = dir.read(ctx, e.Live, e.Digest.Algorithm, nil); err != nil {
			f.Found = err.Error()
			return ctx.Err()
		}
	}
	switch {
	case !found && !i.hash:
		f.Found = foundUnchecked
	case known == e.Digest:
		f.Found = foundRight
	default:
		f.Found = foundDamaged
	}
	return nil
}

// lookAtTransaction determines the state of every file of a prepared transaction. It hashes them, like the next start does.
func (i *inspector) lookAtTransaction(ctx context.Context) error {
	if i.dir.journal.State != Prepared {
		return nil
	}
	seen, err := i.dir.look(ctx)
	if err != nil {
		i.trouble(You, "a file of the prepared set can't be read: "+err.Error(), "check the permissions and the disk")
		return ctx.Err()
	}
	for n, e := range i.dir.journal.lists.Files {
		s := seen[n]
		i.found.Transaction = append(i.found.Transaction, FileState{
			Name: e.Live, Kind: string(e.Kind), Size: e.Size, Digest: text(e.Digest),
			Found: s.Live.word(), Part: s.Part.word(), Staged: s.Staged.word(), Backup: s.Backup.word(),
		})
	}
	return nil
}

// lookAtBackups hashes the backups of the last proven set: only that shows whether a rollback is possible.
func (i *inspector) lookAtBackups(ctx context.Context) error {
	for _, u := range i.dir.journal.lists.Undo {
		f := FileState{
			Name: u.Live, Kind: string(u.Kind), Size: u.Size, Digest: text(u.Digest), Proven: u.Proven, Going: u.Reverting,
			Found: foundAbsent,
		}
		if !u.Digest.IsZero() {
			f.At = u.entry().backup()
			seen, err := i.dir.content(ctx, f.At, u.Digest, release.Digest{})
			if f.Found = seen.word(); err != nil {
				f.Found = err.Error()
			}
		}
		i.found.Backups = append(i.found.Backups, f)
	}
	return ctx.Err()
}

// lookAtParts lists the parts, except those of a prepared set.
func (i *inspector) lookAtParts(ctx context.Context) error {
	bound := i.dir.journal.bound()
	files := map[string]entry{}
	for _, e := range i.dir.journal.lists.Files {
		files[e.Live] = e
	}
	for _, live := range slices.Sorted(maps.Keys(bound)) {
		e := bound[live]
		now, known := files[live]
		if known && i.dir.journal.State == Prepared {
			continue // already listed in the transaction
		}
		e.Aside = e.Aside || now.Aside
		p := PartState{Name: e.part(), Live: live, Have: -1, Size: e.Size, Digest: text(e.Digest)}
		if info, err := i.dir.fs.Lstat(p.Name); err == nil {
			p.Have = info.Size()
		}
		if i.hash && p.Have == p.Size {
			seen, err := i.dir.content(ctx, p.Name, e.Digest, release.Digest{})
			if p.Found = seen.word(); err != nil {
				p.Found = err.Error()
			}
		}
		i.found.Parts = append(i.found.Parts, p)
	}
	return ctx.Err()
}

// lookAround finds files that are not part of the set.
func (i *inspector) lookAround(ctx context.Context) error {
	ours := map[string]bool{i.found.Cache.Name: true, i.found.Cache.Name + ".new": true}
	for _, end := range []string{"", ".exe", ".toml", ".log", ".log.old"} {
		ours[i.found.Names.Runtime+end] = true
	}
	for _, f := range slices.Concat(i.found.Files, i.found.Transaction) {
		ours[f.Name], ours[f.Name+StagingSuffix] = true, true
	}
	for _, f := range i.found.Backups {
		ours[f.At] = true
	}
	for _, p := range i.found.Parts {
		ours[p.Name] = true
	}
	for _, ext := range []string{"", programExt} {
		e := entry{Kind: module, Live: i.found.Names.Runtime + ext}
		for _, name := range []string{e.part(), e.staged(), e.backup()} {
			ours[name] = ours[name] || isProgram(i.dir.fs, i.found.Names.Runtime, name)
		}
	}
	return i.walk(ctx, ".", ours)
}

func (i *inspector) walk(ctx context.Context, folder string, ours map[string]bool) error {
	entries, err := i.dir.fs.ReadDir(folder)
	if err != nil {
		i.trouble(You, "a folder can't be listed: "+err.Error(), "check its permissions")
		return ctx.Err()
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir() && name != StateDir:
			err = i.walk(ctx, name, ours)
		case !ours[name] && name != StateDir:
			err = i.stray(name, e)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// stray records a file that is not in the journal. Files in the recycler and the cache are only counted.
func (i *inspector) stray(name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return nil // removed in the meantime
	}
	switch {
	case strings.HasPrefix(name, Recycler+"/"):
		i.found.Recycler.add(info.Size())
		return nil
	case strings.HasPrefix(name, i.found.Names.Cache+"/"):
		i.found.Cache.Others.add(info.Size())
		return nil
	}
	i.found.StrayTally.add(info.Size())
	if len(i.found.Strays) < maxStrays {
		i.found.Strays = append(i.found.Strays, Stray{Name: name, Size: info.Size(), What: strayKind(e)})
	}
	return nil
}

func (t *Tally) add(size int64) {
	t.Files++
	t.Bytes += size
}

func strayKind(e fs.DirEntry) string {
	base := e.Name()
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return "link"
	case !e.Type().IsRegular():
		return "device"
	case strings.HasPrefix(base, PartPrefix):
		return "part"
	case strings.HasSuffix(base, StagingSuffix):
		return "staging"
	case strings.HasSuffix(base, BackupSuffix):
		return "backup"
	default:
		return "file"
	}
}

// rehearse runs the recovery of the next start on a view of the folder.
func (i *inspector) rehearse(ctx context.Context) error {
	view := newRehearsal(i.dir.fs, i.found.InUse == LockHeld)
	lines := &deeds{}
	d, err := Open(ctx, Config{FS: view, Base: i.dir.cfg.Base, Names: i.found.Names, Log: zerolog.New(lines), Now: i.dir.cfg.Now})
	next := &i.found.Next
	next.Deeds = lines.list
	if err != nil {
		next.Error = err.Error()
		return ctx.Err()
	}
	defer d.Close()
	if ok, err := d.journal.load(view); !ok || err != nil {
		d.journal.loaded, d.journal.events = true, nil
	}
	next.State, next.Set, next.Pending, next.Module = d.journal.State, text(d.journal.lists.Is), d.Pending(), i.hasModule(d)
	next.Verify, next.Mixed = d.Unclean(), d.journal.lists.Mixed
	for _, e := range d.journal.lists.Set {
		f, err := i.file(ctx, d, e)
		if err != nil {
			return err
		}
		if f.Wrong() && e.Kind != companion {
			next.Damaged = append(next.Damaged, f)
		}
	}
	return nil
}
