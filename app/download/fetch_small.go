package download

import (
	"context"

	"collet/platform/span"
)

// Small fetches a whole file of at most limit bytes into memory that the caller owns. The bytes are unverified. They come from one
// mirror, from the file's start. If a mirror does not have a metadata file, the others are not asked, because each check requests one
// that does not exist yet; for any other file they are. The error is a *MissingError, an *ExhaustedError, ctx's, or ErrClosed.
//
// Bytes in kept are not fetched again, and received bytes are kept there; nil keeps nothing. If no mirror delivers the rest of a partly
// kept file, the whole file is fetched again.
func (f *Fetcher) Small(ctx context.Context, name string, limit int64, kept *Pieces) ([]byte, error) {
	here, whole := kept.Prefix(name, limit)
	if whole {
		return here, nil
	}
	data, err := f.fetchRest(ctx, name, limit, here, kept)
	if err != nil && len(here) > 0 && ctx.Err() == nil {
		kept.Drop(name)
		return f.fetchRest(ctx, name, limit, nil, kept)
	}
	return data, err
}

// fetchRest fetches a small file whose first bytes are already here.
func (f *Fetcher) fetchRest(ctx context.Context, name string, limit int64, here []byte, kept *Pieces) ([]byte, error) {
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	file := &smallFile{name: name, data: here, kept: kept}
	s := f.newScheduler(Object{Name: name, Size: -1}, limit, file)
	s.stream, s.small = true, true
	s.pending = []Range{span.Of(int64(len(here)), openEnd)}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return file.data, nil
}

// smallFile is the sink of a small file.
type smallFile struct {
	name string
	data []byte
	kept *Pieces
}

func (f *smallFile) write(_ context.Context, _ *rankedMirror, at int64, data []byte) error {
	f.data = append(f.data, data...)
	f.kept.Add(f.name, -1, at, data)
	return nil
}

func (f *smallFile) restart(at int64) { f.data = f.data[:at] }

func (*smallFile) advance(context.Context) error { return nil }
func (*smallFile) fits(int64, int64) bool        { return true }
func (*smallFile) setSize(int64)                 {}
