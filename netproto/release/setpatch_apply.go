package release

import (
	"context"
	"errors"
	"hash"
	"io"

	"collet/netproto/chunk"
)

// Apply reads the rest of the patch and gives the new contents to sink, one after the other. It reads the old files of
// Reads by position, a few open at a time, and streams: memory stays below 64 MB beside the listings. A patch that is not
// in order is a *FormatError, a *chunk.PatchError or a *chunk.DamageError; a content that comes out as something else is a
// *ContentError. Errors of the reader, of source and of sink come back as they are. It is called once.
func (p *SetPatch) Apply(ctx context.Context, source SetSource, sink SetSink) (err error) {
	if p.r == nil {
		panic("release: internal error: a set patch is applied once")
	}
	a := &setApplier{patch: p, r: p.r, files: newSetFiles(source), sink: sink, open: -1}
	p.r = nil
	defer func() { err = errors.Join(err, a.files.close()) }()
	for g := range p.delta.groups {
		if err := a.group(ctx, g); err != nil {
			return a.r.fault(err)
		}
	}
	if _, err := a.r.buf.ReadByte(); err != io.EOF {
		return a.r.fault(a.r.wrong("goes on behind its end", nil))
	}
	return nil
}

// setApplier is the work of one Apply.
type setApplier struct {
	patch *SetPatch
	r     *setStream
	files *setFiles
	sink  SetSink

	open   int // the content that is being written, in the stream; -1 for none
	size   int64
	sum    hash.Hash
	out    io.Writer
	weaver *weaver // of a long content
}

// group applies one group.
func (a *setApplier) group(ctx context.Context, g int) error {
	d, old := a.patch.delta, a.patch.old
	group := &d.groups[g]
	sizes := make([]int64, group.count)
	for m, c := range d.members(g) {
		if sizes[m] = d.fresh[c].size; group.long(m) != nil {
			sizes[m] = group.long(m).left(sizes[m])
		}
	}
	begin := func(m int) (io.Writer, error) { return a.begin(group, m) }
	var err error
	if group.whole {
		err = a.whole(ctx, sizes, begin)
	} else {
		var size uint64
		if size, err = a.r.number("the size of a patch", MaxObject); err != nil {
			return err
		}
		left := &io.LimitedReader{R: a.r, N: int64(size)}
		if err = chunk.ApplyPatch(ctx, left, a.olds(g, old), sizes, begin); err == nil && left.N > 0 {
			err = a.r.wrong("has a patch that ends too early", nil)
		}
	}
	if err != nil {
		return err
	}
	return a.end()
}

// olds are the old contents of a group's patch.
func (a *setApplier) olds(g int, old Listing) []chunk.Old {
	return setOlds(a.patch.delta, g, old, a.files)
}

// setOlds are the old contents of a group's patch: those of its contents in the order of the stream, then the references.
func setOlds(d *setDelta, g int, old Listing, files *setFiles) (list []chunk.Old) {
	group := &d.groups[g]
	for m := range group.count {
		if l := group.long(m); l != nil {
			rest := newParts(files.file(l.old), l.oldLeft(old[l.old].Size))
			list = append(list, chunk.Old{ReaderAt: rest, Size: rest.size()})
		}
	}
	for _, i := range d.references(g, old) {
		list = append(list, chunk.Old{ReaderAt: files.file(i), Size: old[i].Size})
	}
	return list
}

// begin ends the content before and gives the writer of the next one.
func (a *setApplier) begin(group *setGroup, member int) (io.Writer, error) {
	if err := a.end(); err != nil {
		return nil, err
	}
	out, err := a.sink.Begin(group.first + member)
	if err != nil {
		return nil, err
	}
	a.open, a.size, a.sum, a.out, a.weaver = group.first+member, 0, SHA256.NewHash(), out, nil
	if l := group.long(member); l != nil {
		a.weaver = newWeaver((*setOutput)(a), a.files.file(l.old), l)
		return a.weaver, nil
	}
	return (*setOutput)(a), nil
}

// setOutput hashes what goes to the sink.
type setOutput setApplier

func (o *setOutput) Write(b []byte) (int, error) {
	n, err := o.out.Write(b)
	o.sum.Write(b[:n])
	return n, err
}

// end checks the content that is open.
func (a *setApplier) end() error {
	if a.open < 0 {
		return nil
	}
	if a.weaver != nil {
		if err := a.weaver.copies(); err != nil {
			return err
		}
	}
	c := a.patch.delta.fresh[a.patch.delta.stream()[a.open]]
	if SHA256.SumOf(a.sum) != c.sum {
		return &ContentError{Path: c.path, Want: c.sum}
	}
	open := a.open
	a.open = -1
	return a.sink.End(open)
}

// whole reads a group that is no patch.
func (a *setApplier) whole(ctx context.Context, sizes []int64, begin func(int) (io.Writer, error)) error {
	out := &setSpread{sizes: sizes, begin: begin}
	left := int64(0)
	for _, s := range sizes {
		left += s
	}
	for left > 0 {
		piece := min(left, wholePiece)
		encoding, err := a.r.number("an encoding", 0x7f)
		if err != nil {
			return err
		}
		size, err := a.r.number("the size of an object", 2*wholePiece)
		if err != nil {
			return err
		}
		in := &io.LimitedReader{R: a.r, N: int64(size)}
		if err := chunk.UnpackObject(ctx, out, in, chunk.Encoding(encoding), piece); err != nil {
			return err
		}
		left -= piece
	}
	return out.open()
}

// setSpread spreads bytes over the contents of a whole group.
type setSpread struct {
	sizes []int64
	begin func(int) (io.Writer, error)
	next  int
	left  int64
	out   io.Writer
}

// open goes on to the next content that has bytes to come, through empty ones.
func (s *setSpread) open() (err error) {
	for s.left == 0 && s.next < len(s.sizes) && err == nil {
		s.left = s.sizes[s.next]
		s.out, err = s.begin(s.next)
		s.next++
	}
	return err
}

func (s *setSpread) Write(b []byte) (n int, err error) {
	for n < len(b) {
		if err := s.open(); err != nil {
			return n, err
		}
		got, err := s.out.Write(b[n:][:min(int64(len(b)-n), s.left)])
		if n, s.left = n+got, s.left-int64(got); err != nil {
			return n, err
		}
	}
	return n, nil
}
