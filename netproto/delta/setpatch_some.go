package delta

import (
	"context"
	"errors"
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
// one that fails costs its own contents and no others. The patch has to be Known.
func (p *SetPatch) ApplySome(ctx context.Context, source SetSource, sink SetSink, wish SetWish) error {
	if !p.known {
		return errUnknownSums
	}
	return p.apply(ctx, source, sink, wish)
}

// errUnknownSums is a mistake of the caller.
var errUnknownSums = errors.New("a set patch without digests is applied in part only by who knows the new listing")
