package delta

import (
	"encoding/binary"
	"slices"

	"collet/netproto/release"
)

// deltaWriter compares two listings and encodes the ops.
type deltaWriter struct {
	old       release.Listing
	at        map[release.Digest]int // first file of the old listing with a content
	known     map[release.Digest]int // index of fresh
	delta     *setDelta
	ops, text []byte
	keep      int
	copied    int // index of the last copy
	before    release.ListedFile
}

// compareListings encodes the difference from old to fresh, without groups.
func compareListings(old, fresh release.Listing) *deltaWriter {
	w := &deltaWriter{old: old, at: map[release.Digest]int{}, known: map[release.Digest]int{}, copied: -1}
	w.delta = &setDelta{contentOf: map[int]int{}}
	w.before = release.ListedFile{Use: release.UseResource, Mode: release.PlainMode}
	for i, f := range old {
		if _, there := w.at[f.Sum]; !there {
			w.at[f.Sum] = i
		}
	}
	i := 0
	for j, f := range fresh {
		for i < len(old) && old[i].Path < f.Path {
			w.writeOp(opRemove)
			i++
		}
		switch {
		case i == len(old) || old[i].Path > f.Path:
			w.writeAdd(j, f)
		case old[i].Use == f.Use && old[i].Mode == f.Mode && old[i].Sum == f.Sum:
			w.keep++
			i++
		default:
			w.writeChange(j, f, i)
			i++
		}
		w.before = f
	}
	for ; i < len(old); i++ {
		w.writeOp(opRemove)
	}
	return w
}

func (w *deltaWriter) writeOp(kind byte) {
	w.ops = binary.AppendUvarint(w.ops, uint64(w.keep))
	w.ops = append(w.ops, kind)
	w.keep = 0
}

// contentKind encodes the source of a file's content; same is the old file of its path, or -1.
func (w *deltaWriter) contentKind(f release.ListedFile, same int) (kind byte) {
	_, copied := w.at[f.Sum]
	_, again := w.known[f.Sum]
	switch {
	case same >= 0 && w.old[same].Sum == f.Sum:
		return contentKept
	case copied:
		return contentCopy
	case again:
		return contentAgain
	default:
		return contentFresh
	}
}

func (w *deltaWriter) writeChange(j int, f release.ListedFile, same int) {
	kind := w.contentKind(f, same)
	op := byte(opChange | kind<<2)
	meta := w.old[same].Use != f.Use || w.old[same].Mode != f.Mode
	if meta {
		op |= opMeta
	}
	w.writeOp(op)
	if meta {
		w.writeMeta(f)
	}
	w.writeSource(kind, j, f, same)
}

func (w *deltaWriter) writeAdd(j int, f release.ListedFile) {
	kind := w.contentKind(f, -1)
	op := byte(opAdd | kind<<2)
	meta := w.before.Use != f.Use || w.before.Mode != f.Mode
	if meta {
		op |= opMeta
	}
	w.writeOp(op)
	head, tail := sharedHead(w.before.Path, f.Path), 0
	w.ops = binary.AppendUvarint(w.ops, uint64(head))
	if kind == contentCopy {
		tail = sharedTail(w.old[w.at[f.Sum]].Path, f.Path[head:])
		w.ops = binary.AppendUvarint(w.ops, uint64(tail))
	}
	middle := f.Path[head : len(f.Path)-tail]
	w.ops = binary.AppendUvarint(w.ops, uint64(len(middle)))
	w.text = append(w.text, middle...)
	if meta {
		w.writeMeta(f)
	}
	w.writeSource(kind, j, f, -1)
}

func (w *deltaWriter) writeMeta(f release.ListedFile) {
	b := byte(slices.Index(setUses(), f.Use)) << 1
	if f.Mode == release.ProgramMode {
		b |= 1
	}
	w.ops = append(w.ops, b)
}

func (w *deltaWriter) writeSource(kind byte, j int, f release.ListedFile, same int) {
	switch kind {
	case contentCopy:
		i := w.at[f.Sum]
		w.ops = binary.AppendUvarint(w.ops, signed(int64(i-w.copied-1)))
		w.copied = i
	case contentAgain:
		c := w.known[f.Sum]
		w.ops = binary.AppendUvarint(w.ops, uint64(len(w.delta.fresh)-1-c))
		w.delta.contentOf[j] = c
	case contentFresh:
		size := f.Size
		if same >= 0 {
			size -= w.old[same].Size
		}
		w.ops = binary.AppendUvarint(w.ops, signed(size))
		w.known[f.Sum] = len(w.delta.fresh)
		w.delta.contentOf[j] = len(w.delta.fresh)
		w.delta.fresh = append(w.delta.fresh, freshContent{f.Sum, f.Size, j, same, f.Path})
	}
}

// encode is the encoded delta.
func (w *deltaWriter) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(w.ops)))
	b = binary.AppendUvarint(b, uint64(len(w.text)))
	b = append(append(b, w.ops...), w.text...)
	for i := range w.delta.groups {
		b = w.delta.groups[i].append(b)
	}
	return b
}

func (g *setGroup) append(b []byte) []byte {
	flags := byte(0)
	if g.whole {
		flags |= groupWhole
	}
	if len(g.longs) > 0 {
		flags |= groupLong
	}
	b = append(binary.AppendUvarint(b, uint64(g.count)), flags)
	if len(g.longs) > 0 {
		b = binary.AppendUvarint(b, uint64(len(g.longs)))
		last := -1
		for i := range g.longs {
			b = binary.AppendUvarint(b, uint64(g.longs[i].member-last-1))
			b = g.longs[i].append(b)
			last = g.longs[i].member
		}
	}
	if g.whole {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(g.extra)))
	last := -1
	for _, i := range g.extra {
		b = binary.AppendUvarint(b, signed(int64(i-last-1)))
		last = i
	}
	return b
}

// sharedHead is the length of the common prefix of a and b.
func sharedHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// sharedTail is the length of the common suffix of a and b.
func sharedTail[T string | []byte](a, b T) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
