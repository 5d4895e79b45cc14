package delta

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"

	"collet/netproto/release"
)

// longContent is a large content with large ranges copied verbatim from one old file. The rest of both is encoded like
// other contents. So a pack of gigabytes needs neither the memory nor the time of a patch.
type longContent struct {
	member int // of the group
	old    int // file of the old listing
	copies []longCopy
}

// longCopy is a number of new bytes, followed by a range that is copied from the old file.
type longCopy struct{ gap, size, from int64 }

func (l *longContent) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.old))
	b = binary.AppendUvarint(b, uint64(len(l.copies)))
	at, shift := int64(0), int64(0)
	for _, c := range l.copies {
		at += c.gap
		b = binary.AppendUvarint(b, uint64(c.gap))
		b = binary.AppendUvarint(b, uint64(c.size))
		b = binary.AppendUvarint(b, signed(c.from-at-shift))
		shift = c.from - at
		at += c.size
	}
	return b
}

// readLongs decodes the long contents of a group. copies is the number of copies so far; the result includes the new ones.
func (d *setDelta) readLongs(in *numberParser, g int, old release.Listing, copies int) int {
	group := &d.groups[g]
	last := -1
	for range in.number("the long contents of a group", int64(group.count)) {
		l := longContent{member: last + 1 + int(in.number("a long content", int64(group.count)))}
		if l.old = int(in.number("an old file", int64(len(old)))); in.err != nil || l.member >= group.count || l.old >= len(old) {
			in.fail("has a long content that does not exist")
			return copies
		}
		last = l.member
		count := in.number("the copies of a long content", int64(maxCopies-copies))
		copies += int(count)
		l.read(in, count, d.fresh[d.members(g)[l.member]].size, old[l.old].Size)
		group.longs = append(group.longs, l)
	}
	return copies
}

// read decodes the copies and checks that they lie within the new and the old content.
func (l *longContent) read(in *numberParser, count, size, oldSize int64) {
	at, shift := int64(0), int64(0)
	for range count {
		c := longCopy{gap: in.number("a gap", release.MaxFile), size: in.number("the size of a copy", release.MaxFile)}
		at += c.gap
		shift += in.signed("a shift")
		c.from = at + shift
		if at += c.size; in.err != nil || at > size || c.from < 0 || c.from > oldSize || c.size > oldSize-c.from {
			in.fail("has a copy outside of its files")
			return
		}
		l.copies = append(l.copies, c)
	}
}

// left is how many new bytes are not copied.
func (l *longContent) left(size int64) int64 {
	for _, c := range l.copies {
		size -= c.size
	}
	return size
}

// extent is a range of a file.
type extent struct{ at, size int64 }

// newLeft lists the ranges of the new content that are not copied.
func (l *longContent) newLeft(size int64) (list []extent) {
	at := int64(0)
	for _, c := range l.copies {
		if c.gap > 0 {
			list = append(list, extent{at, c.gap})
		}
		at += c.gap + c.size
	}
	if at < size {
		list = append(list, extent{at, size - at})
	}
	return list
}

// oldLeft lists the ranges of the old file that are not copied.
func (l *longContent) oldLeft(size int64) (list []extent) {
	used := make([]extent, len(l.copies))
	for i, c := range l.copies {
		used[i] = extent{c.from, c.size}
	}
	slices.SortFunc(used, func(a, b extent) int { return int(max(min(a.at-b.at, 1), -1)) })
	at := int64(0)
	for _, u := range used {
		if u.at > at {
			list = append(list, extent{at, u.at - at})
		}
		at = max(at, u.at+u.size)
	}
	if at < size {
		list = append(list, extent{at, size - at})
	}
	return list
}

// parts reads ranges of a file as one concatenation.
type parts struct {
	from io.ReaderAt
	list []extent
	ends []int64 // end offsets in the concatenation
}

func newParts(from io.ReaderAt, list []extent) *parts {
	p := &parts{from: from, list: list, ends: make([]int64, len(list))}
	sum := int64(0)
	for i, e := range list {
		sum += e.size
		p.ends[i] = sum
	}
	return p
}

func (p *parts) size() int64 {
	if len(p.ends) == 0 {
		return 0
	}
	return p.ends[len(p.ends)-1]
}

// ReadAt implements io.ReaderAt.
func (p *parts) ReadAt(b []byte, at int64) (n int, err error) {
	for i := sort.Search(len(p.ends), func(i int) bool { return p.ends[i] > at }); n < len(b); i++ {
		if i >= len(p.list) {
			return n, io.EOF
		}
		left := p.ends[i] - at
		want := b[n:][:min(int64(len(b)-n), left)]
		got, err := p.from.ReadAt(want, p.list[i].at+p.list[i].size-left)
		if n, at = n+got, at+int64(got); got < len(want) {
			return n, err
		}
	}
	return n, nil
}

// longWriter writes a long content: its input is the rest of it, the copies come from the old file.
type longWriter struct {
	out  io.Writer
	old  io.ReaderAt
	list []longCopy
	gap  int64 // input bytes before the next copy
	buf  []byte
}

func newLongWriter(out io.Writer, old io.ReaderAt, l *longContent) *longWriter {
	w := &longWriter{out: out, old: old, list: l.copies, buf: make([]byte, 128<<10)}
	if len(w.list) > 0 {
		w.gap = w.list[0].gap
	}
	return w
}

// Write implements io.Writer.
func (w *longWriter) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if err := w.writeCopies(); err != nil {
			return n, err
		}
		piece := b[n:]
		if len(w.list) > 0 {
			piece = piece[:min(int64(len(piece)), w.gap)]
		}
		got, err := w.out.Write(piece)
		n, w.gap = n+got, w.gap-int64(got)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// writeCopies writes the copies that precede the next input byte.
func (w *longWriter) writeCopies() error {
	for len(w.list) > 0 && w.gap == 0 {
		c := w.list[0]
		for done := int64(0); done < c.size; {
			b := w.buf[:min(c.size-done, int64(len(w.buf)))]
			if n, err := w.old.ReadAt(b, c.from+done); n < len(b) {
				if err == nil || err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return fmt.Errorf("read an old file at byte %d: %w", c.from+done, err)
			}
			if _, err := w.out.Write(b); err != nil {
				return err
			}
			done += int64(len(b))
		}
		if w.list = w.list[1:]; len(w.list) > 0 {
			w.gap = w.list[0].gap
		}
	}
	return nil
}
