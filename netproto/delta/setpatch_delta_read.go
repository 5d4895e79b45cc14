package delta

import (
	"cmp"
	"errors"
	"fmt"

	"collet/netproto/release"
)

// readDelta turns the old listing into the new one. Files with a new content have no digest yet. An error text continues
// the words "set patch".
func readDelta(raw []byte, old release.Listing) (*setDelta, release.Listing, error) {
	all := &numberParser{b: raw}
	sizeOps, sizeText := all.number("the size of the ops", MaxSetDelta), all.number("the size of the text", MaxSetDelta)
	r := &deltaReader{
		ops: &numberParser{b: all.bytes(sizeOps)}, text: &numberParser{b: all.bytes(sizeText)}, old: old, copied: -1,
		delta: &setDelta{contentOf: map[int]int{}},
	}
	for all.err == nil && r.fault() == nil && len(r.ops.b) > 0 {
		r.readOp()
	}
	if r.keepFiles(int64(len(old) - r.next)); len(r.text.b) > 0 {
		r.ops.fail("has text that no path uses")
	}
	if err := errors.Join(all.err, r.fault()); err != nil {
		return nil, nil, err
	}
	if err := r.delta.readGroups(all, old); err != nil {
		return nil, nil, err
	}
	return r.delta, r.listing, nil
}

// deltaReader decodes ops into the new listing.
type deltaReader struct {
	ops, text *numberParser
	old       release.Listing
	next      int // of the old listing
	copied    int
	delta     *setDelta
	listing   release.Listing
}

func (r *deltaReader) fault() error { return cmp.Or(r.ops.err, r.text.err) }

func (r *deltaReader) addFile(f release.ListedFile) {
	if len(r.listing) >= release.MaxSet {
		r.ops.fail("leads to more than %d files", release.MaxSet)
		return
	}
	r.listing = append(r.listing, f)
}

// keepFiles copies files to the new listing.
func (r *deltaReader) keepFiles(n int64) {
	if n > int64(len(r.old)-r.next) {
		r.ops.fail("keeps more files than there are")
		return
	}
	for range n {
		r.addFile(r.old[r.next])
		r.next++
	}
}

func (r *deltaReader) readOp() {
	r.keepFiles(r.ops.number("a number of files", release.MaxSet))
	kind := r.ops.number("an op", 0x7f)
	content := byte(kind>>2) & 3
	same := -1
	if verb := kind & 3; verb == opRemove || verb == opChange {
		if r.next == len(r.old) {
			r.ops.fail("changes more files than there are")
			return
		}
		same = r.next
		r.next++
		if verb == opRemove {
			if kind != opRemove {
				r.ops.fail("has an op that does not exist")
			}
			return
		}
	}
	if kind&3 == 3 || kind > opMeta|15 || same < 0 && content == contentKept {
		r.ops.fail("has an op that does not exist")
		return
	}
	r.readFile(kind&opMeta != 0, content, same)
}

// readFile decodes the rest of an op that makes a file.
func (r *deltaReader) readFile(meta bool, content byte, same int) {
	f := release.ListedFile{Use: release.UseResource, Mode: release.PlainMode}
	if len(r.listing) > 0 {
		f.Use, f.Mode, f.Path = r.listing[len(r.listing)-1].Use, r.listing[len(r.listing)-1].Mode, r.listing[len(r.listing)-1].Path
	}
	var head, tail, middle int64
	if same >= 0 {
		f.Use, f.Mode, f.Path = r.old[same].Use, r.old[same].Mode, r.old[same].Path
	} else {
		head = r.ops.number("the head of a path", int64(len(f.Path)))
		if content == contentCopy {
			tail = r.ops.number("the tail of a path", release.MaxPath)
		}
		middle = r.ops.number("the middle of a path", release.MaxPath)
	}
	if meta {
		b := r.ops.number("a use", int64(2*len(setUses())-1))
		f.Use, f.Mode = setUses()[b>>1], release.PlainMode
		if b&1 == 1 {
			f.Mode = release.ProgramMode
		}
	}
	from := r.readSource(&f, content, same)
	if same < 0 {
		if tail > int64(len(from)) {
			r.ops.fail("has the tail of a path that is longer than the path")
			return
		}
		f.Path = f.Path[:head] + string(r.text.bytes(middle)) + from[int64(len(from))-tail:]
	}
	if r.fault() == nil {
		if content == contentFresh {
			r.delta.fresh[len(r.delta.fresh)-1].path = f.Path
		}
		r.addFile(f)
	}
}

// readSource decodes the source of the content, and returns the path that it is copied from.
func (r *deltaReader) readSource(f *release.ListedFile, content byte, same int) (from string) {
	switch content {
	case contentKept:
		f.Sum, f.Size = r.old[same].Sum, r.old[same].Size
	case contentCopy:
		i := r.ops.signed("a copy") + int64(r.copied) + 1
		if i < 0 || i >= int64(len(r.old)) {
			r.ops.fail("copies a file that does not exist")
			return ""
		}
		r.copied = int(i)
		f.Sum, f.Size, from = r.old[i].Sum, r.old[i].Size, r.old[i].Path
	case contentAgain:
		c := int64(len(r.delta.fresh)) - 1 - r.ops.number("an earlier content", release.MaxSet)
		if c < 0 {
			r.ops.fail("repeats a content that does not exist")
			return ""
		}
		f.Size = r.delta.fresh[c].size
		r.delta.contentOf[len(r.listing)] = int(c)
	case contentFresh:
		f.Size = r.ops.signed("a size")
		if same >= 0 {
			f.Size += r.old[same].Size
		}
		if f.Size < 0 || f.Size > release.MaxFile {
			r.ops.fail("has a file of %d bytes", f.Size)
			return ""
		}
		r.delta.contentOf[len(r.listing)] = len(r.delta.fresh)
		r.delta.fresh = append(r.delta.fresh, freshContent{size: f.Size, file: len(r.listing), old: same})
	}
	return from
}

// readGroups decodes the last part.
func (d *setDelta) readGroups(in *numberParser, old release.Listing) error {
	copies, references := 0, int64(release.MaxSet)
	for first := 0; in.err == nil && first < len(d.fresh); {
		g := setGroup{first: first, count: int(in.number("the contents of a group", int64(len(d.fresh)-first)))}
		flags := in.number("the flags of a group", groupWhole|groupLong)
		if g.count == 0 || len(d.groups) == maxSetGroups {
			in.fail("has a group without contents, or more than %d groups", maxSetGroups)
			break
		}
		first += g.count
		g.whole = flags&groupWhole != 0
		d.groups = append(d.groups, g)
		if flags&groupLong != 0 {
			copies = d.readLongs(in, len(d.groups)-1, old, copies)
		}
		if !g.whole {
			d.groups[len(d.groups)-1].extra = readExtra(in, len(old), references)
			references -= int64(len(d.groups[len(d.groups)-1].extra))
		}
	}
	if in.err == nil && len(in.b) > 0 {
		return fmt.Errorf("has %d bytes behind its delta", len(in.b))
	}
	return in.err
}

// readExtra decodes the references of a group, at most limit.
func readExtra(in *numberParser, files int, limit int64) (extra []int) {
	last := int64(-1)
	for range in.number("the references of a group", limit) {
		last += in.signed("a reference") + 1
		if last < 0 || last >= int64(files) {
			in.fail("refers to a file that does not exist")
			return nil
		}
		extra = append(extra, int(last))
	}
	return extra
}
