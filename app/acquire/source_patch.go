package acquire

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// patched fetches the set patch and applies its wanted contents. Contents that it does not produce fail permanently: the patch and the
// old files stay the same.
func (f *fetching) patched(ctx context.Context, list []*blob) error {
	o, _ := f.s.patch()
	if f.s.scratch != nil {
		if err := f.takeScratch(ctx, list); err != nil || slices.ContainsFunc(list, func(c *blob) bool { return len(c.wants) > 0 && !f.copied(c) }) {
			return err
		}
		return f.s.discard(ctx, o)
	}
	content, err := f.s.fetchSpooled(ctx, o, f.patchProgress(o))
	if err == nil {
		err = errors.Join(f.apply(ctx, content), content.Close())
	}
	if err != nil && ends(ctx, err) {
		if mixed(err) {
			f.s.failures[failure{o.Sum, Patched}]++
		}
		return err
	}
	for _, c := range list {
		if len(c.wants) > 0 && f.s.failures[failure{c.sum, Patched}] < maxFailures && !f.copied(c) {
			if err == nil {
				err = errNotInPatch
			}
			f.failed(c, Patched, maxFailures, err)
		}
	}
	return f.s.discard(ctx, o)
}

// discard removes an object from the spool.
func (s *Source) discard(ctx context.Context, o release.Object) error {
	if s.prefetchedBytes(o.Sum) != nil {
		s.keepPrefetched(release.Digest{}, nil)
	}
	spool, err := s.openSpool()
	if err != nil {
		return err
	}
	return spool.Remove(ctx, o.Sum)
}

var errNotInPatch = errors.New("the set patch does not have it")

// copied reports whether a complete file has the content, so that it only has to be copied to other files.
func (f *fetching) copied(c *blob) bool { return len(c.done) > 0 }

// patchProgress returns a callback for the traffic that does not count the bytes that were here before.
func (f *fetching) patchProgress(o release.Object) func(int64) {
	before := f.s.bytesHere(o)
	return func(done int64) { f.reportCarried(max(done-before, 0)) }
}

// apply applies the patch. Failed groups are counted, and the others are applied.
func (f *fetching) apply(ctx context.Context, patch *download.Spooled) error {
	p, err := delta.OpenSetPatch(io.NewSectionReader(patch, 0, patch.Size()), f.s.old, f.s.head.Listing.Sum)
	if err == nil {
		err = p.Know(f.s.listing)
	}
	if err != nil {
		return err
	}
	sink := &patchSink{f: f, contents: p.Contents()}
	old := f.s.oldSet(ctx)
	open := old.open
	old.open = func(file release.File) (delta.SetFile, error) {
		sink.disk.Lock()
		defer sink.disk.Unlock()
		return open(file)
	}
	err = p.ApplySome(ctx, old, sink, delta.SetWish{
		Wanted: func(i int) bool { return len(sink.content(i).wants) > 0 },
		Failed: func(first, count int, err error) error { return sink.failed(ctx, first, count, err) },
	})
	if err == nil || ends(ctx, err) {
		return err
	}
	return errors.Join(err, sink.open.giveUp())
}

// patchSink writes new contents to their wants. Opening old files and delivering new bytes happen concurrently, but the install allows
// one of them at a time: the mutex disk serializes them.
type patchSink struct {
	f        *fetching
	contents []delta.SetContent
	open     *filler
	disk     sync.Mutex
}

// Write implements io.Writer for the content that is open.
func (s *patchSink) Write(p []byte) (int, error) {
	s.disk.Lock()
	defer s.disk.Unlock()
	return s.open.Write(p)
}

// content finds the blob of a content; a content that is not missing has no wants.
func (s *patchSink) content(i int) *blob {
	if c := s.f.byDigest[s.contents[i].Sum]; c != nil {
		return c
	}
	return &blob{sum: s.contents[i].Sum, size: s.contents[i].Size}
}

// Begin implements delta.SetSink.
func (s *patchSink) Begin(i int) (io.Writer, error) {
	s.open = s.f.fill(s.content(i), true)
	return s, nil
}

// End implements delta.SetSink.
func (s *patchSink) End(int) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	open := s.open
	s.open = nil
	err := open.finish()
	if err == nil && open.want >= 0 {
		s.f.s.updateReport(func(r *Report) { r.Bytes[Patched] += open.c.size })
	}
	return err
}

// failed counts the contents of a failed group and restarts the open one.
func (s *patchSink) failed(ctx context.Context, first, count int, err error) error {
	var fault *update.Fault
	if ctx.Err() != nil || errors.As(err, &fault) {
		return err
	}
	for i := first; i < first+count; i++ {
		if c := s.content(i); len(c.wants) > 0 {
			s.f.failed(c, Patched, maxFailures, err)
		}
	}
	open := s.open
	s.open = nil
	return open.giveUp()
}

// oldSet opens files of the installed set.
type oldSet struct {
	files []release.File
	open  func(release.File) (delta.SetFile, error)
}

// Open implements delta.SetSource. If a file is missing or damaged, it tries other files with the same content.
func (o oldSet) Open(i int) (delta.SetFile, error) {
	file, err := o.open(o.files[i])
	for n := 0; errors.Is(err, fs.ErrNotExist) && n < len(o.files); n++ {
		if n != i && o.files[n].Digest == o.files[i].Digest {
			file, err = o.open(o.files[n])
		}
	}
	return file, err
}
