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
	"collet/platform/interrupt"
)

// applyPatch fetches the set patch and applies its wanted contents. Contents that it does not produce fail permanently: the patch and the
// old files stay the same.
func (e *executing) applyPatch(ctx context.Context, list []*blob) error {
	o, _ := e.patch(e.failures)
	if e.scratch != nil {
		if err := e.takeScratch(ctx, list); err != nil || slices.ContainsFunc(list, func(b *blob) bool { return len(b.wants) > 0 && len(b.done) == 0 }) {
			return err
		}
		return e.objects.discard(ctx, o)
	}
	return e.fetchAndApply(ctx, o, list, Patched, (&patchSink{e: e, by: Patched}).apply)
}

// fetchAndApply fetches a set patch and applies it. Contents of the list that it does not produce fail.
func (e *executing) fetchAndApply(ctx context.Context, o release.Object, list []*blob, by Strategy, apply func(context.Context, *download.Spooled) error) error {
	before := e.objects.countReceived(o)
	content, err := e.objects.fetchSpooled(ctx, o, func(done int64) { e.progress.reportTraffic(max(done-before, 0)) })
	if err == nil {
		err = errors.Join(apply(ctx, content), content.Close())
	}
	if err != nil && endsFetch(ctx, err) {
		if mixed(err) {
			e.failures.record(o.Sum, by, 1)
		}
		return err
	}
	for _, b := range list {
		if len(b.wants) > 0 && e.failures.may(b.sum, by) && len(b.done) == 0 {
			if err == nil {
				err = errNotInPatch
			}
			e.failed(b, by, maxFailures, err)
		}
	}
	return e.objects.discard(ctx, o)
}

var errNotInPatch = errors.New("the set patch does not have it")

// patchSink writes new contents to their wants. Opening old files and delivering new bytes happen concurrently, but the install allows
// one of them at a time: the mutex disk serializes them.
type patchSink struct {
	e        *executing
	by       Strategy
	contents []delta.SetContent
	open     *filler
	disk     sync.Mutex
}

// apply applies the patch. Failed groups are counted, and the others are applied.
func (s *patchSink) apply(ctx context.Context, patch *download.Spooled) error {
	p, err := delta.OpenSetPatch(io.NewSectionReader(patch, 0, patch.Size()), s.e.old, s.e.head.Listing.Sum)
	if err == nil {
		err = p.SetListing(s.e.listing)
	}
	if err != nil {
		return err
	}
	s.contents = p.Contents()
	return s.end(ctx, p.ApplySome(ctx, s.oldSet(ctx), s, s.wish(ctx)))
}

// oldSet is the installed set, opened while the mutex is held.
func (s *patchSink) oldSet(ctx context.Context) oldSet {
	old := openOldSet(ctx, s.e.o.Disk, s.e.old)
	open := old.open
	old.open = func(file release.File) (delta.SetFile, error) {
		s.disk.Lock()
		defer s.disk.Unlock()
		return open(file)
	}
	return old
}

func (s *patchSink) wish(ctx context.Context) delta.SetWish {
	return delta.SetWish{
		Wanted: func(i int) bool { return len(s.content(i).wants) > 0 },
		Failed: func(first, count int, err error) error { return s.failed(ctx, first, count, err) },
	}
}

// end ends the application of a patch with its error.
func (s *patchSink) end(ctx context.Context, err error) error {
	if err == nil || endsFetch(ctx, err) {
		return err
	}
	return errors.Join(err, s.open.restart())
}

// Write implements io.Writer for the content that is open.
func (s *patchSink) Write(p []byte) (int, error) {
	s.disk.Lock()
	defer s.disk.Unlock()
	return s.open.Write(p)
}

// content finds the blob of a content; a content that is not missing has no wants.
func (s *patchSink) content(i int) *blob {
	if b := s.e.byDigest[s.contents[i].Sum]; b != nil {
		return b
	}
	return &blob{sum: s.contents[i].Sum, size: s.contents[i].Size}
}

// Begin implements delta.SetSink.
func (s *patchSink) Begin(i int) (io.Writer, error) {
	s.open = s.e.fillNext(s.content(i), true)
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
		s.e.progress.countBlob(s.by, open.blob.size)
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
		if b := s.content(i); len(b.wants) > 0 {
			s.e.failed(b, s.by, maxFailures, err)
		}
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	open := s.open
	s.open = nil
	return open.restart()
}

// oldSet opens files of the installed set.
type oldSet struct {
	files []release.File
	open  func(release.File) (delta.SetFile, error)
}

// openOldSet is the installed set as the source of a patch.
func openOldSet(ctx context.Context, disk Disk, old release.Listing) oldSet {
	return oldSet{old.Files(), func(file release.File) (delta.SetFile, error) { return disk.OpenExact(ctx, file) }}
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

// takeScratch fills the next want of each content from the scratch file. Further wants are copied afterwards. A content that turns out
// wrong is left for the patch itself, which is in the spool.
func (e *executing) takeScratch(ctx context.Context, list []*blob) error {
	m, buffer := e.scratch, make([]byte, copyPage)
	for _, b := range list {
		r, found := m.find(b.sum)
		if !found || len(b.wants) == 0 {
			continue
		}
		err := e.stream(ctx, b, Patched, func(w io.Writer) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, interrupt.Reader(ctx, localReader{io.NewSectionReader(m.file, r.Start, r.Len())}), buffer)
			return err
		})
		if err != nil {
			return err
		}
	}
	return e.dropScratch()
}
