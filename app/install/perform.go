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

// batch is what was changed and not synced yet.
type batch struct {
	verb    Verb
	folders map[string]bool // whose names changed
	names   map[string]bool // that were used
}

func newBatch(v Verb) *batch {
	return &batch{verb: v, folders: map[string]bool{}, names: map[string]bool{}}
}

// takes reports whether a step may be done before the batch is synced.
func (b *batch) takes(s Step) bool {
	return s.Do == b.verb && !b.names[s.From] && (s.To == "" || !b.names[s.To])
}

// used notes names, and that their folders changed.
func (b *batch) used(names ...string) {
	for _, name := range names {
		b.names[name], b.folders[path.Dir(name)] = true, true
	}
}

// perform does steps in order; each batch is durable before the next one begins.
func (d *Dir) perform(steps []Step) error {
	b, failed := newBatch(""), map[string]bool{}
	for _, s := range steps {
		if s.Try && failed[s.From] {
			continue // what this step goes on with did not happen
		}
		d.log.Debug().Str("step", string(s.Do)).Str("from", s.From).Str("to", s.To).Msg("disk")
		if !b.takes(s) {
			if err := d.syncDirs(b.folders); err != nil {
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
			return errors.Join(err, d.syncDirs(b.folders)) // whoever tries again finds what was done, and relies on it
		}
	}
	return d.syncDirs(b.folders)
}

func (d *Dir) performOne(b *batch, s Step) error {
	switch s.Do {
	case Place, Keep:
		if err := d.clearWay(b, s.To); err != nil {
			return err
		}
		if err := d.makeFolder(b, path.Dir(s.To)); err != nil {
			return err
		}
		b.used(s.From, s.To)
		return d.carry(s.From, s.To)
	case Exchange:
		b.used(s.From, s.To)
		return d.exchange(s.From, s.To)
	case Recycle:
		return d.recycle(b, s.From, s.To)
	case Clear:
		b.used(s.From)
		return d.clearFolder(s.From)
	case Drop:
		b.used(s.From)
		return d.patiently(func() error { return removeIfThere(d.fs, s.From) })
	default:
		return errors.New("install: internal error: step " + string(s.Do))
	}
}

// patiently tries again for a moment while another program, such as a virus scanner, holds a file.
func (d *Dir) patiently(try func() error) error {
	return platform.Patiently(context.Background(), try)
}

// exchange swaps two names. Two volumes can't, like systems that can't.
func (d *Dir) exchange(a, b string) error {
	err := d.patiently(func() error { return d.fs.Exchange(a, b) })
	if platform.IsCrossDevice(err) {
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}

// carry renames. Where a folder of the install is a volume of its own it copies, and then removes.
func (d *Dir) carry(from, to string) error {
	err := d.patiently(func() error { return d.fs.Rename(from, to) })
	if !platform.IsCrossDevice(err) {
		return err
	}
	copied := copyOf(to)
	if err := d.copyFile(from, copied); err != nil {
		return errors.Join(err, removeIfThere(d.fs, copied))
	}
	if err := d.fs.Rename(copied, to); err != nil {
		return errors.Join(err, removeIfThere(d.fs, copied))
	}
	if err := d.fs.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return removeIfThere(d.fs, from)
}

// copySuffix marks a file that is being copied to another volume.
const copySuffix = ".copy"

// copyOf is where the copy of a file grows: under a name that is ours and nobody else's.
func copyOf(name string) string {
	dir, base := path.Split(name)
	return dir + PartPrefix + base + copySuffix
}

func (d *Dir) copyFile(from, to string) error {
	in, err := d.fs.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := d.fs.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// clearWay makes room for a file in a folder of ours, where an earlier set may have left folders and parts of another shape:
// a file where this one needs a folder, or the other way round. Parts can be fetched again; anything else is only moved.
func (d *Dir) clearWay(b *batch, to string) error {
	previous, parts := path.Join(StateDir, previousDir)+"/", path.Join(StateDir, partsDir)+"/"
	for at := to; strings.HasPrefix(at, previous) || strings.HasPrefix(at, parts); at = path.Dir(at) {
		info, err := d.fs.Lstat(at)
		switch {
		case isAbsent(err):
		case err != nil:
			return err
		case at == to && info.IsDir() && strings.HasPrefix(at, parts):
			return d.removeAll(at)
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

// makeFolder makes a folder, and has every name on the way to it synced with the batch: one that is there may have been
// made by a process that did not come to sync it.
func (d *Dir) makeFolder(b *batch, folder string) error {
	if b.folders[folder] {
		return nil
	}
	if there, err := d.exists(folder); err != nil {
		return err
	} else if !there {
		if err := d.fs.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for ; folder != "."; folder = path.Dir(folder) {
		b.folders[path.Dir(folder)] = true
	}
	return nil
}

// maxCopies is how many files of one name the recycler takes from one transaction.
const maxCopies = 100

// owner says whose files a folder of the recycler holds. The words begin the folders' names.
type owner string

const (
	dropped   owner = ""       // ours: a release dropped them
	somebodys owner = "yours-" // what stood in our way
)

// recycled is the folder for what this transaction moves into the recycler.
func (d *Dir) recycled(o owner) string {
	return path.Join(Recycler, string(o)+strconv.FormatUint(d.journal.Number, 10))
}

// recycle moves a file into the recycler: under as, or under its own name if as is empty. What a release dropped goes
// into the transaction's folder; anything else is somebody's own and has a folder that is never purged.
func (d *Dir) recycle(b *batch, from, as string) error {
	folder := d.recycled(dropped)
	if !slices.ContainsFunc(d.journal.lists.Undo, func(u undo) bool { return u.Live == as && u.Gone && !u.Foreign }) {
		folder = d.recycled(somebodys)
	}
	if as == "" {
		as = from
	}
	if there, err := d.exists(from); err != nil || !there {
		return err
	}
	for n := range maxCopies {
		to := path.Join(folder, as)
		if n > 0 {
			to += fmt.Sprintf(".%d", n)
		}
		there, err := d.exists(to)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := d.makeFolder(b, path.Dir(to)); err != nil {
			return err
		}
		b.used(from, to)
		d.log.Info().Str("from", from).Str("to", to).Msg("moved into the recycler")
		return d.carry(from, to)
	}
	return &fs.PathError{Op: "recycle", Path: from, Err: errors.New("the recycler has too many files of this name; empty it")}
}

// recycleAll moves all files below a folder into the recycler, and removes the folder.
func (d *Dir) recycleAll(b *batch, folder string) error {
	return d.takeApart(folder, func(name string) error { return d.recycle(b, name, "") })
}

// keptRecycled is how many transactions' dropped files the recycler keeps.
const keptRecycled = 3

// purge removes what older transactions dropped. It is best effort, because nothing depends on it.
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
		if err := d.removeAll(path.Join(Recycler, strconv.FormatUint(n, 10))); err != nil {
			d.log.Warn().Err(err).Msg("recycler not purged")
		}
	}
}

// removeAll removes a folder of ours with everything in it. It follows no links.
func (d *Dir) removeAll(folder string) error { return d.takeApart(folder, d.fs.Remove) }

// takeApart does something about every file below a folder, so that it is gone, and removes the folder.
func (d *Dir) takeApart(folder string, file func(name string) error) error {
	entries, err := d.fs.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			err = d.takeApart(name, file)
		} else {
			err = file(name)
		}
		if err != nil {
			return err
		}
	}
	return d.fs.Remove(folder)
}

// errNotEmpty tells a person what to do about a folder that is in the way.
var errNotEmpty = errors.New("a folder with other files stands where a file of the game belongs; move it away")

// clearFolder removes a folder in which nothing but empty folders is left. One that is not there is fine.
func (d *Dir) clearFolder(folder string) error {
	entries, err := d.fs.ReadDir(folder)
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
		if err := d.clearFolder(path.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return d.fs.Remove(folder)
}

// isNotFolder reports whether a file stands where a folder of a path should be.
func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// syncDirs makes the names in folders durable and empties the set. A folder that is gone has no names.
func (d *Dir) syncDirs(folders map[string]bool) error {
	err := platform.SyncDirs(d.fs, slices.Sorted(maps.Keys(folders)), isAbsent) // in one order, so that a stop can be repeated
	if err == nil {
		clear(folders)
	}
	return err
}
