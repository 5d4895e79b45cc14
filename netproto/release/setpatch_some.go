package release

import (
	"context"
	"errors"
	"io"

	"collet/netproto/chunk"
)

// SetWish says what of a set patch is applied, and what becomes of the rest. Both functions are called by ApplySome's
// goroutine.
type SetWish struct {
	// Wanted reports whether a content is. A group of which no content is wanted is passed over; of the others all contents
	// are made.
	Wanted func(content int) bool
	// Failed is told when the group of contents first to first+count-1 can't be made: an old file is not there, or not what
	// the old listing says, or the patch is damaged. Contents of it that have ended are right all the same. It returns nil to
	// go on with the next group, or the error that ends ApplySome.
	Failed func(first, count int, err error) error
}

// ApplySome is Apply for who has some of the contents already, or not all of the old files. Each group stands for itself:
// one that fails costs its own contents and no others.
func (p *SetPatch) ApplySome(ctx context.Context, source SetSource, sink SetSink, wish SetWish) (err error) {
	if p.r == nil {
		panic("release: internal error: a set patch is applied once")
	}
	a := &setApplier{patch: p, r: p.r, files: newSetFiles(source), sink: sink, open: -1}
	p.r = nil
	defer func() { err = errors.Join(err, a.files.close()) }()
	for g := range p.delta.groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.wished(ctx, g, wish); err != nil {
			return a.r.fault(err)
		}
	}
	return nil
}

// wished applies one group, if it is wanted.
func (a *setApplier) wished(ctx context.Context, g int, wish SetWish) error {
	group, wanted := &a.patch.delta.groups[g], false
	for c := group.first; c < group.first+group.count; c++ {
		wanted = wanted || wish.Wanted(c)
	}
	if group.whole {
		return a.wishedWhole(ctx, g, wanted, wish)
	}
	size, err := a.r.number("the size of a patch", MaxObject)
	if err != nil {
		return err
	}
	left := &io.LimitedReader{R: a.r, N: int64(size)}
	if wanted {
		if err = a.patched(ctx, g, left); err != nil && a.r.err == nil {
			a.open = -1
			err = wish.Failed(group.first, group.count, err)
		}
	}
	if err == nil {
		_, err = io.Copy(io.Discard, left)
	}
	if err == nil && left.N > 0 {
		err = a.r.wrong("is cut off in a patch", nil)
	}
	return err
}

// patched applies the patch of a group.
func (a *setApplier) patched(ctx context.Context, g int, patch io.Reader) error {
	group := &a.patch.delta.groups[g]
	begin := func(m int) (io.Writer, error) { return a.begin(group, m) }
	if err := chunk.ApplyPatch(ctx, patch, a.olds(g, a.patch.old), a.sizes(g), begin); err != nil {
		return err
	}
	return a.end()
}

// wishedWhole applies a group that is no patch, if it is wanted. It fails only where long contents of it need an old file.
func (a *setApplier) wishedWhole(ctx context.Context, g int, wanted bool, wish SetWish) error {
	group, sizes := &a.patch.delta.groups[g], a.sizes(g)
	out := &setSpread{sizes: sizes, begin: func(m int) (io.Writer, error) { return a.begin(group, m) }}
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
	err := out.open()
	if err == nil {
		err = a.end()
	}
	return failed(err)
}

// sizes are how many bytes of each content of a group are in it.
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
