package faultfs

import (
	"io"
	"slices"
	"sort"
)

const (
	// denseExtents is how many extents a file may have before they are copied into larger ones.
	denseExtents = 64
	// extentSize is the size of a copied extent in bytes: twice the usual write of a transfer.
	extentSize = 64 << 10
)

// extent is a run of bytes of a file. Its data is never changed, so that any number of contents can share it.
type extent struct {
	off  int64
	data []byte
}

func (e extent) end() int64 { return e.off + int64(len(e.data)) }

// content is the bytes of a file: extents in order, without overlap. Gaps are zero and take no space. A copy by share is free; the list
// of extents is copied when one of the two is changed.
type content struct {
	extents []extent
	size    int64
	stored  int64 // bytes in extents, which is the room it takes
	shared  bool  // another content has the same list
}

// share returns a second content with the same bytes.
func (c *content) share() content {
	c.shared = true
	return *c
}

func (c *content) own() {
	if c.shared {
		c.extents, c.shared = slices.Clone(c.extents), false
	}
}

// after is the index of the first extent that ends behind off.
func (c *content) after(off int64) int {
	if n := len(c.extents); n == 0 || c.extents[n-1].end() <= off {
		return n
	}
	return sort.Search(len(c.extents), func(i int) bool { return c.extents[i].end() > off })
}

// putBytes writes data at off. The content keeps data.
func (c *content) putBytes(off int64, data []byte) {
	if len(data) == 0 {
		return
	}
	c.own()
	c.clear(off, off+int64(len(data)))
	c.extents = slices.Insert(c.extents, c.after(off), extent{off, data})
	c.stored += int64(len(data))
	c.size = max(c.size, off+int64(len(data)))
}

// clear makes [from, to) zero and frees its space.
func (c *content) clear(from, to int64) {
	first := c.after(from)
	last := first
	var edges []extent
	for ; last < len(c.extents) && c.extents[last].off < to; last++ {
		e := c.extents[last]
		c.stored -= int64(len(e.data))
		if e.off < from {
			edges = append(edges, extent{e.off, e.data[:from-e.off]})
		}
		if e.end() > to {
			edges = append(edges, extent{to, e.data[to-e.off:]})
		}
	}
	if first == last {
		return
	}
	c.own()
	c.extents = slices.Replace(c.extents, first, last, edges...)
	for _, e := range edges {
		c.stored += int64(len(e.data))
	}
}

// resize truncates the content, or extends it with zeros.
func (c *content) resize(size int64) {
	if size < c.size {
		c.clear(size, c.size)
	}
	c.size = size
}

// readAt is io.ReaderAt.
func (c *content) readAt(p []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), c.size-off))
	got := p[:n]
	clear(got)
	for i := c.after(off); i < len(c.extents) && c.extents[i].off < off+int64(n); i++ {
		e := c.extents[i]
		skip := max(0, off-e.off)
		copy(got[e.off+skip-off:], e.data[skip:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fits is how many of n bytes at off can be written with at most room new bytes. Overwritten bytes need no space.
func (c *content) fits(off int64, n int, room int64) int {
	end, at := off+int64(n), off
	room = max(room, 0)
	for i := c.after(off); at < end; i++ {
		gap := end
		if i < len(c.extents) {
			gap = min(end, c.extents[i].off)
		}
		if gap-at > room {
			return int(at + room - off)
		}
		room -= max(gap-at, 0)
		if i == len(c.extents) {
			break
		}
		at = max(at, c.extents[i].end())
	}
	return n
}

// compact copies many small extents into few. It is called when no other content shares them.
func (c *content) compact() {
	if int64(len(c.extents)) <= denseExtents+2*c.size/extentSize {
		return
	}
	var merged []extent
	for rest := c.extents; len(rest) > 0; {
		n, bytes := runLength(rest)
		data := make([]byte, 0, bytes)
		for _, e := range rest[:n] {
			data = append(data, e.data...)
		}
		merged = append(merged, extent{rest[0].off, data})
		rest = rest[n:]
	}
	c.extents, c.shared = merged, false
}

// runLength is the number of extents from the first one without a gap, up to extentSize, and the number of their bytes.
func runLength(list []extent) (n, bytes int) {
	for n < len(list) && list[n].off == list[0].off+int64(bytes) && (n == 0 || bytes+len(list[n].data) <= extentSize) {
		bytes += len(list[n].data)
		n++
	}
	return n, bytes
}

// readAll is a copy of all bytes.
func (c *content) readAll() []byte {
	data := make([]byte, c.size)
	_, _ = c.readAt(data, 0) // short only at the end, where data ends too
	return data
}
