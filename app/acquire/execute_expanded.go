package acquire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"collet/app/download"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/platform"
)

// formFolder has the forms of deflated files while an expanded set patch is applied. They are never synced. Leftovers of an earlier process
// are removed at the next start: the patch is in the spool, and the forms are made again.
const formFolder = "expanded"

// expansion is what the beginning of an expanded set patch says.
type expansion struct {
	rebuilt map[release.Digest]deflate.Rebuilt // of each content that it makes
	work    deflate.Work
}

func expansionOf(p *deflate.Patch) *expansion {
	return &expansion{rebuilt: p.Rebuilt(), work: p.Work()}
}

// find reports whether a content is made, and from which form. A nil expansion makes none.
func (x *expansion) find(sum release.Digest) (r deflate.Rebuilt, made bool) {
	if x != nil {
		r, made = x.rebuilt[sum]
	}
	return r, made
}

// measured is how fast this machine inflates and deflates. It is measured once, when it is needed first.
func (r *resources) measured() Rates {
	if r.rates == (Rates{}) {
		inflated, deflated, err := deflate.MeasureRates(time.Now)
		if err != nil {
			return Rates{} // the usual ones
		}
		cores := float64(runtime.GOMAXPROCS(0))
		r.rates = Rates{Inflate: inflated * cores, Deflate: deflated * cores}
		r.o.Log.Debug().Float64("inflate", r.rates.Inflate).Float64("deflate", r.rates.Deflate).Msg("processing rates measured, in bytes a second")
	}
	return r.rates
}

// expanded is the expanded set patch for the installed release, unless it has failed too often.
func (c connected) expanded(failed failures) (release.Object, bool) {
	if c.old == nil {
		return release.Object{}, false
	}
	o, found := c.head.ExpandedFrom(c.installed.Listing.Sum)
	return o, found && failed.may(o.Sum, Expanded)
}

// openExpanded reads the beginning of an expanded set patch. A small one is fetched whole. A failure is counted.
func (r *resources) openExpanded(ctx context.Context, o release.Object, c connected) (p *deflate.Patch, err error) {
	if o.Size > smallPatch {
		get := func(part download.Range) ([]byte, error) { return r.objects.fetchRange(ctx, o, part) }
		p, err = deflate.OpenPatch(&windows{size: o.Size, next: firstWindow, get: get}, c.old, c.head.Listing.Sum)
	} else {
		var content *download.Spooled
		if content, err = r.objects.fetchSpooled(ctx, o, nil); err == nil {
			p, err = deflate.OpenPatch(io.NewSectionReader(content, 0, content.Size()), c.old, c.head.Listing.Sum)
			err = errors.Join(err, content.Close())
		}
	}
	if err == nil || ctx.Err() != nil {
		return p, err
	}
	r.o.Log.Warn().Err(err).Msg("the expanded set patch can't be read; another strategy is used")
	if endsFetch(ctx, err) {
		r.failures.record(o.Sum, Expanded, 1)
	} else {
		r.failures.record(o.Sum, Expanded, maxFailures) // the object is the one in the head, so the failure is permanent
	}
	return nil, err
}

// readExpansion reads the beginning of the expanded set patch, if the listing came from elsewhere and a content is missing. The error is that
// of ctx.
func (p *planning) readExpansion(ctx context.Context) error {
	o, found := p.expanded(p.failures)
	if !found || p.expansion != nil || p.renewing {
		return nil
	}
	for _, b := range p.blobs {
		if len(b.wants) > 0 && len(b.done) == 0 {
			patch, err := p.openExpanded(ctx, o, p.connected)
			if err == nil {
				p.expansion = expansionOf(patch)
			}
			return ctx.Err()
		}
	}
	return nil
}

// checkExpandedRoom checks whether free bytes are enough for the expanded set patch and its forms beside the parts.
func (p *planning) checkExpandedRoom(free uint64, parts int64) {
	o, found := p.expanded(p.failures)
	if !found || p.expansion == nil {
		return
	}
	need := parts + o.Size - p.objects.countReceived(o) + p.expansion.work.Scratch
	if p.roomy = free >= uint64(need); !p.roomy {
		p.o.Log.Warn().Int64("need", need).Uint64("free", free).Str("folder", p.o.FS.Path(".")).
			Msg("there is no room for the expanded patch; more is fetched in its place")
	}
}

// applyExpanded fetches the expanded set patch and applies its wanted contents.
func (e *executing) applyExpanded(ctx context.Context, list []*blob) error {
	o, _ := e.expanded(e.failures)
	return e.fetchAndApply(ctx, o, list, Expanded, (&patchSink{e: e, by: Expanded}).applyExpanded)
}

// applyExpanded applies an expanded set patch. Failed contents are counted, and the others are made.
func (s *patchSink) applyExpanded(ctx context.Context, patch *download.Spooled) error {
	p, err := deflate.OpenPatch(io.NewSectionReader(patch, 0, patch.Size()), s.e.old, s.e.head.Listing.Sum)
	if err != nil {
		return err
	}
	s.contents = p.Contents()
	forms := &formFiles{fs: s.e.o.FS, folder: path.Join(s.e.o.Folder, formFolder)}
	if err := forms.fs.MkdirAll(forms.folder, 0o755); err != nil {
		return err
	}
	err = s.end(ctx, p.ApplySome(ctx, s.oldSet(ctx), forms, s, s.wish(ctx)))
	if removed := platform.RemoveFolder(forms.fs, forms.folder, nil); err == nil {
		err = removed
	}
	return err
}

// formFiles makes files for forms in a folder. It is safe for concurrent use.
type formFiles struct {
	fs     platform.FS
	folder string
	count  atomic.Int64
}

// Create implements deflate.Scratch.
func (f *formFiles) Create() (deflate.ScratchFile, error) {
	file, err := f.create()
	if err != nil {
		return nil, err // no file in an interface would be one that is not nil
	}
	return file, nil
}

func (f *formFiles) create() (*formFile, error) {
	name := path.Join(f.folder, strconv.FormatInt(f.count.Add(1), 10)+release.UnverifiedSuffix)
	file, err := f.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &formFile{fs: f.fs, name: name, file: file, out: bufio.NewWriterSize(file, copyPage)}, nil
}

// formFile is a form on the disk.
type formFile struct {
	fs   platform.FS
	name string
	file platform.File
	out  *bufio.Writer
}

// Write implements io.Writer.
func (f *formFile) Write(b []byte) (int, error) { return f.out.Write(b) }

// Flush ends writing.
func (f *formFile) Flush() error { return f.out.Flush() }

// ReadAt implements io.ReaderAt.
func (f *formFile) ReadAt(b []byte, at int64) (int, error) { return f.file.ReadAt(b, at) }

// Close removes the file.
func (f *formFile) Close() error {
	return errors.Join(f.file.Close(), platform.RemoveIfThere(f.fs, f.name))
}
