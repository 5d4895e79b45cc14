package delta

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"io"
	"math"

	"collet/netproto/chunk"
	"collet/netproto/release"
)

// Apply reads the rest of the patch and writes the new contents to sink, one after the other. It reads the old files of
// Reads by position, with a few of them open at a time, and streams: memory stays below 64 MB beside the listings. A
// malformed patch is a *release.FormatError, a *PatchError or a *chunk.DamageError; a content with a wrong digest is a
// *ContentError. Errors of the reader, of source and of sink are returned unchanged. It is called once.
//
// Without HasListing, the contents in sink must not be used before Apply has returned nil: their digests are
// computed on the way and verified together at the end.
func (p *SetPatch) Apply(ctx context.Context, source SetSource, sink SetSink) error {
	return p.apply(ctx, source, sink, SetWish{
		Wanted: func(int) bool { return true },
		Failed: func(_, _ int, err error) error { return err },
	})
}

// SetWish selects the contents to apply and handles failures. ApplySome's goroutine calls both functions.
type SetWish struct {
	// Wanted reports whether a content is wanted. A group without wanted contents is skipped; of the others all contents
	// are made.
	Wanted func(content int) bool
	// Failed is called when the group of contents first to first+count-1 can't be made: an old file is missing or
	// differs from the old listing, or the patch is damaged. Contents of it that have ended are valid nevertheless. It
	// returns nil to continue with the next group, or the error that ends ApplySome.
	Failed func(first, count int, err error) error
}

// ApplySome is Apply for clients that already have some of the contents, or lack some of the old files. Groups are
// independent: a failed one affects only its own contents. The patch must have its listing, see HasListing.
func (p *SetPatch) ApplySome(ctx context.Context, source SetSource, sink SetSink, wish SetWish) error {
	if !p.hasListing {
		return errUnknownSums
	}
	return p.apply(ctx, source, sink, wish)
}

// errUnknownSums is a mistake of the caller.
var errUnknownSums = errors.New("a set patch without digests is applied in part only if the new listing is set")

// apply implements Apply and ApplySome. Data behind the groups is an error.
func (p *SetPatch) apply(ctx context.Context, source SetSource, sink SetSink, wish SetWish) (err error) {
	if p.applied {
		panic("delta: internal error: a set patch is applied once")
	}
	p.applied = true
	a := &setApplier{patch: p, r: p.r, files: newSetFiles(source), sink: sink, open: -1}
	defer func() { err = errors.Join(err, a.files.close()) }()
	for g := range p.delta.groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.applyGroup(ctx, g, wish); err != nil {
			return a.r.fault(err)
		}
	}
	if _, err := a.r.buf.ReadByte(); err != io.EOF {
		return a.r.fault(a.r.wrong("goes on behind its end", nil))
	}
	if p.hasListing {
		return nil
	}
	return p.verifyListing()
}

// setApplier is the state of one Apply.
type setApplier struct {
	patch *SetPatch
	r     *input
	files *setFiles
	sink  SetSink

	open int // the content being written, in the stream; -1 for none
	size int64
	sum  hash.Hash
	out  io.Writer
	long *longWriter // of a long content
}

// applyGroup applies one group, if any of it is wanted.
func (a *setApplier) applyGroup(ctx context.Context, g int, wish SetWish) error {
	group, wanted := &a.patch.delta.groups[g], false
	for c := group.first; c < group.first+group.count; c++ {
		wanted = wanted || wish.Wanted(c)
	}
	if group.whole {
		return a.applyWholeGroup(ctx, g, wanted, wish)
	}
	size, last := uint64(math.MaxInt64), g == len(a.patch.delta.groups)-1
	if !last {
		var err error
		if size, err = a.r.number("the size of a patch", release.MaxObject); err != nil {
			return err
		}
	}
	left := &io.LimitedReader{R: a.r, N: int64(size)}
	var err error
	if wanted {
		if err = a.applyPatchGroup(ctx, g, left); err != nil && a.r.err == nil {
			a.open = -1
			err = wish.Failed(group.first, group.count, err)
		}
	}
	if err == nil {
		_, err = io.Copy(io.Discard, left)
	}
	if err == nil && left.N > 0 && !last {
		err = a.r.wrong("is cut off in a patch", nil)
	}
	return err
}

// applyPatchGroup applies the patch of a group.
func (a *setApplier) applyPatchGroup(ctx context.Context, g int, patch io.Reader) error {
	olds, sizes := setOlds(a.patch.delta, g, a.patch.old, a.files), a.sizes(g)
	patch = io.MultiReader(bytes.NewReader(patchHeader(olds, sizes)), patch)
	begin := func(m int) (io.Writer, error) { return a.beginContent(&a.patch.delta.groups[g], m) }
	if err := ApplyPatch(ctx, patch, olds, sizes, begin); err != nil {
		return err
	}
	return a.endContent()
}

// applyWholeGroup applies a group that is no patch, if it is wanted. Only its long contents need old files.
func (a *setApplier) applyWholeGroup(ctx context.Context, g int, wanted bool, wish SetWish) error {
	group, sizes := &a.patch.delta.groups[g], a.sizes(g)
	out := &sink{sizes: sizes, write: func(m int) (io.Writer, error) { return a.beginContent(group, m) }}
	failed := func(err error) error {
		if err == nil || a.r.err != nil {
			return err
		}
		wanted, a.open = false, -1
		return wish.Failed(group.first, group.count, err)
	}
	left := int64(0)
	for _, size := range sizes {
		left += size
	}
	for ; left > 0; left -= min(left, wholePiece) {
		encoding, err := a.r.number("an encoding", 0x7f)
		if err != nil {
			return err
		}
		size, err := a.r.number("the size of an object", 2*wholePiece)
		if err != nil {
			return err
		}
		in := &io.LimitedReader{R: a.r, N: int64(size)}
		if wanted {
			err = failed(chunk.UnpackObject(ctx, out, in, chunk.Encoding(encoding), min(left, wholePiece)))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if err != nil {
			return err
		}
		if in.N > 0 {
			return a.r.wrong("is cut off in an object", nil)
		}
	}
	if !wanted {
		return nil
	}
	err := out.openNext()
	if err == nil {
		err = a.endContent()
	}
	return failed(err)
}

// sizes are the bytes of each content that a group encodes.
func (a *setApplier) sizes(g int) []int64 {
	d := a.patch.delta
	group := &d.groups[g]
	sizes := make([]int64, group.count)
	for m, c := range d.members(g) {
		if sizes[m] = d.fresh[c].size; group.long(m) != nil {
			sizes[m] = group.long(m).left(sizes[m])
		}
	}
	return sizes
}

// setOlds are the old contents of a group's patch: those of its contents in the order of the stream, then the references.
func setOlds(d *setDelta, g int, old release.Listing, files *setFiles) (list []Old) {
	group := &d.groups[g]
	for m := range group.count {
		if l := group.long(m); l != nil {
			rest := newParts(files.reader(l.old), l.oldLeft(old[l.old].Size))
			list = append(list, Old{ReaderAt: rest, Size: rest.size()})
		}
	}
	for _, i := range d.references(g, old) {
		list = append(list, Old{ReaderAt: files.reader(i), Size: old[i].Size})
	}
	return list
}

// beginContent ends the content before and returns the writer of the next one.
func (a *setApplier) beginContent(group *setGroup, member int) (io.Writer, error) {
	if err := a.endContent(); err != nil {
		return nil, err
	}
	out, err := a.sink.Begin(group.first + member)
	if err != nil {
		return nil, err
	}
	a.open, a.size, a.sum, a.out, a.long = group.first+member, 0, release.SHA256.NewHash(), out, nil
	if l := group.long(member); l != nil {
		a.long = newLongWriter((*setOutput)(a), a.files.reader(l.old), l)
		return a.long, nil
	}
	return (*setOutput)(a), nil
}

// setOutput hashes the bytes on their way to the sink.
type setOutput setApplier

func (o *setOutput) Write(b []byte) (int, error) { return release.WriteHashed(o.out.Write, o.sum, b) }

// endContent verifies the open content.
func (a *setApplier) endContent() error {
	if a.open < 0 {
		return nil
	}
	if a.long != nil {
		if err := a.long.writeCopies(); err != nil {
			return err
		}
	}
	c := &a.patch.delta.fresh[a.patch.delta.stream()[a.open]]
	if sum := release.SHA256.SumOf(a.sum); !a.patch.hasListing {
		c.sum = sum
	} else if sum != c.sum {
		return &ContentError{Path: c.path, Want: c.sum}
	}
	open := a.open
	a.open = -1
	return a.sink.End(open)
}
