package release

import "io"

// OpenAnySetPatch is OpenSetPatch for whatever listing comes out, so that hostile groups are reached.
func OpenAnySetPatch(patch io.Reader, old Listing, to Digest) (*SetPatch, error) {
	p := &SetPatch{r: newSetStream(patch), old: old, to: to}
	return p, p.read()
}
