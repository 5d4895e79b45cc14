package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
)

// This file serves updates by deltas: it finds the files of the install whose content a delta can start from.

// oldPlace is a possible place of an old content.
type oldPlace struct {
	fs   platform.FS
	name string
}

var errOtherContent = fmt.Errorf("another content: %w", fs.ErrNotExist)

// restart drops the bytes of a part, so that it begins again.
func (w *transfer) restart(i int) error {
	c, err := w.item(i)
	if err == nil {
		err = errors.Join(w.closePart(), platform.RemoveIfThere(w.fs, c.entry.part()))
	}
	if err != nil {
		return err
	}
	item := &w.items[i]
	item.offset, item.salvage, item.resumed = 0, nil, false
	item.missing = item.lacks()
	return nil
}

// Manages reports whether an offered file belongs to this install, in either mode.
func (c *Contents) Manages(f release.File) bool {
	_, known := c.names.entryOf(f)
	return known
}

// OpenExact opens the file of this install that has exactly the content of f, an offered file of this release or an earlier one.
// It looks at the finished part, the live file here and in the base, and the backup. A file without a valid line in the
// hash cache is hashed first. The file stays unchanged until Commit. If no file matches, errors.Is with fs.ErrNotExist
// holds; other errors are those of ctx. The caller closes the file.
func (d *Contents) OpenExact(ctx context.Context, f release.File) (delta.SetFile, error) {
	e, known := d.names.entryOf(f)
	if known {
		if d.hash.arrived[e.part()] == e.Digest {
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

// OpenVersions opens the files under the name of f in this install, whatever their content: the live file here and in the base, the
// backup, and the part. It is for callers that verify each block they read. visit receives each file with its size and must
// close it.
func (c *Contents) OpenVersions(f release.File, visit func(file delta.SetFile, size int64)) {
	e, known := c.names.entryOf(f)
	if !known {
		return
	}
	for _, place := range append(c.oldPlaces(e), oldPlace{c.fs, e.part()}) {
		info, err := place.fs.Lstat(place.name)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		if file, err := place.fs.OpenFile(place.name, os.O_RDONLY, 0); err == nil {
			visit(file, info.Size())
		}
	}
}

func (c *Contents) oldPlaces(e entry) []oldPlace {
	places := []oldPlace{{c.fs, e.Live}}
	if c.base != nil {
		places = append(places, oldPlace{c.base, e.Live})
	}
	return append(places, oldPlace{c.fs, e.backup()})
}

// openOld opens a file if its content matches the entry.
func (c *Contents) openOld(ctx context.Context, from platform.FS, name string, e entry) (delta.SetFile, error) {
	info, err := from.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return nil, errOtherContent
	}
	full, id := from.Path(name), platform.IdentityOf(info)
	digest, found := c.hash.cache.lookup(full, e.Digest.Algorithm, id)
	if !found || c.hash.verify && !c.hash.cache.fresh(full, e.Digest.Algorithm) {
		h := e.Digest.Algorithm.NewHash()
		if err := c.hash.readFrom(ctx, from, name, h, nil); err != nil {
			return nil, err
		}
		digest = e.Digest.Algorithm.SumOf(h)
		if showsChanges(id, c.hash.now()) {
			c.hash.cache.store(full, id, digest)
		}
	}
	if digest != e.Digest {
		return nil, errOtherContent
	}
	return from.OpenFile(name, os.O_RDONLY, 0)
}
