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
type executing struct {
	*resources
	connected
	delivery
	sources release.Sources // nil until needed
	indexed bool            // sources are those of the delta index
	solid   solidForm
	room    bool   // the disk has room for a set patch beside the parts
	roomy   bool   // and for what an expanded set patch needs
	printed string // the last logged plan
}

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
	return &executing{resources: r, connected: c, delivery: newDelivery(wants, to), room: true, roomy: true}
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

// survey examines the install: which contents other files have, and which a set patch can make because their old versions are intact.
func (e *executing) survey(ctx context.Context) error {
	missing := map[string]bool{}
	for _, w := range e.wants {
		missing[w.File.Path] = true
	}
	for _, list := range []release.Listing{e.old, e.listing} {
		for _, file := range list.Files() {
			if b := e.byDigest[file.Digest]; b != nil && !(missing[file.Path] && sameFile(e.listing, file)) {
				b.done = append(b.done, file)
			}
		}
	}
	if err := e.readExpansion(ctx); err != nil {
		return err
	}
	_, patch := e.patch(e.failures)
	for _, b := range e.blobs {
		_, expands := e.expansion.find(b.sum)
		if len(b.wants) == 0 || !patch && !expands || inListing(e.old, b.sum) {
			continue
		}
		old, found := e.old.Find(e.wants[b.wants[0]].File.Path)
		intact := true
		if _, there := e.scratch.find(b.sum); found && !there {
			var err error
			if intact, err = hasFile(ctx, e.o.Disk, release.Listing{old}.Files()[0]); err != nil {
				return err
			}
		}
		b.inPatch, b.expands = patch && intact, expands && intact
	}
	e.checkRoom()
	return nil
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

// checkRoom checks whether the disk has room for the set patch beside the parts. Other strategies need no additional room.
func (e *executing) checkRoom() {
	free, err := e.o.FS.Free()
	if err != nil {
		return // assumed to be enough, as elsewhere
	}
	need := int64(download.SpareRoom)
	for _, w := range e.wants {
		need += w.File.Size - w.Have()
	}
	if free < uint64(need+download.MaxPieces) {
		e.objects.small.Disable()
	}
	e.checkExpandedRoom(free, need)
	patch, found := e.patch(e.failures)
	if !found {
		return
	}
	if need += patch.Size - e.objects.countReceived(patch); free < uint64(need) {
		e.room = false
		e.o.Log.Warn().Int64("need", need).Uint64("free", free).Int64("missing", need-int64(free)).Str("folder", e.o.FS.Path(".")).
			Msg("there is no room for the patch; more is fetched in its place. Free the missing bytes and start anew to avoid that")
	}
}

// situation is the input of Choose for some contents.
func (e *executing) situation(blobs []*blob) Situation {
	s := Situation{Link: e.mirrors.link(e.o.Link), Patch: Unknown}
	if patch, found := e.patch(e.failures); found && e.room {
		s.Patch = patch.Size - e.objects.countReceived(patch)
	}
	o, found := e.expanded(e.failures)
	expands := found && e.expansion != nil
	if expands {
		s.Expanded, s.Inflated, s.Rates = o.Size-e.objects.countReceived(o), e.expansion.work.Inflated, e.measured()
	}
	if e.sources == nil {
		s.Sources = e.index.sourcesLeft(e.connected)
	}
	for _, b := range blobs {
		n := e.blobFacts(b)
		n.Expands = expands && e.roomy && b.expands
		s.Blobs = append(s.Blobs, n)
	}
	return s
}

// blobFacts is what is known about a content by itself: situation and addGroups add what follows from the patch and the solid form.
func (e *executing) blobFacts(b *blob) Blob {
	n := Blob{
		Size: b.size, Lacks: e.lacks(b), Local: len(b.done) > 0, InPatch: b.inPatch, Whole: Unknown, Chunks: Unknown,
		Indexed: !b.source.Index.IsZero(), Older: e.hasOlder(b),
	}
	if whole := b.source.Whole; !whole.IsZero() {
		n.Whole, n.Packed = whole.Size-e.objects.countReceived(whole), b.source.Encoding != release.EncodedStored
	}
	if b.chunks != nil && b.chunks.plan != nil {
		n.Chunks, n.Runs = b.chunks.missing, len(b.chunks.ranges)
	}
	n.Rebuilt, _ = e.expansion.find(b.sum)
	if len(e.failures) == 0 {
		return n // the usual case
	}
	n.Failed = map[Strategy]int{}
	for _, s := range []Strategy{Copied, Patched, Expanded, Chunked, Solid, Entire} {
		n.Failed[s] = e.failures.count(b.sum, s)
	}
	return n
}

// reportPlan logs a plan that differs from the one before, and sets the expected traffic.
func (e *executing) reportPlan(plan Plan) {
	text := fmt.Sprint(plan.Uses(Copied), plan.Uses(Patched), plan.Uses(Expanded), plan.Uses(Chunked), plan.Uses(Solid), plan.Uses(Entire), e.sources == nil)
	if text != e.printed {
		e.o.Log.Info().Int("copies", plan.Uses(Copied)).Int("patched", plan.Uses(Patched)).Int("expanded", plan.Uses(Expanded)).Int("chunked", plan.Uses(Chunked)).
			Int("solid", plan.Uses(Solid)).Int("whole", plan.Uses(Entire)).Int64("bytes", plan.Cost.Bytes).Int64("of", plan.Size).
			Dur("estimate", plan.Cost.Time(e.mirrors.link(e.o.Link))).Msg("strategy chosen")
	}
	e.printed = text
	e.progress.expectTraffic(plan.Cost.Bytes)
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
		cause, transient = blame(b.err)
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
	return w.giveUp()
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
		file, err := e.o.Disk.Old(ctx, b.done[i])
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
