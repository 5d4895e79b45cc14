package acquire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"collet/app/download"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/span"
)

// scratchFileName has the contents that a set patch without digests made, until they are copied to the install. It is never synced. A
// leftover of an earlier process is removed at the next start: the patch is in the spool, and applying it again takes less than a
// second.
const scratchFileName = "made" + release.UnverifiedSuffix

// copyPage is how many bytes are copied at once.
const copyPage = 256 << 10

// scratchFile has the new contents of a set patch, concatenated in a file. It is their delta.SetSink. Once the listing has verified the
// contents, find returns the range of each.
type scratchFile struct {
	fs   platform.FS
	name string
	file platform.File
	out  *bufio.Writer
	list []delta.SetContent
	ends []int64
	at   map[release.Digest]download.Range // set once the contents are verified
}

// openScratch creates the scratch file for contents, in place of the one before.
func (s *Source) openScratch(list []delta.SetContent) (*scratchFile, error) {
	m := &scratchFile{fs: s.o.FS, name: path.Join(s.o.Folder, scratchFileName), list: list}
	end := int64(0)
	for _, c := range list {
		end += c.Size
		m.ends = append(m.ends, end)
	}
	var err error
	if m.file, err = m.fs.OpenFile(m.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return nil, err
	}
	m.out = bufio.NewWriterSize(m.file, copyPage)
	return m, nil
}

// Begin implements delta.SetSink. Contents arrive in order and with their sizes, so each follows the one before.
func (m *scratchFile) Begin(int) (io.Writer, error) { return m.out, nil }

// End implements delta.SetSink.
func (m *scratchFile) End(int) error { return nil }

// right records the ranges of verified contents by their digests.
func (m *scratchFile) right(list []delta.SetContent) error {
	m.at = map[release.Digest]download.Range{}
	for i, c := range list {
		m.at[c.Sum] = span.Of(m.ends[i]-c.Size, m.ends[i])
	}
	return m.out.Flush()
}

// find returns the range of a content. A nil scratch file is empty.
func (m *scratchFile) find(sum release.Digest) (download.Range, bool) {
	if m == nil {
		return download.Range{}, false
	}
	r, found := m.at[sum]
	return r, found
}

// drop removes the file.
func (m *scratchFile) drop() error {
	if m == nil {
		return nil
	}
	return errors.Join(m.file.Close(), platform.RemoveIfThere(m.fs, m.name))
}

// localError says that a set patch could not be applied because of this machine: the disk is full, or an old file is damaged. The patch
// may be good, and is kept.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// compute applies a set patch without digests to the scratch file, and returns the resulting listing.
func (s *Source) compute(ctx context.Context, p *delta.SetPatch, size int64) (release.Listing, error) {
	if size > delta.MaxComputedPatch {
		return nil, fmt.Errorf("a set patch of %d bytes has no digests; at most %d may do without", size, delta.MaxComputedPatch)
	}
	if err := s.dropScratch(); err != nil {
		return nil, &localError{err}
	}
	list, room := p.Contents(), int64(download.SpareRoom)
	for _, c := range list {
		room += 2 * c.Size // in the scratch file, and as parts in the install
	}
	if free, err := s.o.FS.Free(); err == nil && free < uint64(room) {
		return nil, &localError{fmt.Errorf("%d bytes are free in %s, and %d are needed", free, s.o.FS.Path("."), room)}
	}
	m, err := s.openScratch(list)
	if err != nil {
		return nil, &localError{err}
	}
	if err = p.Apply(ctx, s.oldSet(ctx), m); err == nil {
		err = m.right(p.Contents())
	}
	if err == nil {
		s.scratch = m
		return p.Listing(), nil
	}
	return nil, errors.Join(s.blamed(ctx, p, err), m.drop())
}

// blamed returns a localError if a patch failed because of this machine, else err.
func (s *Source) blamed(ctx context.Context, p *delta.SetPatch, err error) error {
	if ends(ctx, err) {
		return &localError{err}
	}
	damaged, ended := p.Damaged(ctx, s.oldSet(ctx))
	switch {
	case ended != nil:
		return ended
	case len(damaged) > 0:
		return &localError{fmt.Errorf("%q and %d more files are not what was installed: %w", s.old[damaged[0]].Path, len(damaged)-1, err)}
	default:
		return err
	}
}

// oldSet is the installed set as the source of a patch.
func (s *Source) oldSet(ctx context.Context) oldSet {
	return oldSet{s.old.Files(), func(file release.File) (delta.SetFile, error) { return s.o.Disk.Old(ctx, file) }}
}

// dropScratch removes the scratch file.
func (s *Source) dropScratch() error {
	err := s.scratch.drop()
	s.scratch = nil
	return err
}

// takeScratch fills the next want of each content from the scratch file. Further wants are copied afterwards. A content that turns out
// wrong is left for the patch itself, which is in the spool.
func (f *fetching) takeScratch(ctx context.Context, list []*blob) error {
	m, buffer := f.s.scratch, make([]byte, copyPage)
	for _, c := range list {
		r, found := m.find(c.sum)
		if !found || len(c.wants) == 0 {
			continue
		}
		err := f.stream(ctx, c, Patched, func(w io.Writer) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, interrupt.Reader(ctx, localReader{io.NewSectionReader(m.file, r.Start, r.Len())}), buffer)
			return err
		})
		if err != nil {
			return err
		}
	}
	return f.s.dropScratch()
}
