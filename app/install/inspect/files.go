package inspect

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
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

// contentWord is the word for what a name holds.
func contentWord(c install.Content) string {
	return map[install.Content]string{
		install.Absent: foundAbsent, install.Wanted: foundRight, install.Previous: foundPrevious, install.Other: foundOther,
		install.Folder: foundFolder,
	}[c]
}

// readCache reads the hash cache, so that fewer files need hashing.
func (i *inspector) readCache() {
	c := &i.found.Cache
	c.Name = path.Join(i.found.Names.Cache, install.CacheFile)
	lines, err := i.view.LoadCache()
	switch {
	case install.IsAbsent(err):
		c.State = "none"
	case err != nil:
		c.State = "damaged"
	default:
		c.State, c.Lines = "good", lines
	}
}

// checkFiles compares the live set with the disk.
func (i *inspector) checkFiles(ctx context.Context) error {
	i.found.Module = i.view.HasModule()
	for _, e := range i.view.Files() {
		f, cached, err := i.checkFile(ctx, i.fs, i.view, e)
		if err != nil {
			return err
		}
		if cached {
			i.found.Cache.Known++
		}
		i.found.Files = append(i.found.Files, f)
	}
	return nil
}

// checkFile determines the state of one file of a set, as seen through view. cached reports whether the hash cache has a
// valid line for it.
func (i *inspector) checkFile(ctx context.Context, fsys platform.FS, view *install.View, e install.File) (f FileState, cached bool, err error) {
	f = FileState{Name: e.Live, Kind: e.Kind, Size: e.Size, Digest: text(e.Digest)}
	info, err := fsys.Lstat(e.Live)
	switch {
	case install.IsAbsent(err):
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
		f.Found, cached = i.compareContent(ctx, view, e, info)
	}
	return f, cached, ctx.Err()
}

// compareContent is the word for a file with the expected size.
func (i *inspector) compareContent(ctx context.Context, view *install.View, e install.File, info fs.FileInfo) (found string, cached bool) {
	digest, cached := i.view.Cached(e.Live, info, e.Digest.Algorithm)
	if i.hash {
		var err error
		if digest, err = view.Digest(ctx, e.Live, e.Digest.Algorithm); err != nil {
			return err.Error(), cached
		}
	}
	switch {
	case !cached && !i.hash:
		return foundUnchecked, cached
	case digest == e.Digest:
		return foundRight, cached
	default:
		return foundDamaged, cached
	}
}

// checkTransaction determines the state of every file of a prepared transaction. It hashes them, like the next start does.
func (i *inspector) checkTransaction(ctx context.Context) error {
	files, err := i.view.Transaction(ctx)
	if err != nil {
		i.found.add(NeedsPlayer, "a file of the prepared set can't be read: "+err.Error(), "check the permissions and the disk")
		return ctx.Err()
	}
	for _, f := range files {
		i.found.Transaction = append(i.found.Transaction, FileState{
			Name: f.Live, Kind: f.Kind, Size: f.Size, Digest: text(f.Digest), Found: contentWord(f.Found.Live),
			Part: contentWord(f.Found.Part), Staged: contentWord(f.Found.Staged), Backup: contentWord(f.Found.Backup),
		})
	}
	return nil
}

// contentOf is the word for a name that should have this content, which it hashes.
func (i *inspector) contentOf(ctx context.Context, name string, wanted release.Digest) string {
	found, err := i.view.Content(ctx, name, wanted)
	if err != nil {
		return err.Error()
	}
	return contentWord(found)
}

// checkBackups hashes the backups of the last proven set: only that shows whether a rollback is possible.
func (i *inspector) checkBackups(ctx context.Context) error {
	for _, b := range i.view.Backups() {
		f := FileState{
			Name: b.Live, Kind: b.Kind, Size: b.Size, Digest: text(b.Digest), Proven: b.Proven, Reverting: b.Reverting, Found: foundAbsent,
		}
		if !b.Digest.IsZero() {
			f.At, f.Found = b.Backup, i.contentOf(ctx, b.Backup, b.Digest)
		}
		i.found.Backups = append(i.found.Backups, f)
	}
	return ctx.Err()
}

// checkParts lists the parts, except those of a prepared set.
func (i *inspector) checkParts(ctx context.Context) error {
	for _, e := range i.view.Parts() {
		p := PartState{Name: e.Part, Live: e.Live, Have: -1, Size: e.Size, Digest: text(e.Digest)}
		if info, err := i.fs.Lstat(p.Name); err == nil {
			p.Have = info.Size()
		}
		if i.hash && p.Have == p.Size {
			p.Found = i.contentOf(ctx, p.Name, e.Digest)
		}
		i.found.Parts = append(i.found.Parts, p)
	}
	return ctx.Err()
}

// findStrays finds files that are not part of the set.
func (i *inspector) findStrays(ctx context.Context) error {
	ours := map[string]bool{i.found.Cache.Name: true, i.found.Cache.Name + ".new": true}
	for _, end := range []string{"", ".exe", ".toml", ".log", ".log.old"} {
		ours[i.found.Names.Runtime+end] = true
	}
	for _, f := range slices.Concat(i.found.Files, i.found.Transaction) {
		ours[f.Name], ours[f.Name+install.StagingSuffix] = true, true
	}
	for _, f := range i.found.Backups {
		ours[f.At] = true
	}
	for _, p := range i.found.Parts {
		ours[p.Name] = true
	}
	for _, name := range programNames(i.fs, i.found.Names.Runtime) {
		ours[name] = true
	}
	return i.walk(ctx, ".", ours)
}

func (i *inspector) walk(ctx context.Context, folder string, ours map[string]bool) error {
	entries, err := i.fs.ReadDir(folder)
	if err != nil {
		i.found.add(NeedsPlayer, "a folder can't be listed: "+err.Error(), "check its permissions")
		return ctx.Err()
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir() && name != install.StateDir:
			err = i.walk(ctx, name, ours)
		case !ours[name] && name != install.StateDir:
			i.addStray(name, e)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// addStray records a file that is not in the journal. Files in the recycler and the cache are only counted.
func (i *inspector) addStray(name string, e fs.DirEntry) {
	info, err := e.Info()
	if err != nil {
		return // removed in the meantime
	}
	switch {
	case strings.HasPrefix(name, install.Recycler+"/"):
		i.found.Recycler.add(info.Size())
	case strings.HasPrefix(name, i.found.Names.Cache+"/"):
		i.found.Cache.Others.add(info.Size())
	default:
		i.found.StrayTally.add(info.Size())
		if len(i.found.Strays) < maxStrays {
			i.found.Strays = append(i.found.Strays, Stray{Name: name, Size: info.Size(), What: strayKind(e)})
		}
	}
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
	case strings.HasPrefix(base, install.PartPrefix):
		return "part"
	case strings.HasSuffix(base, install.StagingSuffix):
		return "staging"
	case strings.HasSuffix(base, install.BackupSuffix):
		return "backup"
	default:
		return "file"
	}
}

// rehearseStart runs the recovery of the next start on an overlay of the folder.
func (i *inspector) rehearseStart(ctx context.Context) error {
	disk, log := newOverlay(i.fs, i.found.InUse == LockHeld), &actionLog{}
	d, err := install.Open(ctx, install.Config{FS: disk, Base: i.base, Names: i.found.Names, Log: zerolog.New(log), Now: time.Now})
	next := &i.found.Next
	next.Actions = log.actions
	if err != nil {
		next.Error = err.Error()
		return ctx.Err()
	}
	defer d.Close()
	view := install.ViewOf(d)
	s := view.Status()
	next.State, next.Set, next.Pending, next.Module = s.State, text(s.Set), s.Pending, view.HasModule()
	next.Verify, next.Mixed = d.Unclean(), s.Mixed
	for _, e := range view.Files() {
		f, _, err := i.checkFile(ctx, disk, view, e)
		if err != nil {
			return err
		}
		if f.Wrong() && e.Kind != install.Companion {
			next.Damaged = append(next.Damaged, f)
		}
	}
	return nil
}

// actionLog collects the log lines of a rehearsed start.
type actionLog struct{ actions []Action }

// Write implements io.Writer; zerolog calls it once for each line.
func (l *actionLog) Write(line []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, err
	}
	said := func(key string) string {
		value, _ := fields[key].(string)
		return value
	}
	if step := said("step"); step != "" {
		l.actions = append(l.actions, Action{Do: step, From: said("from"), To: said("to")})
		return len(line), nil
	}
	text := said("message")
	for _, key := range []string{"file", "from", "to", "set", "error"} {
		if said(key) != "" {
			text += ", " + key + " " + brief(said(key))
		}
	}
	l.actions = append(l.actions, Action{Says: text})
	return len(line), nil
}
