package release

// A head names more than patches in Patches: objects that later programs use. Such an entry has a From that is no listing's digest, but one
// derived from a text. Programs that don't know it pass over it, as over a patch from a set that they don't have. These exist:
//
//	SolidFrom()    the index of the solid form of the set, see package solid
//	ExpandedFrom(listing)    the expanded set patch from the set with a listing, see package deflate

// SolidFrom is the From of the index of the solid form: SHA-256("collet solid 1\n").
func SolidFrom() Digest { return sumOf([]byte("collet solid 1\n")) }

// Solid is the index of the solid form of the head's set.
func (h Head) Solid() (Object, bool) { return h.PatchFrom(SolidFrom()) }

// ExpandedFrom is the From of the expanded set patch from the set with a listing: SHA-256 of "collet expanded 1\n" and the listing's digest
// in hex.
func ExpandedFrom(listing Digest) Digest { return sumOf([]byte("collet expanded 1\n" + listing.Hex())) }

// ExpandedFrom finds the expanded set patch from the set with this listing.
func (h Head) ExpandedFrom(listing Digest) (Object, bool) { return h.PatchFrom(ExpandedFrom(listing)) }

// PatchCount is the number of sets that the head names patches from. An expanded set patch counts only without the usual one.
func (h Head) PatchCount() (n int) {
	expanded := map[Digest]bool{}
	for _, p := range h.Patches {
		expanded[ExpandedFrom(p.From)] = true
	}
	for _, p := range h.Patches {
		if !p.Announces() && !expanded[p.From] {
			n++
		}
	}
	return n
}

// Announces reports whether an entry of Patches is no patch, but announces the solid form.
func (p PatchRef) Announces() bool { return p.From == SolidFrom() }
