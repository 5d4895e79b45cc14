package acquire

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// objectStore fetches the documents, lists and objects of a release, and keeps what was received: in memory, as pieces of small files,
// and in the spool. A file that comes with the sequel is not requested. Fetch calls open before it starts workers; then the store is
// safe for concurrent use.
type objectStore struct {
	fs      platform.FS
	folder  string
	log     zerolog.Logger
	mirrors *mirrorPool
	small   *download.Pieces // received pieces of small files
	spool   *download.Spool  // nil before open

	mu         sync.Mutex
	sequel     *sequel      // the sequel to the installed release, from one of the mirrors
	prefetched memoryObject // the verified set patch that came with a sequel
}

// memoryObject is an object in memory; the zero value is none.
type memoryObject struct {
	sum  release.Digest
	data []byte
}

// openSpool opens the spool, once.
func (s *objectStore) openSpool() (err error) {
	if s.spool == nil {
		s.spool, err = download.OpenSpool(s.fs, path.Join(s.folder, spoolFolder), download.SpoolOptions{Log: s.log})
	}
	return err
}

// close closes the files of the store.
func (s *objectStore) close() error {
	err := s.small.Close()
	if s.spool != nil {
		err = errors.Join(err, s.spool.Close())
	}
	return err
}

// setSequel replaces the sequel and closes the one before.
func (s *objectStore) setSequel(next *sequel) {
	s.mu.Lock()
	before := s.sequel
	s.sequel = next
	s.mu.Unlock()
	before.close()
}

// currentSequel is the current sequel, or nil.
func (s *objectStore) currentSequel() *sequel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sequel
}

// keepPrefetched keeps an object in memory, in place of the one before.
func (s *objectStore) keepPrefetched(sum release.Digest, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefetched = memoryObject{sum, data}
}

// prefetchedBytes is the content of the object that keepPrefetched keeps; nil for another one.
func (s *objectStore) prefetchedBytes(sum release.Digest) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefetched.sum != sum {
		return nil
	}
	return s.prefetched.data
}

// countReceived is how many bytes of an object were received already.
func (s *objectStore) countReceived(o release.Object) int64 {
	if s.prefetchedBytes(o.Sum) != nil {
		return o.Size
	}
	small, _ := s.small.Prefix(o.Path(), o.Size)
	return max(int64(len(small)), s.spool.Have(o.Sum, o.Size))
}

// fetchRange fetches a range of an object into memory. It is unverified.
func (s *objectStore) fetchRange(ctx context.Context, o release.Object, r download.Range) (data []byte, err error) {
	err = s.mirrors.current().Ranges(ctx, download.ObjectAt(o), []download.Range{r}, s.small, func(_ int, _ int64, piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	return data, err
}

// fetchSpooled fetches an object and opens it: from memory, from the sequel, or from the spool.
func (s *objectStore) fetchSpooled(ctx context.Context, o release.Object, progress func(done int64)) (*download.Spooled, error) {
	return s.fetchArriving(ctx, o, nil, progress)
}

// fetchArriving is fetchSpooled for a caller that reads the object while it arrives, see download.Object.Arrived.
func (s *objectStore) fetchArriving(ctx context.Context, o release.Object, arrived func(from io.ReaderAt, n int64), progress func(done int64)) (*download.Spooled, error) {
	if data := s.prefetchedBytes(o.Sum); data != nil {
		return download.InMemory(data), nil
	}
	if data, is := s.currentSequel().takePart(ctx, o.Path(), progress); is {
		if o.Verify(data) == nil {
			s.keepPrefetched(o.Sum, data) // it is needed twice: for the listing, and for the contents
			return download.InMemory(data), nil
		}
		s.log.Warn().Stringer("object", o.Sum).Msg("an object in the sequel is wrong; it is requested by name")
	}
	if data := s.small.Verified(o); data != nil {
		s.keepPrefetched(o.Sum, data)
		return download.InMemory(data), nil
	}
	if err := s.openSpool(); err != nil {
		return nil, err
	}
	if here, _ := s.small.Prefix(o.Path(), o.Size); len(here) > 0 {
		if err := s.spool.Seed(ctx, o.Sum, o.Size, here); err != nil {
			return nil, err
		}
		s.small.Drop(o.Path())
	}
	object := download.ObjectAt(o)
	object.Arrived = arrived
	if err := s.mirrors.current().Whole(ctx, object, s.spool, progress); err != nil {
		return nil, err
	}
	return s.spool.Open(ctx, o.Sum)
}

// fetchBytes fetches a small object into memory. If that fails or the bytes are wrong, it is fetched again from all mirrors through the
// spool.
func (s *objectStore) fetchBytes(ctx context.Context, o release.Object) ([]byte, error) {
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

// fetchListing fetches the object of a listing.
func (s *objectStore) fetchListing(ctx context.Context, p release.Packed) (release.Listing, error) {
	data, err := s.fetchBytes(ctx, p.Object)
	if err != nil {
		return nil, err
	}
	return release.UnpackListing(data, p)
}

// discard removes a received object.
func (s *objectStore) discard(ctx context.Context, o release.Object) error {
	if s.prefetchedBytes(o.Sum) != nil {
		s.keepPrefetched(release.Digest{}, nil)
	}
	if err := s.openSpool(); err != nil {
		return err
	}
	return s.spool.Remove(ctx, o.Sum)
}

// dropRejected drops the kept pieces if the error rejects a document that may have come from them or from the sequel. Only then it returns
// true, and the caller repeats the request. Each part of the sequel is returned once, so a repetition fetches the files themselves.
func (s *objectStore) dropRejected(err error) bool {
	var lie *trust.Error
	if !errors.As(err, &lie) || !s.currentSequel().wasUsed() && !s.small.Used() {
		return false
	}
	s.small.Clear()
	s.log.Warn().Err(err).Msg("a document from the sequel or from kept pieces is rejected; it is requested by name")
	return true
}

// resuming is the fetcher for documents, lists and small objects.
func (s *objectStore) resuming() trust.Fetcher {
	return documents{s.mirrors.current(), s.small, s.currentSequel()}
}

// direct is the fetcher of documents from the mirrors alone.
func (s *objectStore) direct() documents { return documents{Fetcher: s.mirrors.current()} }

// documents is a trust.Fetcher that takes files from the sequel first, then from kept pieces, and keeps the bytes that it fetches. Both
// may be nil.
type documents struct {
	*download.Fetcher
	small  *download.Pieces
	sequel *sequel
}

// Fetch implements trust.Fetcher.
func (d documents) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	if !inSequel(name) {
		return unverified(d.Small(ctx, name, limit, nil))
	}
	if data, is := d.sequel.takePart(ctx, name, nil); is && int64(len(data)) <= limit {
		return trust.UnverifiedBytes(data), nil
	}
	return unverified(d.Small(ctx, name, limit, d.small))
}

// unverified converts a result of Small to one of a trust.Fetcher.
func unverified(data []byte, err error) (trust.Unverified, error) {
	var wrong *download.WrongError
	if errors.As(err, &wrong) && wrong.Kind == download.WrongLong {
		err = errors.Join(trust.ErrTooLong, err)
	}
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.UnverifiedBytes(data), nil
}

// inSequel reports whether a file may be part of a sequel: all but the timestamp and the roots, which are requested beside it.
func inSequel(name string) bool {
	return !strings.HasSuffix(name, "/timestamp.json") && !strings.HasSuffix(name, ".root.json")
}
