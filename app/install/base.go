package install

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
	"collet/platform"
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
	if p.base == nil || e.Aside {
		return false, nil
	}
	there, err := exists(p.fs, e.Live)
	if err != nil || there && e.Old.IsZero() {
		return false, err
	}
	if has, err := p.baseHas(ctx, e, progress); err != nil || !has {
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
func (p *planning) baseHas(ctx context.Context, e entry, progress func(file string, done, size int64)) (bool, error) {
	info, err := p.base.Lstat(e.Live)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return false, nil
	case e.Live == p.names.hostSymbols():
		return true, nil
	case info.Size() != e.Size:
		return false, nil
	}
	full, id := p.base.Path(e.Live), platform.IdentityOf(info)
	if digest, found := p.hash.cache.lookup(full, e.Digest.Algorithm, id); found && !p.hash.verify {
		return digest == e.Digest, nil
	}
	digest, _, err := p.hash.readBlocks(ctx, p.base, e, func(done int64) { progress(e.Live, done, info.Size()) })
	if err != nil {
		p.log.Warn().Err(err).Str("file", full).Msg("file of the installation not read; a copy of its own is fetched")
		return false, ctx.Err()
	}
	if showsChanges(id, p.hash.now()) {
		p.hash.cache.store(full, id, digest)
	}
	return digest == e.Digest, nil
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

// checkBasePacks determines whether the base has packs that the release lacks and that are not yet excluded for the runtime. It
// does nothing if the offer contains no packs.
func (p *planning) checkBasePacks() {
	if p.base == nil || !p.packs {
		return
	}
	if p.journal.lists.Is == p.build {
		known, err := platform.ReadFile(p.fs, packsName(p.build), maxLists)
		if err == nil && string(known) == string(p.packNames()) {
			return
		}
	}
	offered := map[string]bool{}
	for _, c := range p.offered {
		offered[release.Fold(c.entry.Live)] = true
	}
	p.hides = p.baseHasOther(p.names.Resources, offered)
}

// baseHasOther reports whether a folder of the base contains a file that was not offered.
func (p *planning) baseHasOther(folder string, offered map[string]bool) bool {
	entries, err := p.base.ReadDir(folder)
	if err != nil {
		return false // an unlistable folder is most likely unreadable
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			return p.baseHasOther(name, offered)
		}
		return !offered[release.Fold(name)] && !strings.HasPrefix(e.Name(), PartPrefix)
	})
}

// packsName is the name of the file of a set.
func packsName(set release.Digest) string {
	return path.Join(StateDir, packsDir, strings.ReplaceAll(set.String(), ":", "-"))
}
