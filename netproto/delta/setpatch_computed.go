package delta

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"collet/netproto/release"
)

// A set patch of form 2 does not carry the digests of its new contents, since 32 bytes each are nearly half of a release
// that changes a few lines. A client computes them, rebuilds the new listing, and compares its digest with that of the
// head before it uses any of it. So the contents are stored temporarily until all are complete, and the whole patch is
// downloaded before the new set is known. The caps limit both.
const (
	// MaxComputed is the largest size of all new contents of such a patch in bytes: a quarter of a second to apply, and
	// a size that fits on any disk.
	MaxComputed = 32 << 20
	// MaxComputedPatch is the largest size of such a patch in bytes: a second at 8 Mbit/s. Beyond it the digests of even
	// a thousand contents are 3 % of it.
	MaxComputedPatch = 1 << 20
)

// checkCaps checks the caps of a patch without digests.
func (p *SetPatch) checkCaps() error {
	sum := int64(0)
	for _, f := range p.delta.fresh {
		sum += f.size
	}
	if sum > MaxComputed {
		return p.r.wrong(fmt.Sprintf("has no digests of %d bytes of contents, the most is %d", sum, MaxComputed), nil)
	}
	p.hasListing = len(p.delta.fresh) == 0
	return nil
}

// HasListing reports whether the new listing is known: the patch carries digests, was applied, or SetListing was called.
func (p *SetPatch) HasListing() bool { return p.hasListing }

// SetListing gives a set patch the new listing from another source. A patch without digests is then like any other. A listing
// that does not fit the patch is a *release.FormatError.
func (p *SetPatch) SetListing(listing release.Listing) error {
	if got, err := listing.Digest(); err != nil || got != p.to {
		return p.r.wrong("is not for this listing", err)
	}
	if p.hasListing {
		return nil
	}
	if len(listing) != len(p.listing) {
		return p.r.wrong(fmt.Sprintf("leads to %d files, the listing has %d", len(p.listing), len(listing)), nil)
	}
	for i := range p.delta.fresh {
		f := &p.delta.fresh[i]
		f.sum = listing[f.file].Sum
	}
	return p.verifyListing()
}

// verifyListing sets the digests of the new contents in the listing and compares its digest with the head's.
func (p *SetPatch) verifyListing() error {
	list := append(release.Listing(nil), p.listing...)
	for i, c := range p.delta.contentOf {
		list[i].Sum = p.delta.fresh[c].sum
	}
	if got, err := list.Digest(); err != nil || got != p.to {
		return p.r.wrong("does not lead to the listing that the head names", err)
	}
	p.listing, p.hasListing = list, true
	return nil
}

// Damaged returns the old files, by their index in the old listing, that Apply reads and that are missing or differ from the
// old listing. It reads all of them, to tell a damaged file from a damaged patch after a failure. The error is that of ctx.
func (p *SetPatch) Damaged(ctx context.Context, source SetSource) (list []int, err error) {
	for _, i := range p.Reads() {
		right, err := p.intact(ctx, source, i)
		if err != nil {
			return nil, err
		}
		if !right {
			list = append(list, i)
		}
	}
	return list, nil
}

func (p *SetPatch) intact(ctx context.Context, source SetSource, i int) (bool, error) {
	file, err := source.Open(i)
	if err != nil {
		return false, ctx.Err()
	}
	defer file.Close() // it was only read
	sum := release.SHA256.NewHash()
	section, buf := io.NewSectionReader(file, 0, p.old[i].Size+1), make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := section.Read(buf)
		sum.Write(buf[:n])
		if err == io.EOF {
			return release.SHA256.SumOf(sum) == p.old[i].Sum, nil
		}
		if err != nil {
			return false, nil
		}
	}
}

// patchHeader is the header of a group's patch. It is not transferred, because the client can compute it.
func patchHeader(olds []Old, news []int64) []byte {
	var from, to int64
	for _, o := range olds {
		from += o.Size
	}
	for _, n := range news {
		to += n
	}
	b := binary.AppendUvarint([]byte("CP\x01"), uint64(from))
	return binary.AppendUvarint(b, uint64(to))
}
