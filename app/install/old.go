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

// This file is what an update that travels as differences asks of the install: which of its files hold contents that it can
// begin with.

// Concerns reports whether a file of an offer belongs to this install, in one mode or the other.
func (d *Dir) Concerns(f release.File) bool {
	_, known := d.cfg.Names.entryOf(f)
	return known
}

// Old opens the file of this install that has exactly the content of f, an offered file of this release or an earlier one:
// what is live under its name, or what waits there for the way back, here or in the base, or its part, if that is finished. What the hash cache does not vouch
// for is hashed first. It stays what it is until Commit. Where there is no such file errors.Is with fs.ErrNotExist holds;
// other errors are those of ctx. Whoever opens it closes it.
func (d *Dir) Old(ctx context.Context, f release.File) (delta.SetFile, error) {
	e, known := d.cfg.Names.entryOf(f)
	if known {
		if d.work.finished(e.part()) && d.hasPart(e) {
			return d.fs.OpenFile(e.part(), os.O_RDONLY, 0)
		}
		for _, place := range d.oldPlaces(e) {
			file, err := d.openOld(ctx, place.fs, place.name, e)
			if err != nil && ctx.Err() == nil && !isAbsent(err) {
				d.log.Warn().Err(err).Str("file", place.fs.Path(place.name)).Msg("old file not read; what it would have saved is fetched")
			}
			if err == nil || ctx.Err() != nil {
				return file, err
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: f.Path, Err: fs.ErrNotExist}
}

// Here opens what lies under the name of f in this install, whatever it is: what is live, here and in the base, what waits for
// the way back, and a part. It is for who checks each piece of what it reads. visit gets each file with its size and closes
// it.
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

// oldPlace is where an old content may lie.
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

// hasPart reports whether the finished part of this name is planned to be what the entry says.
func (d *Dir) hasPart(e entry) bool {
	return slices.ContainsFunc(d.work.items, func(c candidate) bool { return c.entry.Live == e.Live && c.entry.Digest == e.Digest })
}

var errOtherContent = fmt.Errorf("another content: %w", fs.ErrNotExist)

// openOld opens a file if it is what the entry says.
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
	c, err := d.item(i)
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

// Bare reports whether there is no live module, neither here nor in the base: then there is hardly a set to begin with.
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
