package delta

import (
	"io"

	"collet/netproto/release"
)

// OpenAnySetPatch is OpenSetPatch for whatever listing comes out, so that hostile groups are reached.
func OpenAnySetPatch(patch io.Reader, old release.Listing, to release.Digest) (*SetPatch, error) {
	p := &SetPatch{r: newSetInput(patch), old: old, to: to}
	return p, p.readHeader()
}
