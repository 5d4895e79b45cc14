package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"collet/app/update"
	"collet/platform/span"
)

// salvageBase looks for intact blocks of a damaged file in the base, if the folder has none.
func (p *planning) salvageBase(ctx context.Context, c *candidate, progress func(file string, done, size int64)) error {
	if p.base == nil || c.salvage != nil {
		return nil
	}
	info, err := p.base.Lstat(c.entry.Live)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	c.salvage, err = p.hash.salvage(ctx, p.base, c.entry, info.Size(), nil, func(done int64) { progress(c.entry.Live, done, info.Size()) })
	if err != nil {
		p.log.Warn().Err(err).Str("file", c.entry.Live).Msg("file of the installation not read; all of it is fetched")
	}
	return ctx.Err()
}

// foresee reports the number of bytes to hash if it is known in advance: when everything will be hashed, or the hash cache
// is empty. In other cases it does nothing, to avoid a second lstat of every file.
func (p *planning) foresee(progress func(file string, done, size int64)) {
	total := int64(0)
	if !p.hash.verify && p.hash.cache.known() > 0 {
		return
	}
	for _, c := range p.offered {
		info, err := p.fs.Lstat(c.entry.Live)
		if err != nil && p.base != nil {
			info, err = p.base.Lstat(c.entry.Live)
		}
		if err == nil && info.Mode().IsRegular() && c.entry.Live != p.names.hostSymbols() {
			total += info.Size()
		}
	}
	if total > 0 {
		progress("", 0, total)
	}
}

// lacks returns the ranges to fetch: those after the end of the part that the live file can't supply.
func (c candidate) lacks() []update.Range {
	var missing span.Set[int64]
	if c.salvage != nil {
		missing = slices.Clone(c.salvage.bad)
	} else {
		missing.Add(span.Of(0, c.file.Size))
	}
	missing.Remove(span.Of(0, c.offset))
	return missing
}

// due is the first missing range that ends after offset; after the last one it is an empty range at the end of the file.
func (c candidate) due(offset int64) update.Range {
	for _, r := range c.missing {
		if offset < r.End {
			return r
		}
	}
	return update.Range{Start: c.file.Size, End: c.file.Size}
}

// damage lists and logs the damaged files: files of the set, and files with known block checksums that are not in the set.
func (p *planning) damage() *update.Damages {
	var all update.Damages
	room := update.MaxDamage
	for _, c := range p.work.items {
		_, ours := p.set[c.entry.Live]
		if !c.entry.Repair && (ours || c.salvage == nil) {
			continue
		}
		one := update.Damage{File: c.entry.Live, Size: c.file.Size}
		switch {
		case c.salvage != nil:
			one.Ranges = c.salvage.bad
		case c.file.Size > 0:
			one.Ranges = []update.Range{{End: c.file.Size}}
		}
		if n := len(one.Ranges); n > max(room, 1) {
			one.Ranges = []update.Range{{Start: one.Ranges[0].Start, End: one.Ranges[n-1].End}}
		}
		room -= len(one.Ranges)
		all.Files = append(all.Files, one)
		p.log.Warn().Str("file", one.File).Msg(describe(one))
	}
	if len(all.Files) == 0 {
		return nil
	}
	return &all
}

// describe is a log text for damage, with the last byte of each range.
func describe(one update.Damage) string {
	if len(one.Ranges) == 0 {
		return fmt.Sprintf("more than its %d bytes in %s", one.Size, one.File)
	}
	return fmt.Sprintf("damaged bytes %s of %d in %s", one.Where(), one.Size, one.File)
}

var errChanged = errors.New("the installed file changed while its good parts were copied")

// lost is the fault for a live file that has changed since Plan. The next Plan reads it again.
func (p *part) lost(c candidate, err error) error {
	if errors.Is(err, io.EOF) {
		err = errChanged
	}
	return &update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path, Err: fmt.Errorf("byte %d: %w", p.size, err)}
}

// advance copies intact bytes of the live file, up to the next missing byte.
func (w *transfer) advance(ctx context.Context, i int, c candidate) error {
	if err := w.openPart(ctx, i, c); err != nil {
		return err
	}
	p, until := w.open, c.due(w.open.size).Start
	if p.size >= until || c.salvage == nil {
		return nil
	}
	if p.source == nil {
		var err error
		if p.source, err = c.salvage.from.OpenFile(c.entry.Live, os.O_RDONLY, 0); err != nil {
			return p.lost(c, err)
		}
	}
	for p.size < until {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.copyBlock(p, c, until); err != nil {
			return err
		}
	}
	return nil
}

// copyBlock copies bytes up to the end of a block and verifies the block, including the bytes that the part already had of
// it.
func (w *transfer) copyBlock(p *part, c candidate, until int64) error {
	block := p.size / blockSize
	if w.hash.buffer == nil {
		w.hash.buffer = make([]byte, readSize)
	}
	for end := min((block+1)*blockSize, until); p.size < end; {
		n, err := p.source.ReadAt(w.hash.buffer[:min(end-p.size, readSize)], p.size)
		if n == 0 {
			return errors.Join(p.lost(c, err), w.cut(p, block*blockSize))
		}
		if err := p.append(w.hash.buffer[:n]); err != nil {
			return err
		}
	}
	if !bytes.Equal(p.blocks.all().at(block), c.salvage.sums.at(block)) {
		return errors.Join(p.lost(c, errChanged), w.cut(p, block*blockSize))
	}
	return nil
}

// cut truncates the part and closes it, because its hash includes the removed bytes.
func (w *transfer) cut(p *part, size int64) error {
	return errors.Join(p.file.Truncate(size), w.closePart())
}
