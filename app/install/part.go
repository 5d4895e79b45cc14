package install

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// work is what Plan found missing, and how far each part is.
type work struct {
	items []candidate
	done  map[string]bool // parts whose bytes this process hashed on their way and found right
	open  *part
}

func (w *work) entries() []entry {
	entries := make([]entry, len(w.items))
	for i, c := range w.items {
		entries[i] = c.entry
	}
	return entries
}

// finished reports whether the part of this name was completed and verified by this process. It is nil-safe.
func (w *work) finished(name string) bool { return w != nil && w.done[name] }

// part is a file under way. Its hash runs along with its bytes, so that completing it costs no second reading.
type part struct {
	index int
	file  platform.File
	hash  hash.Hash
	size  int64
}

// item finds a planned file. Asking for one that was not planned is a bug of the caller.
func (d *Dir) item(i int) (candidate, error) {
	if d.work == nil || i < 0 || i >= len(d.work.items) {
		return candidate{}, fmt.Errorf("install: internal error: file %d is not planned", i)
	}
	return d.work.items[i], nil
}

// Write implements update.Stage.
func (d *Dir) Write(i int, data []byte) error {
	c, err := d.item(i)
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
	if int64(len(data)) > c.file.Size-p.size {
		return &update.Fault{Cause: update.ServerFault, Transient: true, Subject: c.file.Path,
			Err: fmt.Errorf("server sent more than the %d bytes it announced", c.file.Size)}
	}
	n, err := p.file.Write(data)
	p.hash.Write(data[:n])
	p.size += int64(n)
	return err
}

// openPart opens a part for appending and hashes what it already holds, unless it is the one that is open. What it holds
// may not be what Plan saw; then its digest will not fit, and it is thrown away.
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
	p := &part{index: i, file: f, hash: c.file.Digest.Algorithm.NewHash()}
	if p.size, err = d.drain(ctx, p.hash, f, nil); err != nil {
		return errors.Join(err, f.Close())
	}
	d.work.open = p
	return nil
}

// closePart closes the part under way, if there is one, and keeps its bytes.
func (d *Dir) closePart() error {
	if d.work == nil || d.work.open == nil {
		return nil
	}
	p := d.work.open
	d.work.open = nil
	return p.file.Close()
}

// Finish implements update.Stage.
func (d *Dir) Finish(ctx context.Context, i int) error {
	c, err := d.item(i)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(d.finish(ctx, i, c))
}

func (d *Dir) finish(ctx context.Context, i int, c candidate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.openPart(ctx, i, c); err != nil {
		return err
	}
	p, got := d.work.open, release.Digest{}
	if p.size == c.file.Size {
		got = c.file.Digest.Algorithm.SumOf(p.hash)
	}
	if got != c.file.Digest {
		return &update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path, Err: errors.Join(
			fmt.Errorf("got %d bytes with digest %s, want %d with %s", p.size, got, c.file.Size, c.file.Digest), d.discard(c))}
	}
	// A system that failed to write bytes back may call them written the next time, so they are not asked again.
	if err := p.file.Sync(); err != nil {
		return errors.Join(err, d.discard(c))
	}
	if d.work.done == nil {
		d.work.done = map[string]bool{}
	}
	d.work.done[c.entry.part()] = true
	return d.closePart()
}

// discard throws the part under way away: its bad bytes can't be told from good ones.
func (d *Dir) discard(c candidate) error {
	return errors.Join(d.closePart(), d.remove(c.entry.part()))
}

// remove is Remove without an error for a file that is not there.
func (d *Dir) remove(name string) error {
	if err := d.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Commit implements update.Stage. Packs become live, modules and their companions staged.
func (d *Dir) Commit(ctx context.Context) error {
	err := d.commit(ctx)
	d.work = nil
	return d.fault(err)
}

func (d *Dir) commit(ctx context.Context) error {
	if d.work == nil {
		return errors.New("install: internal error: commit without a plan")
	}
	if len(d.work.items) == 0 {
		return nil
	}
	folders := map[string]bool{}
	for _, e := range d.work.entries() {
		if !d.work.finished(e.part()) {
			return errors.New("install: internal error: commit of an unfinished part " + e.part())
		}
		folders[path.Dir(e.part())] = true
	}
	if err := d.syncDirs(folders); err != nil {
		return err
	}
	if err := d.record(Prepared, d.journal.Pending); err != nil {
		return err
	}
	return d.advance(ctx, Stage)
}

// Abandon implements update.Stage.
func (d *Dir) Abandon() error {
	err := d.closePart()
	d.work = nil
	return d.fault(err)
}
