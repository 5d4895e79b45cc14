package release

// A head names more than patches in Patches: objects that later programs use. Such an entry has a From that is no listing's digest, but one
// derived from a text. Programs that don't know it pass over it, as over a patch from a set that they don't have. These exist:
//
//	SolidFrom()    the index of the solid form of the set, see package solid

// SolidFrom is the From of the index of the solid form: SHA-256("collet solid 1\n").
func SolidFrom() Digest { return sumOf([]byte("collet solid 1\n")) }

// Solid is the index of the solid form of the head's set.
func (h Head) Solid() (Object, bool) { return h.PatchFrom(SolidFrom()) }
