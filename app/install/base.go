package install

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/interrupt"
)

// This file is about installs in two folders. An installer creates the base, which is only read. The folder of Config.FS
// holds the changes since then and takes precedence. A file of the release that exists only in the base counts as current.
// Another version of it in the folder is removed. Files dropped by a release can't be removed from the base, so the runtime
// receives a list of the valid packs.

// packsDir holds one file for each of the last sets, with the names of its packs; inside StateDir.
const packsDir = "packs"

// compareBase reports whether the base has an offered file that the folder lacks or has in another version. The folder's
// version is removed, with a backup. A damaged file is repaired, and not replaced by the base's.
func (p *planning) compareBase(ctx context.Context, e entry, progress func(file string, done, size int64)) (bool, error) {
	d := p.dir
	if d.cfg.Base == nil || e.Aside {
		return false, nil
	}
	there, err := exists(d.fs, e.Live)
	if err != nil || there && e.Old.IsZero() {
		return false, err
	}
	if has, err := d.baseHas(ctx, e, progress); err != nil || !has {
		return false, err
	}
	delete(p.set, e.Live)
	if there {
		p.gone = append(p.gone, entry{Kind: e.Kind, Live: e.Live, Old: e.Old, OldSize: e.OldSize, Foreign: e.Foreign})
	}
	return true, nil
}

// baseHas reports whether the base has exactly the file of an entry. An unreadable file counts as missing: the folder gets
// its own copy. The error is that of ctx.
func (d *Dir) baseHas(ctx context.Context, e entry, progress func(file string, done, size int64)) (bool, error) {
	info, err := d.cfg.Base.Lstat(e.Live)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return false, nil
	case e.Live == d.cfg.Names.hostSymbols():
		return true, nil
	case info.Size() != e.Size:
		return false, nil
	}
	full, id := d.cfg.Base.Path(e.Live), platform.IdentityOf(info)
	if digest, found := d.cache.lookup(full, e.Digest.Algorithm, id); found && !d.cfg.Verify {
		return digest == e.Digest, nil
	}
	digest, err := d.readBase(ctx, e, func(done int64) { progress(e.Live, done, info.Size()) })
	if err != nil {
		d.log.Warn().Err(err).Str("file", full).Msg("file of the installation not read; a copy of its own is fetched")
		return false, ctx.Err()
	}
	if settled(id, d.cfg.Now()) {
		d.cache.store(full, id, digest)
	}
	return digest == e.Digest, nil
}

// readBase hashes a file of the base.
func (d *Dir) readBase(ctx context.Context, e entry, progress func(done int64)) (release.Digest, error) {
	digest, _, err := d.readBlocks(ctx, d.cfg.Base, e, progress)
	return digest, err
}

// shareBase takes the shared readers' lock of the base, so that swaps there wait for this process. It waits for a swap in
// progress. A base without transactions has no such lock, and this process does not create one.
func (d *Dir) shareBase(ctx context.Context) error {
	name := path.Join(StateDir, ReadersFile)
	if d.cfg.Base == nil {
		return nil
	}
	if _, err := d.cfg.Base.Lstat(name); err != nil {
		return nil
	}
	for told := false; ; told = true {
		shared, err := d.cfg.Base.LockShared(name)
		if !errors.Is(err, platform.ErrLocked) {
			if err != nil {
				d.log.Debug().Err(err).Msg("an update of the installation will not wait for this start")
				return nil
			}
			d.shared = shared
			return nil
		}
		if !told {
			d.log.Info().Msg("the installation is being updated")
			d.cfg.OnWait()
		}
		if err := interrupt.Sleep(ctx, readersPoll+rand.N(readersPoll/4)); err != nil {
			return err
		}
	}
}

// letGo releases all locks.
func (d *Dir) letGo() error {
	var shared error
	if d.shared != nil {
		shared = d.shared.Close()
	}
	return errors.Join(shared, d.stopReading(), d.lock.Close())
}

// gaveWay reports whether a pending change removed the live file, because the base has the release's file or because the
// release has dropped it.
func (d *Dir) gaveWay(live string) bool {
	return slices.ContainsFunc(d.journal.lists.Undo, func(u undo) bool { return u.Live == live && u.Gone })
}

// packNames is the content of the file of a set: the packs of the release, relative to their folder, one per line, sorted.
func (p *planning) packNames() []byte {
	var names []string
	for _, c := range p.offered {
		if c.entry.Kind == Pack {
			names = append(names, c.file.Path+"\n")
		}
	}
	slices.Sort(names)
	return []byte(strings.Join(names, ""))
}

// lookBelow determines whether the base has packs that the release lacks and that are not yet excluded for the runtime. It
// does nothing if the offer contains no packs.
func (p *planning) lookBelow() {
	d := p.dir
	if d.cfg.Base == nil || !p.packs {
		return
	}
	if d.journal.lists.Is == p.build {
		known, err := platform.ReadFile(d.fs, packsName(p.build), maxLists)
		if err == nil && string(known) == string(p.packNames()) {
			return
		}
	}
	offered := map[string]bool{}
	for _, c := range p.offered {
		offered[release.Fold(c.entry.Live)] = true
	}
	p.hides = d.baseHasOther(d.cfg.Names.Resources, offered)
}

// baseHasOther reports whether a folder of the base contains a file that was not offered.
func (d *Dir) baseHasOther(folder string, offered map[string]bool) bool {
	entries, err := d.cfg.Base.ReadDir(folder)
	if err != nil {
		return false // an unlistable folder is most likely unreadable
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			return d.baseHasOther(name, offered)
		}
		return !offered[release.Fold(name)] && !strings.HasPrefix(e.Name(), PartPrefix)
	})
}

// writePacks writes the file of the offered set before a transaction leads to it, and removes the files of sets that can't
// return. The start of the transaction syncs the name of their folder.
func (p *planning) writePacks() error {
	d := p.dir
	if d.cfg.Base == nil || !p.packs {
		return nil
	}
	folder := path.Join(StateDir, packsDir)
	if err := d.fs.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := platform.WriteFile(d.fs, packsName(p.build), p.packNames()); err != nil {
		return err
	}
	entries, err := d.fs.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if slices.Contains([]string{packsName(p.build), packsName(d.journal.lists.Is), packsName(d.journal.lists.Was)}, name) {
			continue
		}
		if err := removeIfThere(d.fs, name); err != nil {
			d.log.Warn().Err(err).Msg("list of an old set not removed")
		}
	}
	return nil
}

// packsName is the name of the file of a set.
func packsName(set release.Digest) string {
	return path.Join(StateDir, packsDir, strings.ReplaceAll(set.String(), ":", "-"))
}

// PacksList is the absolute path of a text file with the packs of the live set, relative to the folder of the packs, one
// per line. Of the packs in the base, only those are valid. It is empty if all of them are. The error is a *update.Fault.
func (d *Dir) PacksList() (string, error) {
	if d.cfg.Base == nil {
		return "", nil
	}
	if err := d.loadLists(); err != nil {
		return "", d.fault(err)
	}
	name := packsName(d.journal.lists.Is)
	there, err := exists(d.fs, name)
	if err != nil || !there || d.journal.lists.Is.IsZero() {
		return "", d.fault(err)
	}
	return d.fs.Path(name), nil
}
