package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// work is the result of Plan: the missing files and the progress of each part.
type work struct {
	items []candidate     // files to fetch, one for each want
	begun bool            // the journal has a transaction for them, and for files that are only removed
	done  map[string]bool // parts that this process hashed on arrival and verified
	open  *part
	loose loose // finished parts that are not synced
}

func (w *work) entries() []entry {
	entries := make([]entry, len(w.items))
	for i, c := range w.items {
		entries[i] = c.entry
	}
	return entries
}

// missing is the number of bytes that the plan still lacks on disk. It is nil-safe.
func (w *work) missing() (bytes int64) {
	if w == nil {
		return 0
	}
	for i, c := range w.items {
		have := c.offset
		switch {
		case w.finished(c.entry.part()):
			have = c.file.Size
		case w.open != nil && w.open.index == i:
			have = w.open.size
		}
		bytes += c.file.Size - have
	}
	return bytes
}

// finished reports whether this process completed and verified the part of this name. It is nil-safe.
func (w *work) finished(name string) bool { return w != nil && w.done[name] }

// forget drops names from done, because their content is about to change. It is nil-safe.
func (w *work) forget(names ...string) {
	for _, name := range names {
		if w.finished(name) {
			delete(w.done, name)
		}
	}
}

// part is a file in transfer. Its bytes are hashed as they are written, so that completing it needs no second read.
type part struct {
	index int
	file  platform.File
	bothHashes
	size   int64
	ahead  int64         // offset up to which write-back was started
	source platform.File // source of the intact bytes of the live file; nil before the first use
	broken error         // the first write error: the hashes may be ahead of the bytes, so later appends fail
}

// append writes bytes and hashes them in parallel.
func (p *part) append(data []byte) error {
	if p.broken != nil {
		return p.broken
	}
	var hashing sync.WaitGroup
	if len(data) >= apart {
		hashing.Go(func() { _, _ = p.bothHashes.Write(data) })
	} else {
		_, _ = p.bothHashes.Write(data)
	}
	n, err := p.file.Write(data)
	hashing.Wait()
	p.size += int64(n)
	p.broken = err
	if p.size-p.ahead >= writeAhead {
		platform.WriteAhead(p.file, p.ahead, p.size)
		p.ahead = p.size
	}
	return err
}

// writeAhead is the number of bytes after which write-back is started. It reduces the final sync of a module to a third of
// the time.
const writeAhead = 1 << 20

// item returns a planned file. An unplanned index is a bug of the caller. It is nil-safe.
func (w *work) item(i int) (candidate, error) {
	if w == nil || i < 0 || i >= len(w.items) {
		return candidate{}, fmt.Errorf("install: internal error: file %d is not planned", i)
	}
	return w.items[i], nil
}

// Write implements update.Stage.
func (d *Dir) Write(i int, data []byte) error {
	c, err := d.work.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.write(i, c, data))
}

func (d *Dir) write(i int, c candidate, data []byte) error {
	if err := d.openPart(context.Background(), i, c); err != nil {
		return err
	}
	p := d.work.open
	if due := c.due(p.size); len(data) > 0 && (p.size < due.Start || int64(len(data)) > due.End-p.size) {
		return &update.Fault{Cause: update.ServerFault, Transient: true, Subject: c.file.Path,
			Err: fmt.Errorf("%d bytes arrived for byte %d, where %d to %d of %d are due", len(data), p.size, due.Start, due.End, c.file.Size)}
	}
	return p.append(data)
}

// openPart opens a part for appending and hashes its present bytes, unless it is open already. It deletes a part whose size
// is not the one that Plan saw.
func (d *Dir) openPart(ctx context.Context, i int, c candidate) error {
	if d.work.open != nil && d.work.open.index == i {
		return nil
	}
	if err := d.closePart(); err != nil {
		return err
	}
	f, err := d.fs.OpenFile(c.entry.part(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	p := &part{index: i, file: f, bothHashes: bothHashes{c.file.Digest.Algorithm.NewHash(), newBlockHash(c.file.Size)}}
	if p.size, err = d.drain(ctx, p.bothHashes, f, nil); err != nil {
		return errors.Join(err, f.Close())
	}
	d.work.open, p.ahead = p, p.size
	if p.size != c.offset {
		return errors.Join(&update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path,
			Err: fmt.Errorf("%q has %d bytes, and had %d a moment ago", c.entry.part(), p.size, c.offset)}, d.discard(c))
	}
	return nil
}

// closePart closes the open part, if any, and keeps its bytes.
func (d *Dir) closePart() error {
	if d.work == nil || d.work.open == nil {
		return nil
	}
	p := d.work.open
	d.work.open, d.work.items[p.index].offset = nil, p.size
	err := p.file.Close()
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	return err
}

// Finish implements update.Stage.
func (d *Dir) Finish(ctx context.Context, i int) error {
	c, err := d.work.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.finish(ctx, i, c))
}

func (d *Dir) finish(ctx context.Context, i int, c candidate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.advance(ctx, i, c); err != nil {
		return err
	}
	p, got := d.work.open, release.Digest{}
	if p.size == c.file.Size {
		got = c.file.Digest.Algorithm.SumOf(p.hash)
	}
	if got != c.file.Digest {
		if c.salvage != nil && !c.resumed { // the checksums may be wrong: the next attempt does not use them
			d.blocks.drop(c.file.Digest)
		}
		return &update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path, Err: errors.Join(
			fmt.Errorf("got %d bytes with digest %s, want %d with %s", p.size, got, c.file.Size, c.file.Digest), d.discard(c))}
	}
	if d.cfg.Names.Program {
		if err := d.fs.Chmod(c.entry.part(), d.programMode()); err != nil {
			return err
		}
	}
	if c.file.Size < syncAlone {
		d.work.loose.items = append(d.work.loose.items, i)
		if err := d.syncEarly(); err != nil {
			return err
		}
	} else if err := p.file.Sync(); err != nil {
		// After a failed write-back a system may report the bytes as written the next time, so the part is discarded.
		return errors.Join(err, d.discard(c))
	}
	if d.work.done == nil {
		d.work.done = map[string]bool{}
	}
	d.work.done[c.entry.part()] = true
	d.blocks.keep(c.file.Digest, c.file.Size, p.blocks.all())
	return d.closePart()
}

// syncAlone is the size in bytes from which a part is synced by itself when it is finished. Smaller parts are synced
// together: that takes a tenth of the time, because the disk writes its journal once for several files.
const syncAlone = 1 << 20

// discard deletes the open part: its bad bytes can't be told from good ones.
func (d *Dir) discard(c candidate) error {
	i := d.work.open.index
	err := errors.Join(d.closePart(), removeIfThere(d.fs, c.entry.part()))
	d.work.items[i].offset = 0
	return err
}

// Commit implements update.Stage. A set with a module is staged and waits for Promote; a set without one becomes live.
func (d *Dir) Commit(ctx context.Context) error {
	err := errors.Join(d.commit(ctx), d.endEarly())
	d.work = nil
	if err == nil {
		// Every file was hashed, and damaged ones are repaired or wait for the swap.
		d.cfg.Verify = len(d.journal.lists.Mixed) > 0 && d.journal.State != Prepared
	}
	return d.fault(d.orLoss(err))
}

func (d *Dir) commit(ctx context.Context) error {
	if d.work == nil {
		return errors.New("install: internal error: commit without a plan")
	}
	if !d.work.begun {
		return nil
	}
	folders := map[string]bool{}
	for _, e := range d.work.entries() {
		if !d.work.finished(e.part()) {
			return errors.New("install: internal error: commit of an unfinished part " + e.part())
		}
		folders[path.Dir(e.part())] = true
	}
	if err := d.syncLoose(); err != nil {
		return err
	}
	if err := syncDirs(d.fs, folders); err != nil {
		return err
	}
	if err := d.record(record{State: Prepared}); err != nil {
		return err
	}
	if slices.ContainsFunc(d.journal.lists.Files, func(e entry) bool { return e.Kind == Module }) {
		return d.stage(ctx)
	}
	return d.swap(ctx)
}

// Promote makes a prepared set live. The caller must ensure that no child of its own uses the old one; Promote waits for
// other processes. Without a prepared set it does nothing. The error is a *update.Fault, or that of ctx.
func (d *Dir) Promote(ctx context.Context) error { return d.fault(d.orLoss(d.swap(ctx))) }

// orLoss returns an error for bytes lost during the swap. Open does not use it: there the file is only fetched again.
func (d *Dir) orLoss(err error) error {
	lost := d.vanished
	d.vanished = ""
	if err != nil || lost == "" {
		return err
	}
	return vanishedFault(d.fs.Path(lost), nil)
}

// Abandon implements update.Stage.
func (d *Dir) Abandon() error {
	err := errors.Join(d.closePart(), d.endEarly())
	d.work = nil
	return d.fault(err)
}
