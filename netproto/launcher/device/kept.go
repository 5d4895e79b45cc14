package device

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/span"
)

// keptName is the name of a resumable part: it encodes the final content, and the length of the part is how much of the
// beginning is there.
func keptName(hash wire.Hash, size uint64) string {
	return partsFolder + "/" + hash.String() + "-" + hex.EncodeToString(binary.BigEndian.AppendUint64(nil, size))
}

// parseKept is the inverse of keptName, for the last element.
func parseKept(name string) (hash wire.Hash, size uint64, ok bool) {
	digits, length, found := strings.Cut(name, "-")
	raw, err := hex.DecodeString(length)
	if !found || err != nil || len(raw) != 8 {
		return wire.Hash{}, 0, false
	}
	hash, err = wire.ParseHash(digits)
	return hash, binary.BigEndian.Uint64(raw), err == nil
}

// kept lists the resumable parts, the largest first, and the names of the rest.
func (d *disk) kept() (parts []wire.FilePart, rest []string, err error) {
	entries, err := d.fsys.ReadDir(partsFolder)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		hash, size, ok := parseKept(e.Name())
		info, err := d.fsys.Lstat(path.Join(partsFolder, e.Name()))
		if !ok || err != nil || !info.Mode().IsRegular() || info.Size() < leastKeptPart || uint64(info.Size()) > size {
			rest = append(rest, path.Join(partsFolder, e.Name()))
			continue
		}
		parts = append(parts, wire.FilePart{Hash: hash, Size: size, Have: uint64(info.Size())})
	}
	slices.SortStableFunc(parts, func(a, b wire.FilePart) int { return int(min(max(int64(b.Have)-int64(a.Have), -1), 1)) })
	for len(parts) > maxKeptParts {
		last := parts[len(parts)-1]
		rest = append(rest, keptName(last.Hash, last.Size))
		parts = parts[:len(parts)-1]
	}
	return parts, rest, nil
}

// sweep removes parts that are not resumable. No part may be open.
func (d *disk) sweep() error {
	_, rest, err := d.kept()
	if err != nil {
		return err
	}
	for _, name := range rest {
		if err := platform.RemoveIfThere(d.fsys, name); err != nil {
			return err
		}
	}
	return nil
}

// discardKept removes the resumable parts that are not open.
func (d *disk) discardKept() error {
	parts, _, err := d.kept()
	for _, p := range parts {
		if name := keptName(p.Hash, p.Size); !d.inUse[name] {
			err = errors.Join(err, d.fsys.Remove(name))
		}
	}
	return err
}

// resume opens the kept part for this content, with at least its first start bytes, or makes a new one if start is 0.
// The kept bytes are hashed.
func (p *part) resume(ctx context.Context, hash wire.Hash, start uint64) error {
	name := keptName(hash, p.size)
	if p.disk.inUse[name] && start == 0 {
		return nil // of two files with the same content only one can be resumed
	}
	flag := os.O_RDWR
	if start == 0 {
		if err := p.disk.room(p); err != nil {
			return err
		}
		flag |= os.O_CREATE | os.O_EXCL
		if err := platform.RemoveIfThere(p.disk.fsys, name); err != nil {
			return err
		}
	}
	f, err := p.disk.fsys.OpenFile(name, flag, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return errUnsent
	}
	if err != nil {
		return err
	}
	p.file, p.name = f, name
	p.disk.inUse[name] = true
	if start == 0 {
		return nil
	}
	return p.takeOver(ctx, start)
}

// takeOver hashes the first start bytes of the part and truncates it there.
func (p *part) takeOver(ctx context.Context, start uint64) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if uint64(info.Size()) < start || start > p.size {
		return errUnsent
	}
	if err := p.file.Truncate(int64(start)); err != nil {
		return err
	}
	if err := tree.ReadInto(ctx, p.fed, p.file, 0, int64(start), p.disk.buffer(), func(int) {}); err != nil {
		return err
	}
	p.hashed, p.pos = start, -1
	p.spans.Add(span.Of(0, start))
	return nil
}

// keep closes a part. It stays for the next push if it is resumable: large enough, and without gaps.
func (d *disk) keep(p *part) {
	whole := len(p.spans) == 1 && p.spans.Prefix() == p.hashed && p.hashed >= leastKeptPart
	if _, _, named := parseKept(path.Base(p.name)); !named || !whole || p.failed != nil || p.file == nil {
		d.drop(p)
		return
	}
	if p.file.Close() != nil {
		_ = d.fsys.Remove(p.name) // a later sweep removes leftovers
	}
	d.forget(p)
}

// save writes the cache: at once, or when files changed and then a quiet period passed.
func (d *disk) save(atOnce bool) error {
	if d.written.IsZero() || !atOnce && d.now().Sub(d.written) < quietBeforeSave {
		return nil
	}
	d.written = time.Time{}
	return d.tree.Save()
}
