package crash

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"collet/app/install"
	"collet/platform"
)

// Mutant is a deliberately broken build of the install. It proves that Run reports violations. A mutant wraps the file system below the
// install, so the production code contains nothing of it. The zero value is the correct build.
type Mutant struct {
	Name  string
	About string // what it does wrong
	make  func(*brokenFS)
}

// wrap returns the file system with the mutant's fault.
func (m Mutant) wrap(fsys platform.FS) platform.FS {
	if m.make == nil {
		return fsys
	}
	b := &brokenFS{FS: fsys}
	m.make(b)
	return b
}

// findMutant finds a mutant; the empty name is the correct build.
func findMutant(name string) (Mutant, error) {
	if name == "" {
		return Mutant{}, nil
	}
	for _, m := range Mutants() {
		if m.Name == name {
			return m, nil
		}
	}
	return Mutant{}, fmt.Errorf("%w: no mutant %q", ErrUsage, name)
}

// Mutants lists the broken builds.
func Mutants() []Mutant {
	list := []Mutant{
		{"journal-late", "a journal record is written behind the rename or exchange that it announces", journalLate},
		{"prepared-early", "PREPARED is recorded before the parts are synced", preparedEarly},
		{"backup-early", "what a swap replaced is deleted at once, and not when the new set has proven itself", backupEarly},
		{"exchange-naive", "two names are exchanged by removing one and renaming the other", exchangeNaive},
		{"place-by-copy", "a file is made live by writing its bytes into the old one", placeByCopy},
	}
	return append(list, lazyMutants()...)
}

// lazyMutants lists the builds that lack one sync.
func lazyMutants() []Mutant {
	files := func(name, about string, lazy func(string) bool) Mutant {
		return Mutant{name, "does not sync " + about, func(b *brokenFS) {
			b.sync = func(file string, sync func() error) error { return unless(lazy(file), sync) }
		}}
	}
	folders := func(name, about string, lazy func(string) bool) Mutant {
		return Mutant{name, "does not sync the names in " + about, func(b *brokenFS) {
			b.syncDir = func(folder string, sync func() error) error { return unless(lazy(folder), sync) }
		}}
	}
	inState := func(folder string) bool { return strings.HasPrefix(folder, install.StateDir+"/") }
	return []Mutant{
		files("parts-unsynced", "parts", isPart),
		files("journal-unsynced", "the journal", isJournal),
		files("lists-unsynced", "the lists of a transaction", func(f string) bool {
			return path.Base(path.Dir(f)) == install.StateDir && strings.HasPrefix(path.Base(f), "lists.")
		}),
		folders("set-names-unsynced", "the folders of the set", func(f string) bool { return f != install.StateDir && !inState(f) }),
		folders("module-names-unsynced", "the folder of the module", func(f string) bool { return f == "." }),
		folders("pack-names-unsynced", "the folder of the packs", func(f string) bool { return f != "." && f != install.StateDir && !inState(f) }),
		folders("state-names-unsynced", "the folder of the journal", func(f string) bool { return f == install.StateDir }),
		folders("backup-names-unsynced", "the folders of backups", inState),
	}
}

func unless(lazy bool, sync func() error) error {
	if lazy {
		return nil
	}
	return sync()
}

func isJournal(name string) bool { return strings.HasPrefix(name, install.StateDir+"/journal.") }

func isPart(name string) bool { return strings.HasPrefix(path.Base(name), install.PartPrefix) }

func isBackup(name string) bool {
	return strings.HasSuffix(name, install.BackupSuffix) || strings.HasPrefix(name, install.StateDir+"/previous/")
}

// brokenFS is a file system with replaced operations; nil fields pass the call on.
type brokenFS struct {
	platform.FS
	open     func(name string, flag int, open func() (platform.File, error)) (platform.File, error)
	sync     func(name string, sync func() error) error
	syncDir  func(name string, sync func() error) error
	rename   func(from, to string) error
	exchange func(a, b string) error
	unlock   func() error // called before a lock is released
}

// OpenFile implements platform.FS.
func (b *brokenFS) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	open := func() (platform.File, error) {
		f, err := b.FS.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &brokenFile{f, b, name}, nil
	}
	if b.open != nil {
		return b.open(name, flag, open)
	}
	return open()
}

// Rename implements platform.FS.
func (b *brokenFS) Rename(from, to string) error {
	if b.rename != nil {
		return b.rename(from, to)
	}
	return b.FS.Rename(from, to)
}

// Exchange implements platform.FS.
func (b *brokenFS) Exchange(one, other string) error {
	if b.exchange != nil {
		return b.exchange(one, other)
	}
	return b.FS.Exchange(one, other)
}

// SyncDir implements platform.FS.
func (b *brokenFS) SyncDir(name string) error {
	sync := func() error { return b.FS.SyncDir(name) }
	if b.syncDir != nil {
		return b.syncDir(name, sync)
	}
	return sync()
}

// Lock implements platform.FS.
func (b *brokenFS) Lock(name string) (io.Closer, error) {
	l, err := b.FS.Lock(name)
	if err != nil || b.unlock == nil {
		return l, err
	}
	return &brokenLock{l, b.unlock}, nil
}

type brokenLock struct {
	io.Closer
	before func() error
}

func (l *brokenLock) Close() error { return errors.Join(l.before(), l.Closer.Close()) }

type brokenFile struct {
	platform.File
	fs   *brokenFS
	name string
}

func (f *brokenFile) Sync() error {
	if f.fs.sync != nil {
		return f.fs.sync(f.name, f.File.Sync)
	}
	return f.File.Sync()
}
