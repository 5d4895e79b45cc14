package acquire

import (
	"context"
	"errors"
	"io"

	"collet/app/download"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/span"
)

const (
	// smallPatch is the size in bytes up to which a set patch is fetched whole for the listing at its beginning: a small release
	// then costs one round trip.
	smallPatch = delta.MaxComputedPatch
	// firstWindow is the size of the first read of a larger patch for its listing, in bytes. Each further read is twice as large,
	// at most lastWindow.
	firstWindow = 32 << 10
	lastWindow  = 4 << 20
)

// findListing gets the listing of the head: from memory, from the beginning of a set patch, from the delta index, or from its own
// object, whichever is smallest. It is verified by the digest in the head.
func (s *Source) findListing(ctx context.Context) error {
	if s.head.Listing.Sum == s.installed.Listing.Sum {
		s.listing = s.old
		return nil
	}
	if list := s.memory.listing(installedRelease{Listing: object{s.head.Listing.Sum, s.head.Listing.Size}}); list != nil {
		s.listing = list
		return nil
	}
	patch, found := s.patch()
	if found && (patch.Size <= smallPatch || s.head.Listing.Object.Size > firstWindow) {
		list, err := s.listingOfPatch(ctx, patch)
		if err == nil || ctx.Err() != nil {
			s.listing = list
			return err
		}
		s.o.Log.Warn().Err(err).Msg("the set patch does not give the listing; it is fetched by itself")
		if local := (*localError)(nil); !errors.As(err, &local) {
			s.failures[failure{patch.Sum, Patched}]++
		}
	}
	if !s.following().brings(ctx, s.head.Listing.Object.Path()) {
		if near, err := s.fetchDeltaIndex(ctx); near != nil || err != nil {
			if near != nil {
				s.listing = near.listing
			}
			return err
		}
	}
	data, err := s.fetchBytes(ctx, s.head.Listing.Object)
	if err == nil {
		s.listing, err = release.UnpackListing(data, s.head.Listing)
	}
	return err
}

// patch is the set patch for the installed release.
func (s *Source) patch() (release.Object, bool) {
	if s.old == nil {
		return release.Object{}, false
	}
	o, found := s.head.PatchFrom(s.installed.Listing.Sum)
	return o, found && s.failures[failure{o.Sum, Patched}] < maxFailures
}

func (s *Source) listingOfPatch(ctx context.Context, o release.Object) (release.Listing, error) {
	if o.Size > smallPatch {
		get := func(r download.Range) ([]byte, error) { return s.fetchPiece(ctx, o, r) }
		return s.listingOf(ctx, &windows{size: o.Size, next: firstWindow, get: get}, o.Size)
	}
	content, err := s.fetchSpooled(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	list, err := s.listingOf(ctx, io.NewSectionReader(content, 0, content.Size()), o.Size)
	closed := content.Close() // an error does not matter after reading
	if local := (*localError)(nil); err == nil || ends(ctx, err) || errors.As(err, &local) {
		return list, err
	}
	s.failures[failure{o.Sum, Patched}] = maxFailures // the object is the one in the head, so the failure is permanent
	return nil, errors.Join(err, closed, s.discard(ctx, o))
}

// listingOf reads the new listing from a set patch, or computes it.
func (s *Source) listingOf(ctx context.Context, patch io.Reader, size int64) (release.Listing, error) {
	p, err := delta.OpenSetPatch(patch, s.old, s.head.Listing.Sum)
	if err != nil {
		return nil, err
	}
	if !p.Known() {
		return s.compute(ctx, p, size)
	}
	return p.Listing(), nil
}

// fetchSpooled fetches an object and opens it: from memory, from the sequel, or from the spool.
func (s *Source) fetchSpooled(ctx context.Context, o release.Object, progress func(done int64)) (*download.Spooled, error) {
	if data := s.prefetchedBytes(o.Sum); data != nil {
		return download.InMemory(data), nil
	}
	if data, is := s.following().take(ctx, o.Path(), progress); is {
		if o.Verify(data) == nil {
			s.keepPrefetched(o.Sum, data) // it is needed twice: for the listing, and for the contents
			return download.InMemory(data), nil
		}
		s.o.Log.Warn().Stringer("object", o.Sum).Msg("what came with the sequel is not right; it is asked for by its name")
	}
	if data := s.small.Verified(o); data != nil {
		s.keepPrefetched(o.Sum, data)
		return download.InMemory(data), nil
	}
	spool, err := s.openSpool()
	if err != nil {
		return nil, err
	}
	if here, _ := s.small.Prefix(o.Path(), o.Size); len(here) > 0 {
		if err := spool.Seed(ctx, o.Sum, o.Size, here); err != nil {
			return nil, err
		}
		s.small.Drop(o.Path())
	}
	if err := s.fetcher.Whole(ctx, download.ObjectAt(o), spool, progress); err != nil {
		return nil, err
	}
	return spool.Open(ctx, o.Sum)
}

// fetchBytes fetches a small object into memory. If that fails or the bytes are wrong, it is fetched again from all mirrors through the
// spool.
func (s *Source) fetchBytes(ctx context.Context, o release.Object) ([]byte, error) {
	u, err := s.resuming().Fetch(ctx, o.Path(), o.Size)
	if err == nil {
		var data []byte
		var wrong *release.ObjectError
		if data, err = u.Verify(o); err == nil || !errors.As(err, &wrong) {
			return data, err
		}
		s.small.Drop(o.Path())
	}
	if ctx.Err() != nil {
		return nil, err
	}
	content, err := s.fetchSpooled(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	data := make([]byte, content.Size())
	_, err = content.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data, errors.Join(err, content.Close(), s.discard(ctx, o))
}

// windows reads an object from its start on demand, in growing pieces. The bytes are unverified.
type windows struct {
	get  func(download.Range) ([]byte, error)
	size int64
	at   int64
	next int64
	data []byte
}

func (w *windows) Read(p []byte) (int, error) {
	if len(w.data) == 0 {
		if w.at == w.size {
			return 0, io.EOF
		}
		piece := span.Of(w.at, min(w.at+w.next, w.size))
		data, err := w.get(piece)
		if err != nil {
			return 0, err
		}
		w.data, w.at, w.next = data, piece.End, min(2*w.next, lastWindow)
	}
	n := copy(p, w.data)
	w.data = w.data[n:]
	return n, nil
}
