package faultfs

import "math"

// maxChanges is how many unsynced changes of one file are recorded separately. Beyond it, neighbours are joined. That reduces the states
// that a power cut may leave, but keeps the first and the last, and limits the memory: a joined change has no overwritten bytes.
const maxChanges = 512

// noCut is beyond the end of every file.
const noCut = math.MaxInt64

// fate is the state of a change on its way to the disk.
type fate uint8

const (
	waiting fate = 0 // not synced since
	failed  fate = 1 // a sync failed: it may never reach the disk, even if a later sync succeeds
	synced  fate = 2 // it is on the disk, although an earlier change may not be
)

// change is one change of a file's content: first it is truncated, then bytes are written.
type change struct {
	cut    int64 // bytes from here on became zero; noCut without truncation
	pieces []extent
	size   int64 // of the file afterwards
	fate   fate
}

// history is the durable content of a file and the changes that lead to the volatile one.
type history struct {
	base    content  // durable
	changes []change // in order; the volatile content is base with all of them
}

// addChange adds a change.
func (h *history) addChange(c change) {
	h.changes = append(h.changes, c)
	if len(h.changes) > maxChanges {
		h.thin()
	}
}

// thin joins every second change to the one before it, if both have the same fate.
func (h *history) thin() {
	kept := h.changes[:0]
	for i := 0; i < len(h.changes); i++ {
		c := h.changes[i]
		if i+1 < len(h.changes) && h.changes[i+1].fate == c.fate {
			i++
			c = join(c, h.changes[i])
		}
		kept = append(kept, c)
	}
	clear(h.changes[len(kept):])
	h.changes = kept
}

// join is both changes as one.
func join(a, b change) change {
	var bytes content
	for _, p := range a.pieces {
		bytes.putBytes(p.off, p.data)
	}
	if b.cut < bytes.size {
		bytes.clear(b.cut, bytes.size)
	}
	for _, p := range b.pieces {
		bytes.putBytes(p.off, p.data)
	}
	return change{cut: min(a.cut, b.cut), pieces: bytes.extents, size: b.size, fate: b.fate}
}

// sync makes now durable, except for changes of an earlier failed sync.
func (h *history) sync(now *content) {
	whole := true
	for i := range h.changes {
		if h.changes[i].fate == waiting {
			h.changes[i].fate = synced
		}
		whole = whole && h.changes[i].fate == synced
	}
	if whole {
		now.compact()
		h.base, h.changes = now.share(), nil
	}
}

// fail records a failed sync.
func (h *history) fail() {
	for i := range h.changes {
		if h.changes[i].fate == waiting {
			h.changes[i].fate = failed
		}
	}
}

// survivor is the content that a power cut leaves of a history. now is the volatile content.
func (h *history) survivor(now *content, d *dice) content {
	switch {
	case len(h.changes) == 0 || d.percent >= 100:
		return now.share()
	case d.percent <= 0:
		return h.rebuild(h.least())
	default:
		return h.rebuild(h.draw(d))
	}
}

// rebuild applies the changes that survive according to s.
//
// Truncations and the length belong to the inode, so they survive up to one moment, s.inode. Bytes written beyond a truncation that did
// not survive are in new, unreferenced blocks.
func (h *history) rebuild(s survival) content {
	c := h.base.share()
	visible := int64(noCut)
	for i, ch := range h.changes {
		if i < s.inode {
			c.resize(min(c.size, ch.cut))
		} else {
			visible = min(visible, ch.cut)
		}
		for _, p := range ch.pieces {
			s.place(&c, i, p, visible)
		}
	}
	if s.length < 0 {
		s.length = h.sizeAt(s.inode)
	}
	c.resize(s.length)
	return c
}

// sizeAt is the length after the first n changes.
func (h *history) sizeAt(n int) int64 {
	if n == 0 {
		return h.base.size
	}
	return h.changes[n-1].size
}
