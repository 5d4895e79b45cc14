package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
)

// This file serves updates by deltas: it finds the files of the install whose content a delta can start from.

// Concerns reports whether an offered file belongs to this install, in either mode.
func (d *Dir) Concerns(f release.File) bool {
	_, known := d.cfg.Names.entryOf(f)
	return known
}

// Old opens the file of this install that has exactly the content of f, an offered file of this release or an earlier one.
// It looks at the finished part, the live file here and in the base, and the backup. A file without a valid line in the
// hash cache is hashed first. The file stays unchanged until Commit. If no file matches, errors.Is with fs.ErrNotExist
// holds; other errors are those of ctx. The caller closes the file.
func (d *Dir) Old(ctx context.Context, f release.File) (delta.SetFile, error) {
	e, known := d.cfg.Names.entryOf(f)
	if known {
		if d.work.finished(e.part()) && d.work.plans(e) {
			return d.fs.OpenFile(e.part(), os.O_RDONLY, 0)
		}
		for _, place := range d.oldPlaces(e) {
			file, err := d.openOld(ctx, place.fs, place.name, e)
			if err != nil && ctx.Err() == nil && !IsAbsent(err) {
				d.log.Warn().Err(err).Str("file", place.fs.Path(place.name)).Msg("old file not read; what it would have saved is fetched")
			}
			if err == nil || ctx.Err() != nil {
				return file, err
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: f.Path, Err: fs.ErrNotExist}
}

// Here opens the files under the name of f in this install, whatever their content: the live file here and in the base, the
// backup, and the part. It is for callers that verify each block they read. visit receives each file with its size and must
// close it.
func (d *Dir) Here(f release.File, visit func(file delta.SetFile, size int64)) {
	e, known := d.cfg.Names.entryOf(f)
	if !known {
		return
	}
	for _, place := range append(d.oldPlaces(e), oldPlace{d.fs, e.part()}) {
		info, err := place.fs.Lstat(place.name)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		if file, err := place.fs.OpenFile(place.name, os.O_RDONLY, 0); err == nil {
			visit(file, info.Size())
		}
	}
}

// oldPlace is a possible place of an old content.
type oldPlace struct {
	fs   platform.FS
	name string
}

func (d *Dir) oldPlaces(e entry) []oldPlace {
	places := []oldPlace{{d.fs, e.Live}}
	if d.cfg.Base != nil {
		places = append(places, oldPlace{d.cfg.Base, e.Live})
	}
	return append(places, oldPlace{d.fs, e.backup()})
}

// plans reports whether the plan has an item with the entry's name and digest.
func (w *work) plans(e entry) bool {
	return slices.ContainsFunc(w.items, func(c candidate) bool { return c.entry.Live == e.Live && c.entry.Digest == e.Digest })
}

var errOtherContent = fmt.Errorf("another content: %w", fs.ErrNotExist)

// openOld opens a file if its content matches the entry.
func (d *Dir) openOld(ctx context.Context, from platform.FS, name string, e entry) (delta.SetFile, error) {
	info, err := from.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return nil, errOtherContent
	}
	full, id := from.Path(name), platform.IdentityOf(info)
	digest, found := d.cache.lookup(full, e.Digest.Algorithm, id)
	if !found || d.cfg.Verify && !d.cache.fresh(full, e.Digest.Algorithm) {
		h := e.Digest.Algorithm.NewHash()
		if err := d.readFrom(ctx, from, name, h, nil); err != nil {
			return nil, err
		}
		digest = e.Digest.Algorithm.SumOf(h)
		if settled(id, d.cfg.Now()) {
			d.cache.store(full, id, digest)
		}
	}
	if digest != e.Digest {
		return nil, errOtherContent
	}
	return from.OpenFile(name, os.O_RDONLY, 0)
}

// Restart implements update.Stage.
func (d *Dir) Restart(ctx context.Context, i int) error {
	c, err := d.work.item(i)
	if err == nil {
		err = errors.Join(d.closePart(), removeIfThere(d.fs, c.entry.part()))
	}
	if err != nil {
		return d.fault(err)
	}
	item := &d.work.items[i]
	item.offset, item.salvage, item.resumed = 0, nil, false
	item.missing = item.lacks()
	return nil
}

// Bare reports whether no live module exists, neither here nor in the base: most likely no set is installed then.
func (d *Dir) Bare() bool {
	if d.HasLibrary() {
		return false
	}
	if d.cfg.Base == nil {
		return true
	}
	_, err := d.cfg.Base.Lstat(d.cfg.Names.Library())
	return err != nil
}
