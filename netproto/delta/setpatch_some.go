package delta

import (
	"context"
	"errors"
)

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
// independent: a failed one affects only its own contents. The patch has to be Known.
func (p *SetPatch) ApplySome(ctx context.Context, source SetSource, sink SetSink, wish SetWish) error {
	if !p.known {
		return errUnknownSums
	}
	return p.apply(ctx, source, sink, wish)
}

// errUnknownSums is a mistake of the caller.
var errUnknownSums = errors.New("a set patch without digests is applied in part only by who knows the new listing")
