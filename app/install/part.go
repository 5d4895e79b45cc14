package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// transfer is the result of Plan: the missing files and the progress of each part. It is the only writer of parts from Plan to
// Commit. A nil transfer has no files.
type transfer struct {
	fs      platform.FS
	hash    *hasher
	program string // live name of the program, whose permissions its part inherits; empty for other installs

	executables bool // files of the set that a system can run get the right to be run

	items []candidate // files to fetch, one for each want
	begun bool        // the journal has a transaction for them, and for files that are only removed
	open  *part
	loose loose // finished parts that are not synced
}

func (w *transfer) entries() []entry {
	entries := make([]entry, len(w.items))
	for i, c := range w.items {
		entries[i] = c.entry
	}
	return entries
}

// missing is the number of bytes that the plan still lacks on disk. It is nil-safe.
func (w *transfer) missing() (bytes int64) {
	if w == nil {
		return 0
	}
	for i, c := range w.items {
		have := c.offset
		switch {
		case w.hash.finished(c.entry.part()):
			have = c.file.Size
		case w.open != nil && w.open.index == i:
			have = w.open.size
		}
		bytes += c.file.Size - have
	}
	return bytes
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
	n, err := release.WriteHashed(p.file.Write, p.bothHashes, data)
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
func (w *transfer) item(i int) (candidate, error) {
	if w == nil || i < 0 || i >= len(w.items) {
		return candidate{}, fmt.Errorf("install: internal error: file %d is not planned", i)
	}
	return w.items[i], nil
}

// syncAlone is the size in bytes from which a part is synced by itself when it is finished. Smaller parts are synced
// together: that takes a tenth of the time, because the disk writes its journal once for several files. Their writer need not wait, either:
// of 100 MB in 1,900 files the 25 files above 1 MiB took two thirds of the writing when each was synced alone.
const syncAlone = 16 << 20

// sync makes all parts and their names durable.
func (w *transfer) sync() error {
	folders := map[string]bool{}
	for _, e := range w.entries() {
		if !w.hash.finished(e.part()) {
			return errors.New("install: internal error: commit of an unfinished part " + e.part())
		}
		folders[path.Dir(e.part())] = true
	}
	if err := w.syncLoose(); err != nil {
		return err
	}
	return syncDirs(w.fs, folders)
}

func (w *transfer) writePart(i int, c candidate, data []byte) error {
	if err := w.openPart(context.Background(), i, c); err != nil {
		return err
	}
	p := w.open
	if due := c.due(p.size); len(data) > 0 && (p.size < due.Start || int64(len(data)) > due.End-p.size) {
		return &update.Fault{Cause: update.ServerFault, Transient: true, Subject: c.file.Path,
			Err: fmt.Errorf("%d bytes arrived for byte %d, where %d to %d of %d are due", len(data), p.size, due.Start, due.End, c.file.Size)}
	}
	return p.append(data)
}

// openPart opens a part for appending and hashes its present bytes, unless it is open already. It deletes a part whose size
// is not the one that Plan saw.
func (w *transfer) openPart(ctx context.Context, i int, c candidate) error {
	if w.open != nil && w.open.index == i {
		return nil
	}
	if err := w.closePart(); err != nil {
		return err
	}
	f, err := w.fs.OpenFile(c.entry.part(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	p := &part{index: i, file: f, bothHashes: bothHashes{c.file.Digest.Algorithm.NewHash(), newBlockHash(c.file.Size)}}
	if p.size, err = w.hash.drain(ctx, p.bothHashes, f, nil); err != nil {
		return errors.Join(err, f.Close())
	}
	w.open, p.ahead = p, p.size
	if p.size != c.offset {
		return errors.Join(&update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path,
			Err: fmt.Errorf("%q has %d bytes, and had %d a moment ago", c.entry.part(), p.size, c.offset)}, w.discard(c))
	}
	return nil
}

// closePart closes the open part, if any, and keeps its bytes.
func (w *transfer) closePart() error {
	if w == nil || w.open == nil {
		return nil
	}
	p := w.open
	w.open, w.items[p.index].offset = nil, p.size
	err := p.file.Close()
	if p.source != nil {
		err = errors.Join(err, p.source.Close())
	}
	return err
}

func (w *transfer) finish(ctx context.Context, i int, c candidate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.advance(ctx, i, c); err != nil {
		return err
	}
	p, got := w.open, release.Digest{}
	if p.size == c.file.Size {
		got = c.file.Digest.Algorithm.SumOf(p.hash)
	}
	if got != c.file.Digest {
		if c.salvage != nil && !c.resumed { // the checksums may be wrong: the next attempt does not use them
			w.hash.blocks.drop(c.file.Digest)
		}
		return &update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path, Err: errors.Join(
			fmt.Errorf("got %d bytes with digest %s, want %d with %s", p.size, got, c.file.Size, c.file.Digest), w.discard(c))}
	}
	if w.program != "" {
		if err := w.fs.Chmod(c.entry.part(), programMode(w.fs, w.program)); err != nil {
			return err
		}
	}
	if w.executables && isExecutable(p.file) {
		if err := w.fs.Chmod(c.entry.part(), release.ProgramMode); err != nil {
			return err
		}
	}
	if c.file.Size < syncAlone {
		w.loose.items, w.loose.bytes = append(w.loose.items, i), w.loose.bytes+c.file.Size
		if err := w.syncEarly(); err != nil {
			return err
		}
	} else if err := p.file.Sync(); err != nil {
		// After a failed write-back a system may report the bytes as written the next time, so the part is discarded.
		return errors.Join(err, w.discard(c))
	}
	w.hash.arrived[c.entry.part()] = c.file.Digest
	w.hash.blocks.save(c.file.Digest, c.file.Size, p.blocks.checksums())
	return w.closePart()
}

// isExecutable reports whether a file begins like one that a system can run. Servers don't say which files are, so the content
// decides; a right that is too much does no harm to data.
func isExecutable(f io.ReaderAt) bool {
	head := make([]byte, release.ProgramHead)
	n, _ := f.ReadAt(head, 0) // an unreadable file fails elsewhere
	return release.BeginsProgram(head[:n])
}

// discard deletes the open part: its bad bytes can't be told from good ones.
func (w *transfer) discard(c candidate) error {
	i := w.open.index
	err := errors.Join(w.closePart(), platform.RemoveIfThere(w.fs, c.entry.part()))
	w.items[i].offset = 0
	return err
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
			return p.sourceFault(c, err)
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
			return errors.Join(p.sourceFault(c, err), w.truncatePart(p, block*blockSize))
		}
		if err := p.append(w.hash.buffer[:n]); err != nil {
			return err
		}
	}
	if !bytes.Equal(p.blocks.checksums().at(block), c.salvage.sums.at(block)) {
		return errors.Join(p.sourceFault(c, errSourceChanged), w.truncatePart(p, block*blockSize))
	}
	return nil
}

// truncatePart truncates the part and closes it, because its hash includes the removed bytes.
func (w *transfer) truncatePart(p *part, size int64) error {
	return errors.Join(p.file.Truncate(size), w.closePart())
}

var errSourceChanged = errors.New("the installed file changed while its good parts were copied")

// sourceFault is the fault for a live file that has changed since Plan. The next Plan reads it again.
func (p *part) sourceFault(c candidate, err error) error {
	if errors.Is(err, io.EOF) {
		err = errSourceChanged
	}
	return &update.Fault{Cause: update.DamagedDownload, Transient: true, Subject: c.file.Path, Err: fmt.Errorf("byte %d: %w", p.size, err)}
}
