package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"collet/platform"
)

// batch collects changes that are not yet synced.
type batch struct {
	verb    Verb
	folders map[string]bool // folders with changed names
	names   map[string]bool // names used by the batch
}

func newBatch(v Verb) *batch {
	return &batch{verb: v, folders: map[string]bool{}, names: map[string]bool{}}
}

// takes reports whether a step fits into the batch.
func (b *batch) takes(s Step) bool {
	return s.Do == b.verb && !b.names[s.From] && (s.To == "" || !b.names[s.To])
}

// used records names and their folders as changed.
func (b *batch) used(names ...string) {
	for _, name := range names {
		b.names[name], b.folders[path.Dir(name)] = true, true
	}
}

// perform executes steps in order; each batch is durable before the next one begins.
func (d *Dir) perform(steps []Step) error {
	b, failed := newBatch(""), map[string]bool{}
	for _, s := range steps {
		if s.Try && failed[s.From] {
			continue // an earlier step for this file failed
		}
		d.log.Debug().Str("step", string(s.Do)).Str("from", s.From).Str("to", s.To).Msg("disk")
		if !b.takes(s) {
			if err := syncDirs(d.fs, b.folders); err != nil {
				return err
			}
			b = newBatch(s.Do)
		}
		d.work.forget(s.From, s.To)
		err := d.performOne(b, s)
		if err != nil && s.Try && !errors.Is(err, errors.ErrUnsupported) {
			d.log.Warn().Err(err).Str("file", s.From).Msg("best effort failed")
			err, failed[s.From] = nil, true
		}
		if err != nil {
			return errors.Join(err, syncDirs(d.fs, b.folders)) // a retry relies on the changes made so far
		}
	}
	return syncDirs(d.fs, b.folders)
}

func (d *Dir) performOne(b *batch, s Step) error {
	switch s.Do {
	case Place, Keep:
		if err := d.clearWay(b, s.To); err != nil {
			return err
		}
		if err := makeFolder(d.fs, b, path.Dir(s.To)); err != nil {
			return err
		}
		b.used(s.From, s.To)
		return carry(d.fs, s.From, s.To)
	case Exchange:
		b.used(s.From, s.To)
		return exchangeNames(d.fs, s.From, s.To)
	case Recycle:
		return d.recycle(b, s.From, s.To)
	case Clear:
		b.used(s.From)
		return clearFolder(d.fs, s.From)
	case Drop:
		b.used(s.From)
		return patiently(func() error { return removeIfThere(d.fs, s.From) })
	default:
		return errors.New("install: internal error: step " + string(s.Do))
	}
}

// patiently retries for a moment while another program, such as a virus scanner, holds a file.
func patiently(try func() error) error {
	return platform.Patiently(context.Background(), try)
}

// exchangeNames exchanges two names. Across volumes it returns errors.ErrUnsupported, as on systems without that operation.
func exchangeNames(fsys platform.FS, a, b string) error {
	err := patiently(func() error { return fsys.Exchange(a, b) })
	if platform.IsCrossDevice(err) {
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}

// carry renames a file. Across volumes it copies the file and then removes the original.
func carry(fsys platform.FS, from, to string) error {
	err := patiently(func() error { return fsys.Rename(from, to) })
	if !platform.IsCrossDevice(err) {
		return err
	}
	copied := copyOf(to)
	if err := copyFile(fsys, from, copied); err != nil {
		return errors.Join(err, removeIfThere(fsys, copied))
	}
	if err := fsys.Rename(copied, to); err != nil {
		return errors.Join(err, removeIfThere(fsys, copied))
	}
	if err := fsys.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return removeIfThere(fsys, from)
}

// copySuffix marks a file that is being copied to another volume.
const copySuffix = ".copy"

// copyOf is the temporary name of a copy, reserved by its prefix and suffix.
func copyOf(name string) string {
	dir, base := path.Split(name)
	return dir + PartPrefix + base + copySuffix
}

func copyFile(fsys platform.FS, from, to string) error {
	in, err := fsys.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fsys.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// clearWay makes room for a file in the folders of backups and parts. An earlier set may have left a file where this one
// needs a folder, or a folder where it needs a file. Parts are removed; anything else is moved to the recycler.
func (d *Dir) clearWay(b *batch, to string) error {
	previous, parts := path.Join(StateDir, previousDir)+"/", path.Join(StateDir, partsDir)+"/"
	for at := to; strings.HasPrefix(at, previous) || strings.HasPrefix(at, parts); at = path.Dir(at) {
		info, err := d.fs.Lstat(at)
		switch {
		case IsAbsent(err):
		case err != nil:
			return err
		case at == to && info.IsDir() && strings.HasPrefix(at, parts):
			return removeAll(d.fs, at)
		case at == to && info.IsDir():
			return d.recycleAll(b, at)
		case at != to && !info.IsDir() && strings.HasPrefix(at, parts):
			return removeIfThere(d.fs, at)
		case at != to && !info.IsDir():
			return d.recycle(b, at, "")
		}
	}
	return nil
}

// makeFolder creates a folder and adds every folder above it to the batch's sync. An existing folder may be unsynced too,
// if the process that created it stopped early.
func makeFolder(fsys platform.FS, b *batch, folder string) error {
	if b.folders[folder] {
		return nil
	}
	if there, err := exists(fsys, folder); err != nil {
		return err
	} else if !there {
		if err := fsys.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for ; folder != "."; folder = path.Dir(folder) {
		b.folders[path.Dir(folder)] = true
	}
	return nil
}

// maxCopies is the number of files of one name that the recycler holds for one transaction.
const maxCopies = 100

// owner is the origin of the files in a folder of the recycler. The words begin the folders' names.
type owner string

const (
	dropped   owner = ""       // files that a release dropped
	somebodys owner = "yours-" // files that were moved out of the way
)

// recycled is the recycler's folder for this transaction.
func (d *Dir) recycled(o owner) string {
	return path.Join(Recycler, string(o)+strconv.FormatUint(d.journal.Number, 10))
}

// recycle moves a file into the recycler: under as, or under its own name if as is empty. Files that a release dropped go
// into the transaction's folder. All other files may be the player's; they go into a folder that is never purged.
func (d *Dir) recycle(b *batch, from, as string) error {
	folder := d.recycled(dropped)
	if !slices.ContainsFunc(d.journal.lists.Undo, func(u undo) bool { return u.Live == as && u.Gone && !u.Foreign }) {
		folder = d.recycled(somebodys)
	}
	if as == "" {
		as = from
	}
	if there, err := exists(d.fs, from); err != nil || !there {
		return err
	}
	for n := range maxCopies {
		to := path.Join(folder, as)
		if n > 0 {
			to += fmt.Sprintf(".%d", n)
		}
		there, err := exists(d.fs, to)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := makeFolder(d.fs, b, path.Dir(to)); err != nil {
			return err
		}
		b.used(from, to)
		d.log.Info().Str("from", from).Str("to", to).Msg("moved into the recycler")
		return carry(d.fs, from, to)
	}
	return &fs.PathError{Op: "recycle", Path: from, Err: errors.New("the recycler has too many files of this name; empty it")}
}

// recycleAll moves all files below a folder into the recycler and removes the folder.
func (d *Dir) recycleAll(b *batch, folder string) error {
	return takeApart(d.fs, folder, func(name string) error { return d.recycle(b, name, "") })
}

// keptRecycled is the number of transactions whose dropped files stay in the recycler.
const keptRecycled = 3

// purge removes files that older transactions dropped. It is best effort: nothing depends on it.
func (d *Dir) purge() {
	entries, err := d.fs.ReadDir(Recycler)
	if err != nil {
		return
	}
	var numbers []uint64
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 64); err == nil && e.IsDir() && strconv.FormatUint(n, 10) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers[:max(0, len(numbers)-keptRecycled)] {
		if err := removeAll(d.fs, path.Join(Recycler, strconv.FormatUint(n, 10))); err != nil {
			d.log.Warn().Err(err).Msg("recycler not purged")
		}
	}
}

// removeAll removes one of the install's own folders with everything in it. It follows no links.
func removeAll(fsys platform.FS, folder string) error { return takeApart(fsys, folder, fsys.Remove) }

// takeApart calls file for every file below a folder, which must remove or move it, and then removes the folder.
func takeApart(fsys platform.FS, folder string, file func(name string) error) error {
	entries, err := fsys.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			err = takeApart(fsys, name, file)
		} else {
			err = file(name)
		}
		if err != nil {
			return err
		}
	}
	return fsys.Remove(folder)
}

// errNotEmpty tells the player what to do about a folder that is in the way.
var errNotEmpty = errors.New("a folder with other files stands where a file of the game belongs; move it away")

// clearFolder removes a folder that contains only empty folders. A missing folder is no error.
func clearFolder(fsys platform.FS, folder string) error {
	entries, err := fsys.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return &fs.PathError{Op: "clear", Path: path.Join(folder, e.Name()), Err: errNotEmpty}
		}
		if err := clearFolder(fsys, path.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(folder)
}

// isNotFolder reports whether a component of a path is a file instead of a folder.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// syncDirs makes the names in folders durable and empties the map. It skips missing folders.
func syncDirs(fsys platform.FS, folders map[string]bool) error {
	err := platform.SyncDirs(fsys, slices.Sorted(maps.Keys(folders)), IsAbsent) // sorted, so that crash tests are repeatable
	if err == nil {
		clear(folders)
	}
	return err
}
