package device

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/minio/sha256-simd"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/span"
)

// part is a file in progress. It belongs to the goroutine of its disk.
//
//	planned ─write, or finish→ open ─finish→ replaced the file        any ─fault→ failed
type part struct {
	disk   *disk
	path   string // of the file to replace
	size   uint64 // of the complete file
	base   string // file whose bytes fill unwritten ranges; empty: none
	name   string // of the part, empty while it is planned
	file   platform.File
	pos    int64            // of file
	spans  span.Set[uint64] // what was written
	fed    hash.Hash
	hashed uint64 // the first hashed bytes went to fed
	failed error
}

var (
	errUnsent   = errors.New("bytes are missing that were never sent: push again")
	errMismatch = errors.New("what arrived has another hash than the desk said: push again")
	errBeyond   = errors.New("data goes beyond the end of its block: the desk is broken")
	errSpans    = fmt.Errorf("was written in more than %d places: push again", maxSpans)
)

// begin plans the writing of a file, without any change on the disk.
func (d *disk) begin(path string, size uint64, base string) *part {
	return &part{disk: d, path: path, size: size, base: base, fed: sha256.New()}
}

// open makes the part on the disk.
func (p *part) open() error {
	if p.file != nil {
		return nil
	}
	if err := p.disk.room(p); err != nil {
		return err
	}
	name := p.disk.partName()
	f, err := p.disk.fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	p.name, p.file = name, f
	return nil
}

// write writes data at an offset. length, at least len(data), is how far it counts as written: the rest is zero.
func (p *part) write(off uint64, data []byte, length uint64) error {
	if p.failed != nil {
		return p.failed
	}
	if off > p.size || length > p.size-off || uint64(len(data)) > length {
		return p.fail(errBeyond)
	}
	if err := p.open(); err != nil {
		return p.fail(err)
	}
	if !p.spans.AddLimited(span.Of(off, off+length), maxSpans) {
		return p.fail(errSpans)
	}
	p.feed(off, data, length)
	if uint64(len(data)) < length {
		data = append(make([]byte, 0, length), data...)[:length]
	}
	if err := p.writeAt(off, data); err != nil {
		return p.fail(err)
	}
	return nil
}

// feed hashes data that comes in order. Data that is written again is hashed at the end, by reading.
func (p *part) feed(off uint64, data []byte, length uint64) {
	switch {
	case off < p.hashed:
		p.fed, p.hashed = sha256.New(), 0
	case off == p.hashed && uint64(len(data)) == length:
		p.fed.Write(data)
		p.hashed += length
	}
}

func (p *part) writeAt(off uint64, data []byte) error {
	if p.pos != int64(off) {
		if _, err := p.file.Seek(int64(off), io.SeekStart); err != nil {
			return err
		}
	}
	n, err := p.file.Write(data)
	p.pos = int64(off) + int64(n)
	return err
}

// fail abandons the part and frees its space.
func (p *part) fail(err error) error {
	if p.failed == nil {
		p.failed = err
		p.disk.drop(p)
	}
	return p.failed
}

// finish completes the part from its base, verifies it and renames it over the file. The part is gone afterwards in any
// case, unless ctx ended.
func (p *part) finish(ctx context.Context, want wire.Hash) (wire.Result, error) {
	if p.failed != nil {
		return wire.Failure, p.failed
	}
	if p.isThere(want) {
		p.disk.drop(p)
		return wire.Success, nil
	}
	got, err := p.complete(ctx)
	switch {
	case ctx.Err() != nil:
		return wire.Failure, ctx.Err()
	case err != nil:
		return wire.Failure, p.fail(err)
	}
	if got != want {
		return wire.HashMismatch, p.fail(errMismatch)
	}
	err = p.file.Close()
	p.file = nil
	if err == nil {
		err = p.disk.replace(ctx, p.name, p.path, want)
	}
	if err != nil {
		return wire.Failure, p.fail(err)
	}
	p.disk.forget(p)
	return wire.Success, nil
}

// isThere reports whether nothing was sent because the file is already right.
func (p *part) isThere(want wire.Hash) bool {
	if len(p.spans) > 0 || p.size == 0 {
		return false
	}
	f, known := p.disk.tree.Known(p.path)
	return known && f.Hash == want && f.Size == p.size
}

// complete fills the unsent ranges and hashes the unhashed ones, overlapping both.
func (p *part) complete(ctx context.Context) (wire.Hash, error) {
	if err := p.open(); err != nil {
		return wire.Hash{}, err
	}
	ready := make(chan uint64)
	hashed := make(chan error, 1)
	go func() {
		var err error
		for to := range ready {
			err = errors.Join(err, p.hashTo(ctx, to))
		}
		hashed <- err
	}()
	err := p.fillGaps(ctx, ready)
	close(ready)
	if err = errors.Join(err, <-hashed); err == nil {
		err = p.file.Truncate(int64(p.size))
	}
	if err == nil {
		err = p.hashTo(ctx, p.size)
	}
	if err != nil {
		return wire.Hash{}, err
	}
	return wire.Hash(p.fed.Sum(nil)), nil
}

// hashTo hashes the bytes below an offset that are not hashed yet.
func (p *part) hashTo(ctx context.Context, to uint64) error {
	if to <= p.hashed {
		return ctx.Err()
	}
	err := tree.ReadInto(ctx, p.fed, p.file, int64(p.hashed), int64(to-p.hashed), p.disk.buffer(), func(int) {})
	p.hashed = to
	return err
}

// fillGaps copies unsent ranges from the base, and reports up to where the file is complete.
func (p *part) fillGaps(ctx context.Context, ready chan<- uint64) error {
	var base platform.File
	for _, gap := range p.spans.Gaps(span.Of(0, p.size)) {
		if base == nil {
			f, err := p.openBase()
			if err != nil {
				return err
			}
			defer f.Close()
			base = f
		}
		if err := p.copyFrom(ctx, base, gap, ready); err != nil {
			return err
		}
	}
	return nil
}

// openBase opens the base of the part. Without a base, bytes are missing.
func (p *part) openBase() (platform.File, error) {
	if p.base == "" {
		return nil, errUnsent
	}
	if err := p.disk.plainParents(p.base); err != nil {
		return nil, err
	}
	f, err := p.disk.tree.Open(p.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUnsent
	}
	return f, err
}

// copyPiece is how many bytes are copied between two checks of the context.
const copyPiece = 16 << 20

func (p *part) copyFrom(ctx context.Context, base platform.File, gap span.Span[uint64], ready chan<- uint64) error {
	info, err := base.Stat()
	if err != nil {
		return err
	}
	if uint64(info.Size()) < gap.End {
		return errUnsent
	}
	for gap.Start < gap.End {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(gap.Len(), copyPiece)
		p.pos = -1
		if err := platform.CopyRange(p.file, base, int64(gap.Start), int64(n)); err != nil {
			return err
		}
		gap.Start += n
		ready <- gap.Start
	}
	return nil
}
