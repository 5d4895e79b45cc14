package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"collet/platform"
)

// mover performs steps: it is the only code that changes names of the set. The journal names the folders of the recycler.
type mover struct {
	fs      platform.FS
	log     zerolog.Logger
	journal *Journal
	hash    *hasher
	twoStep bool // names can't be exchanged here: found out by the first exchange
}

// perform executes steps in order; each batch is durable before the next one begins.
func (m *mover) perform(steps []Step) error {
	b, failed := newBatch(""), map[string]bool{}
	for _, s := range steps {
		if s.BestEffort && failed[s.From] {
			continue // an earlier step for this file failed
		}
		m.log.Debug().Str("step", string(s.Do)).Str("from", s.From).Str("to", s.To).Msg("disk")
		if !b.takes(s) {
			if err := syncDirs(m.fs, b.folders); err != nil {
				return err
			}
			b = newBatch(s.Do)
		}
		m.hash.forget(s.From, s.To)
		err := m.performOne(b, s)
		if err != nil && s.BestEffort && !errors.Is(err, errors.ErrUnsupported) {
			m.log.Warn().Err(err).Str("file", s.From).Msg("best effort failed")
			err, failed[s.From] = nil, true
		}
		if err != nil {
			return errors.Join(err, syncDirs(m.fs, b.folders)) // a retry relies on the changes made so far
		}
	}
	return syncDirs(m.fs, b.folders)
}

func (m *mover) performOne(b *batch, s Step) error {
	switch s.Do {
	case Place, Keep:
		if err := m.removeObstacles(b, s.To); err != nil {
			return err
		}
		if err := makeFolder(m.fs, b, path.Dir(s.To)); err != nil {
			return err
		}
		b.used(s.From, s.To)
		return moveFile(m.fs, s.From, s.To)
	case Exchange:
		b.used(s.From, s.To)
		return exchangeNames(m.fs, s.From, s.To)
	case Recycle:
		return m.recycle(b, s.From, s.To)
	case Clear:
		b.used(s.From)
		return clearFolder(m.fs, s.From)
	case Drop:
		b.used(s.From)
		return retryWhileLocked(func() error { return platform.RemoveIfThere(m.fs, s.From) })
	default:
		return errors.New("install: internal error: step " + string(s.Do))
	}
}

// performWithFallback performs steps. If names can't be exchanged, it asks next again for steps without exchanges.
func (m *mover) performWithFallback(next func() ([]Step, error)) error {
	steps, err := next()
	if err == nil {
		err = m.perform(steps)
	}
	if errors.Is(err, errors.ErrUnsupported) && !m.twoStep {
		m.twoStep = true
		return m.performWithFallback(next)
	}
	return err
}

// removeObstacles makes room for a file in the folders of backups and parts. An earlier set may have left a file where this one
// needs a folder, or a folder where it needs a file. Parts are removed; anything else is moved to the recycler.
func (m *mover) removeObstacles(b *batch, to string) error {
	previous, parts := path.Join(StateDir, previousDir)+"/", path.Join(StateDir, partsDir)+"/"
	for at := to; strings.HasPrefix(at, previous) || strings.HasPrefix(at, parts); at = path.Dir(at) {
		info, err := m.fs.Lstat(at)
		switch {
		case IsAbsent(err):
		case err != nil:
			return err
		case at == to && info.IsDir() && strings.HasPrefix(at, parts):
			return platform.RemoveFolder(m.fs, at, nil)
		case at == to && info.IsDir():
			return m.recycleAll(b, at)
		case at != to && !info.IsDir() && strings.HasPrefix(at, parts):
			return platform.RemoveIfThere(m.fs, at)
		case at != to && !info.IsDir():
			return m.recycle(b, at, "")
		}
	}
	return nil
}

// recycle moves a file into the recycler: under as, or under its own name if as is empty. Files that a release dropped go
// into the transaction's folder. All other files may be the player's; they go into a folder that is never purged.
func (m *mover) recycle(b *batch, from, as string) error {
	folder := m.recycled(dropped)
	if !slices.ContainsFunc(m.journal.lists.Undo, func(u undo) bool { return u.Live == as && u.Gone && !u.Foreign }) {
		folder = m.recycled(movedAside)
	}
	if as == "" {
		as = from
	}
	if there, err := exists(m.fs, from); err != nil || !there {
		return err
	}
	for n := range maxCopies {
		to := path.Join(folder, as)
		if n > 0 {
			to += fmt.Sprintf(".%d", n)
		}
		there, err := exists(m.fs, to)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := makeFolder(m.fs, b, path.Dir(to)); err != nil {
			return err
		}
		b.used(from, to)
		m.log.Info().Str("from", from).Str("to", to).Msg("moved into the recycler")
		return moveFile(m.fs, from, to)
	}
	return &fs.PathError{Op: "recycle", Path: from, Err: errors.New("the recycler has too many files of this name; empty it")}
}

// maxCopies is the number of files of one name that the recycler holds for one transaction.
const maxCopies = 100

// recycleReason is why files are in a folder of the recycler. The words begin the folders' names.
type recycleReason string

const (
	dropped    recycleReason = ""       // files that a release dropped
	movedAside recycleReason = "yours-" // files that were moved out of the way
)

// recycled is the recycler's folder for this transaction.
func (m *mover) recycled(why recycleReason) string {
	return path.Join(Recycler, string(why)+strconv.FormatUint(m.journal.Number, 10))
}

// recycleAll moves all files below a folder into the recycler and removes the folder.
func (m *mover) recycleAll(b *batch, folder string) error {
	return platform.RemoveFolder(m.fs, folder, func(name string) error { return m.recycle(b, name, "") })
}

// keptRecycled is the number of transactions whose dropped files stay in the recycler.
const keptRecycled = 3

// purge removes files that older transactions dropped. It is best effort: nothing depends on it.
func (m *mover) purge() {
	entries, err := m.fs.ReadDir(Recycler)
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
		if err := platform.RemoveFolder(m.fs, path.Join(Recycler, strconv.FormatUint(n, 10)), nil); err != nil {
			m.log.Warn().Err(err).Msg("recycler not purged")
		}
	}
}

// clearPrevious removes the empty folders of backups. Other files in them stay.
func (m *mover) clearPrevious() {
	if err := clearFolder(m.fs, path.Join(StateDir, previousDir)); err != nil {
		m.log.Debug().Err(err).Msg("folder of backups not removed")
	}
}

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
