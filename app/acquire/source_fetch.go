package acquire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// blob is one distinct content of the wants, with all that is known about it.
type blob struct {
	sum     release.Digest
	size    int64
	wants   []int          // indexes of the incomplete wants
	done    []release.File // complete files with this content, to copy from
	inPatch bool
	err     error // its last failure

	source release.Source // zero until the sources are known
	plan   *chunk.Plan    // nil without an index, or if the index was not worth fetching
	chunks int64          // missing bytes of plan
	ranges []chunk.Range
	local  []delta.SetFile // local files that plan copies from
}

// fetching is one call of Fetch.
type fetching struct {
	s        *Source
	to       update.Delivery
	wants    []update.Want
	blobs    []*blob // in the order of their first want
	byDigest map[release.Digest]*blob
	sources  release.Sources // nil until needed
	indexed  bool            // sources are those of the delta index
	room     bool            // the disk has room for a set patch beside the parts
	told     string          // the last logged choice
	basis    download.Range  // its start is the traffic before the current strategy
}

// Fetch implements update.Source. It chooses a strategy for every content, executes one kind, and chooses again, until no content is
// missing. Each choice takes failures and new information into account.
func (s *Source) Fetch(ctx context.Context, wants []update.Want, to update.Delivery) error {
	if err := s.openHeadMirrors(); err != nil {
		return s.faultOf(err)
	}
	notes, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { s.fetchNotes(notes) })
	err := newFetching(s, wants, to).run(ctx)
	cancel()
	reading.Wait()
	return s.faultOf(err)
}

// fetchNotes fetches the release notes, to be shown during the download.
func (s *Source) fetchNotes(ctx context.Context) {
	_, note, found := s.head.Note(s.o.Language)
	if !found || s.o.Notes == nil {
		return
	}
	text, err := s.fetchBytes(ctx, note)
	if err != nil {
		s.o.Log.Info().Err(err).Msg("release notes are not there")
		return
	}
	s.o.Notes(string(text))
}

func newFetching(s *Source, wants []update.Want, to update.Delivery) *fetching {
	f := &fetching{s: s, to: to, wants: append([]update.Want(nil), wants...), byDigest: map[release.Digest]*blob{}, room: true}
	for i, w := range f.wants {
		c := f.byDigest[w.File.Digest]
		if c == nil {
			c = &blob{sum: w.File.Digest, size: w.File.Size}
			f.byDigest[c.sum] = c
			f.blobs = append(f.blobs, c)
		}
		c.wants = append(c.wants, i)
	}
	return f
}

func (f *fetching) run(ctx context.Context) error {
	if err := f.deliverComplete(); err != nil {
		return err
	}
	if err := f.survey(ctx); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		situation := f.situation()
		choice := Choose(situation)
		f.logChoice(choice)
		if choice.Uses(Unneeded) == len(f.blobs) {
			return nil
		}
		if err := f.execute(ctx, choice); err != nil {
			return err
		}
	}
}

// execute executes one kind of strategy of the choice, the cheapest first.
func (f *fetching) execute(ctx context.Context, choice Choice) error {
	switch {
	case f.indexInsufficient(choice):
		return f.replaceDeltaIndex(ctx)
	case choice.Uses(Stuck) > 0:
		return f.failStuck(choice)
	case choice.Uses(Copied) > 0:
		return f.copies(ctx, f.chosen(choice, Copied))
	case choice.Uses(Patched) > 0:
		return f.patched(ctx, f.chosen(choice, Patched))
	case f.sources == nil:
		return f.findSources(ctx)
	default:
		return f.scattered(ctx, choice)
	}
}

// chosen are the contents with a strategy.
func (f *fetching) chosen(choice Choice, means Strategy) (list []*blob) {
	for i, m := range choice.Strategy {
		if m == means {
			list = append(list, f.blobs[i])
		}
	}
	return list
}

// deliverComplete delivers the wants without missing ranges.
func (f *fetching) deliverComplete() error {
	for i, w := range f.wants {
		if len(w.Missing) > 0 {
			continue
		}
		if err := f.to.Deliver(i, nil); err != nil {
			return err
		}
		f.complete(f.byDigest[w.File.Digest], i)
	}
	return nil
}

// complete records a completed want.
func (f *fetching) complete(c *blob, want int) {
	for i, w := range c.wants {
		if w == want {
			c.wants = append(c.wants[:i:i], c.wants[i+1:]...)
			c.done = append(c.done, f.wants[want].File)
			return
		}
	}
}

// survey examines the install: which contents other files have, and which the set patch can make because their old versions are intact.
func (f *fetching) survey(ctx context.Context) error {
	s := f.s
	missing := map[string]bool{}
	for _, w := range f.wants {
		missing[w.File.Path] = true
	}
	for _, list := range []release.Listing{s.old, s.listing} {
		for _, file := range list.Files() {
			if c := f.byDigest[file.Digest]; c != nil && !(missing[file.Path] && sameFile(s.listing, file)) {
				c.done = append(c.done, file)
			}
		}
	}
	_, patch := s.patch()
	for _, c := range f.blobs {
		if len(c.wants) == 0 || !patch || inListing(s.old, c.sum) {
			continue
		}
		old, found := s.old.Find(f.wants[c.wants[0]].File.Path)
		c.inPatch = true
		if _, made := s.scratch.find(c.sum); found && !made {
			var err error
			if c.inPatch, err = s.hasFile(ctx, release.Listing{old}.Files()[0]); err != nil {
				return err
			}
		}
	}
	return f.checkRoom()
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
func (f *fetching) checkRoom() error {
	free, err := f.s.o.FS.Free()
	if err != nil {
		return nil // assumed to be enough, as elsewhere
	}
	need := int64(download.SpareRoom)
	for _, w := range f.wants {
		need += w.File.Size - w.Have()
	}
	if free < uint64(need+download.MaxPieces) {
		f.s.small.Disable()
	}
	patch, found := f.s.patch()
	if !found {
		return nil
	}
	if _, err := f.s.openSpool(); err != nil {
		return err
	}
	if need += patch.Size - f.s.bytesHere(patch); free < uint64(need) {
		f.room = false
		f.s.o.Log.Warn().Int64("need", need).Uint64("free", free).Int64("missing", need-int64(free)).Str("folder", f.s.o.FS.Path(".")).
			Msg("there is no room for the patch; more is fetched in its place. Free the missing bytes and start anew to avoid that")
	}
	return nil
}

// bytesHere is how many bytes of an object are here already.
func (s *Source) bytesHere(o release.Object) int64 {
	if s.prefetchedBytes(o.Sum) != nil {
		return o.Size
	}
	small, _ := s.small.Prefix(o.Path(), o.Size)
	here := int64(len(small))
	if spool := s.leftSpool(); spool != nil {
		here = max(here, spool.Have(o.Sum, o.Size))
	}
	return here
}

// situation is the input of Choose.
func (f *fetching) situation() Situation {
	s := Situation{Link: f.s.link(), Patch: Unknown, Sources: f.s.sourcesLeft()}
	if patch, found := f.s.patch(); found && f.room {
		s.Patch = patch.Size
		s.Patch -= f.s.bytesHere(patch)
	}
	if f.sources != nil {
		s.Sources = 0
	}
	for _, c := range f.blobs {
		s.Blobs = append(s.Blobs, f.blobOf(c))
	}
	return s
}

func (f *fetching) blobOf(c *blob) Blob {
	n := Blob{
		Size: c.size, Local: len(c.done) > 0, InPatch: c.inPatch, Whole: Unknown, Chunks: Unknown,
		Indexed: !c.source.Index.IsZero(), Failed: map[Strategy]int{},
	}
	for _, i := range c.wants {
		n.Lacks += max(f.wants[i].File.Size-f.wants[i].Have(), 1) // an empty file lacks its name
	}
	if !c.source.Whole.IsZero() {
		n.Whole, n.Packed = c.source.Whole.Size-f.s.bytesHere(c.source.Whole), c.source.Encoding != release.EncodedStored
	}
	if c.plan != nil {
		n.Chunks, n.Runs = c.chunks, len(c.ranges)
	}
	for _, m := range []Strategy{Copied, Patched, Chunked, Entire} {
		n.Failed[m] = f.s.failures[failure{c.sum, m}]
	}
	return n
}

// link is the link with the estimates so far. A rate limit counts as a slow link.
func (s *Source) link() Link {
	rate, roundTrip, inFlight := s.fetcher.Measured()
	l := s.o.Link
	l.Rate, l.RoundTrip, l.InFlight = cmp.Or(l.Rate, rate), cmp.Or(l.RoundTrip, roundTrip), cmp.Or(l.InFlight, inFlight)
	if _, limit := s.valve.state(); limit > 0 && (l.Rate == 0 || l.Rate > float64(limit)) {
		l.Rate = float64(limit)
	}
	return l
}

// logChoice logs a choice that differs from the one before, and sets the expected traffic.
func (f *fetching) logChoice(choice Choice) {
	word := fmt.Sprint(choice.Uses(Copied), choice.Uses(Patched), choice.Uses(Chunked), choice.Uses(Entire), f.sources == nil)
	if word != f.told {
		f.s.o.Log.Info().Int("copies", choice.Uses(Copied)).Int("patched", choice.Uses(Patched)).Int("chunked", choice.Uses(Chunked)).
			Int("whole", choice.Uses(Entire)).Int64("bytes", choice.Cost.Bytes).Int64("of", choice.Size).
			Dur("estimate", choice.Cost.Time(f.s.link())).Msg("means chosen")
	}
	f.told = word
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.basis = download.Range{Start: f.s.traffic.Done}
	f.s.traffic.Total = f.s.traffic.Done + choice.Cost.Bytes
}

// reportCarried reports done received bytes of the current strategy.
func (f *fetching) reportCarried(done int64) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.traffic.Done = min(f.basis.Start+done, f.s.traffic.Total)
}

// failed counts n failures of a strategy for a content.
func (f *fetching) failed(c *blob, means Strategy, n int, err error) {
	c.err = err
	if means == Chunked || means == Entire {
		f.s.small.Clear() // the kept pieces may be wrong
	}
	f.s.failures[failure{c.sum, means}] += n
	f.s.o.Log.Warn().Err(err).Str("means", string(means)).Stringer("content", c.sum).Msg("a content did not come this way")
}

// failStuck is the error for a content without a remaining strategy.
func (f *fetching) failStuck(choice Choice) error {
	c := f.chosen(choice, Stuck)[0]
	clear(f.s.failures) // the next attempt tries all strategies again
	name := f.wants[c.wants[0]].File.Path
	cause, transient := update.ServerFault, false
	if c.err != nil {
		cause, transient = blame(c.err)
	}
	return &update.Fault{Cause: cause, Transient: transient, Subject: name, Err: fmt.Errorf("no means gives %q: %w", name, c.err)}
}

// ends reports whether an error ends Fetch: one of the disk, the network or the caller, not of the fetched content.
func ends(ctx context.Context, err error) bool {
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
