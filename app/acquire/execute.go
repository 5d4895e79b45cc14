package acquire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/interrupt"
)

// blob is one distinct content of the wants, with all that is known about it.
type blob struct {
	sum     release.Digest
	size    int64
	wants   []int          // indexes of the incomplete wants
	done    []release.File // complete files with this content, to copy from
	inPatch bool
	expands bool           // the expanded set patch makes it
	source  release.Source // zero until the sources are known
	chunks  *chunkedBlob   // while it may be built from chunks, else nil
	err     error          // its last failure
}

// executing is one call of Fetch: it carries plans out, and plans again with what was learned.
type executing struct{ planning }

// Fetch implements update.Source. It chooses a strategy for every content, executes one kind, and chooses again, until no content is
// missing. Each choice takes failures and new information into account.
func (s *Source) Fetch(ctx context.Context, wants []update.Want, to update.Delivery) error {
	err := s.mirrors.openNamed(s.connected.head.Mirrors)
	if err == nil {
		err = s.objects.openSpool()
	}
	if err != nil {
		return s.faultOf(err)
	}
	notes, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { s.fetchNotes(notes) })
	err = newExecuting(&s.resources, s.connected, wants, to).fetchAll(ctx)
	cancel()
	reading.Wait()
	return s.faultOf(err)
}

// fetchNotes fetches the release notes, to be shown during the download.
func (s *Source) fetchNotes(ctx context.Context) {
	_, note, found := s.connected.head.Note(s.o.Language)
	if !found || s.o.Notes == nil {
		return
	}
	text, err := s.objects.fetchBytes(ctx, note)
	if err != nil {
		s.o.Log.Info().Err(err).Msg("release notes are not there")
		return
	}
	s.o.Notes(string(text))
}

func newExecuting(r *resources, c connected, wants []update.Want, to update.Delivery) *executing {
	return &executing{planning{resources: r, connected: c, delivery: newDelivery(wants, to), room: true, roomy: true}}
}

func (e *executing) fetchAll(ctx context.Context) error {
	if err := e.deliverComplete(); err != nil {
		return err
	}
	if err := e.survey(ctx); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		situation := e.situation(e.blobs)
		e.addGroups(&situation)
		plan := Choose(situation)
		e.reportPlan(plan)
		if plan.Uses(Unneeded) == len(e.blobs) {
			return nil
		}
		if err := e.execute(ctx, plan); err != nil {
			return err
		}
	}
}

// execute executes one kind of strategy of the plan, the cheapest first.
func (e *executing) execute(ctx context.Context, plan Plan) error {
	switch {
	case e.indexInsufficient(plan):
		return e.replaceDeltaIndex(ctx)
	case plan.Uses(Stuck) > 0:
		return e.failStuck(choose(e.blobs, plan, Stuck)[0])
	case plan.Uses(Copied) > 0:
		return e.copyLocal(ctx, choose(e.blobs, plan, Copied))
	case plan.Uses(Patched) > 0:
		return e.applyPatch(ctx, choose(e.blobs, plan, Patched))
	case plan.Uses(Expanded) > 0:
		return e.applyExpanded(ctx, choose(e.blobs, plan, Expanded))
	case e.wantsSolid(plan):
		return e.readSolid(ctx)
	case plan.Uses(Solid) > 0:
		return e.fetchSolid(ctx, plan)
	case e.sources == nil:
		return e.findSources(ctx)
	default:
		return e.fetchBatch(ctx, append(choose(e.blobs, plan, Chunked), choose(e.blobs, plan, Entire)...))
	}
}

// choose lists the contents that a plan for blobs obtains by a strategy.
func choose(blobs []*blob, plan Plan, by Strategy) (list []*blob) {
	for i, s := range plan.Strategy {
		if s == by {
			list = append(list, blobs[i])
		}
	}
	return list
}

// sameFile reports whether the listing has exactly this file, by path and digest.
func sameFile(list release.Listing, f release.File) bool {
	found, there := list.Find(f.Path)
	return there && found.Sum == f.Digest
}

func inListing(list release.Listing, sum release.Digest) bool {
	for _, f := range list {
		if f.Sum == sum {
			return true
		}
	}
	return false
}

// failed counts n failures of a strategy for a content.
func (e *executing) failed(b *blob, by Strategy, n int, err error) {
	b.err = err
	if by == Chunked || by == Entire {
		e.objects.small.Clear() // the kept pieces may be wrong
	}
	e.failures.record(b.sum, by, n)
	e.o.Log.Warn().Err(err).Str("strategy", string(by)).Stringer("content", b.sum).Msg("strategy failed for a content")
}

// failStuck is the error for a content without a remaining strategy.
func (e *executing) failStuck(b *blob) error {
	clear(e.failures) // the next attempt tries all strategies again
	name := e.wants[b.wants[0]].File.Path
	cause, transient := update.ServerFault, false
	if b.err != nil {
		cause, transient = causeOf(b.err)
	}
	return &update.Fault{Cause: cause, Transient: transient, Subject: name, Err: fmt.Errorf("no means gives %q: %w", name, b.err)}
}

// stream fills the next want of a content by calling write. An error of the strategy is counted; an error that ends Fetch is returned.
func (e *executing) stream(ctx context.Context, b *blob, by Strategy, write func(w io.Writer) error) error {
	w := e.fillNext(b, false)
	err := write(w)
	if err == nil {
		err = w.finish()
	}
	if err == nil {
		e.progress.countBlob(by, b.size)
		return nil
	}
	if endsFetch(ctx, err) {
		return err
	}
	e.failed(b, by, 1, err)
	return w.restart()
}

// copyLocal copies contents from other files of the install to all their wants.
func (e *executing) copyLocal(ctx context.Context, list []*blob) error {
	buffer := make([]byte, 1<<20)
	for _, b := range list {
		file, err := e.openLocal(ctx, b)
		if err != nil {
			return err
		}
		if file == nil {
			b.done = nil
			continue
		}
		for len(b.wants) > 0 && err == nil && e.failures.may(b.sum, Copied) {
			err = e.stream(ctx, b, Copied, func(w io.Writer) error {
				_, err := io.CopyBuffer(struct{ io.Writer }{w}, interrupt.Reader(ctx, localReader{io.NewSectionReader(file, 0, b.size)}), buffer)
				return err
			})
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// localReader reads a local file. Its errors count as failures of the strategy.
type localReader struct{ r io.Reader }

func (l localReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %v", errContent, err)
	}
	return n, err
}

// openLocal opens a file that has a content; nil if not found.
func (e *executing) openLocal(ctx context.Context, b *blob) (delta.SetFile, error) {
	for i := len(b.done) - 1; i >= 0; i-- {
		file, err := e.o.Disk.OpenExact(ctx, b.done[i])
		if err == nil {
			return file, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, nil
}

// endsFetch reports whether an error ends Fetch: one of the disk, the network or the caller, not of the fetched content.
func endsFetch(ctx context.Context, err error) bool {
	var fault *update.Fault
	var net *download.NetError
	var local *fs.PathError
	return ctx.Err() != nil || errors.Is(err, download.ErrClosed) || errors.As(err, &fault) || errors.As(err, &net) || errors.As(err, &local)
}

// mixed reports whether some mirrors could not be reached, and the others were reached and failed: a repetition may or may not help.
func mixed(err error) bool {
	var none *download.ExhaustedError
	if !errors.As(err, &none) {
		return false
	}
	silent := 0
	for _, reason := range none.Reasons {
		var net *download.NetError
		if errors.As(reason, &net) {
			silent++
		}
	}
	return silent > 0 && silent < len(none.Reasons)
}
