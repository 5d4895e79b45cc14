package acquire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"sync"

	"collet/app/diskfault"
	"collet/app/download"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
	"collet/platform"
)

// solidForm is the solid form of the offered release, as far as it is known.
type solidForm struct {
	asked  bool // the index was requested, or is not usable
	form   solid.Form
	places map[release.Digest]solid.Place // by content
}

// wantsSolid reports whether the index of the solid form is worth fetching: a plan fetches much of the release as whole objects or chunks.
func (p *planning) wantsSolid(plan Plan) bool {
	o, found := p.head.Solid()
	if p.solid.asked || !found || o.Size > solid.MaxIndex || !p.failures.may(o.Sum, Solid) {
		return false
	}
	missing, blobs := int64(0), 0
	for i, b := range p.blobs {
		if s := plan.Strategy[i]; (s == Entire || s == Chunked || s == Stuck) && b.size <= solid.MaxGroup {
			missing, blobs = missing+p.lacks(b), blobs+1
		}
	}
	here := p.objects.countReceived(o) == o.Size // then parts may be here, too, of a start that was stopped
	return WorthSolid(blobs, missing, p.head.Bytes) || blobs > 0 && here
}

// readSolid fetches the index of the solid form. Without it, the other strategies are used.
func (e *executing) readSolid(ctx context.Context) error {
	o, _ := e.head.Solid()
	e.solid.asked = true
	data, err := e.objects.fetchBytes(ctx, o)
	if err == nil {
		e.solid.form, err = solid.OpenForm(data, e.listing)
	}
	if err != nil {
		if endsFetch(ctx, err) {
			return err
		}
		e.failures.record(o.Sum, Solid, maxFailures)
		e.o.Log.Warn().Err(err).Msg("the solid form of the release can't be read; it is fetched file by file")
		return e.objects.discard(ctx, o)
	}
	e.solid.places = e.solid.form.Places()
	return nil
}

// addGroups adds the groups of the solid form to the situation of all blobs. A group without room for its parts beside the contents can't
// be used.
func (p *planning) addGroups(s *Situation) {
	if p.solid.places == nil {
		return
	}
	for i, b := range p.blobs {
		if at, grouped := p.solid.places[b.sum]; grouped {
			s.Blobs[i].Group, s.Blobs[i].Form = at.Group+1, at.Form
		}
	}
	free, err := p.o.FS.Free()
	need := int64(diskfault.Reserve)
	for _, b := range p.blobs {
		need += p.lacks(b)
	}
	for _, g := range p.solid.form.Groups {
		n := SolidGroup{Size: g.Size(), Packed: g.Packed(), Deflated: g.Deflated()}
		scratch := max(n.Size-p.o.Window, 0)
		for _, part := range g.Parts {
			if left := part.Size - p.objects.countReceived(part); left > 0 {
				n.Bytes, n.Requests = n.Bytes+left, n.Requests+1
			}
		}
		if n.Deflated > 0 {
			s.Rates = p.measured()
		}
		n.Unusable = err == nil && free < uint64(need+n.Bytes+scratch)
		s.Groups = append(s.Groups, n)
	}
}

// fetchSolid fetches the groups that a plan uses, and writes their contents to the wants. Parts are fetched one after the other, each by one
// request, and decoded while they arrive:
//
//	link ──part──► spool ──bytes──► decoder ──frames──► writer ──► wants
//	                                   └──old bytes──► scratch ──┘
//
// The bytes are not verified yet. So a fault may be that of a mirror: then the group is decoded again when its parts are verified. Contents
// are always checked by their own digests.
func (e *executing) fetchSolid(ctx context.Context, plan Plan) error {
	list := choose(e.blobs, plan, Solid)
	used := map[int]bool{}
	for _, b := range list {
		used[e.solid.places[b.sum].Group] = true
	}
	var groups []solid.Group
	largest := int64(0)
	for g, group := range e.solid.form.Groups {
		if used[g] {
			groups, largest = append(groups, group), max(largest, group.Size())
		}
	}
	largest = min(largest, e.o.Window)
	release := e.o.Reserve(largest)
	defer release()
	f := startSolidFetch(ctx, e, groups)
	defer f.close()
	f.buffer = make([]byte, 0, largest)
	for _, group := range groups {
		if err := f.unpack(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// solidFetch is one call of fetchSolid. A goroutine fetches the parts; the others are those of the decoder and of the caller, who writes.
type solidFetch struct {
	*executing
	cancel context.CancelFunc
	run    sync.WaitGroup
	parts  chan *arrivingPart // in order; one that waits here is being fetched
	buffer []byte             // of the decoders: for the largest group, or for the window
}

// startSolidFetch starts to fetch the parts of groups. The caller closes the result.
func startSolidFetch(ctx context.Context, e *executing, groups []solid.Group) *solidFetch {
	ctx, cancel := context.WithCancel(ctx)
	f := &solidFetch{executing: e, cancel: cancel, parts: make(chan *arrivingPart, 1)}
	f.run.Go(func() {
		defer close(f.parts)
		fetched := int64(0)
		for _, group := range groups {
			for _, p := range group.Parts {
				a := &arrivingPart{size: p.Size, step: make(chan struct{})}
				select {
				case f.parts <- a:
				case <-ctx.Done():
					return
				}
				here, had := f.objects.countReceived(p), fetched
				a.finish(f.objects.fetchArriving(ctx, p, a.arrive, func(done int64) {
					fetched = had + max(done-here, 0)
					f.progress.reportTraffic(fetched)
				}))
			}
		}
	})
	return f
}

// close ends the fetch and waits for it.
func (f *solidFetch) close() {
	f.cancel()
	f.run.Wait()
	for a := range f.parts {
		a.close()
	}
}

// unpack decodes a group and writes its contents. A failure counts for all contents that it leaves.
func (f *solidFetch) unpack(ctx context.Context, group solid.Group) error {
	var begun []*arrivingPart
	defer func() {
		for _, a := range begun {
			a.close()
		}
	}()
	part := func(i int) (*arrivingPart, error) {
		if i < len(begun) {
			return begun[i], nil
		}
		a, is := <-f.parts
		if !is {
			return nil, cmp.Or(ctx.Err(), context.Canceled)
		}
		begun = append(begun, a)
		return a, nil
	}
	w, fault, err := f.decode(ctx, group, part, true)
	if err == nil && fault != nil && !endsFetch(ctx, fault) {
		f.o.Log.Debug().Err(fault).Msg("a group of the solid form is decoded again, from verified parts")
		if err = w.open.restart(); err != nil {
			return err
		}
		if fault = awaitParts(len(group.Parts), part); fault == nil {
			w, fault, err = f.decode(ctx, group, part, false)
		}
	}
	switch {
	case err != nil:
		return errors.Join(err, w.open.restart())
	case fault == nil:
		return f.discard(ctx, group)
	case endsFetch(ctx, fault):
		return errors.Join(fault, w.open.restart())
	default:
		return f.fail(ctx, w, group, fault)
	}
}

// awaitParts waits until all parts of a group are verified.
func awaitParts(count int, part func(i int) (*arrivingPart, error)) error {
	for i := range count {
		a, err := part(i)
		if err == nil {
			err = a.await()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decodedAhead is how many frames the decoder may be ahead of the writer.
const decodedAhead = 32

// decode decodes a group, and writes its contents while the decoder goes on. fault is that of the parts, and of contents that arriving bytes
// make; err is that of the disk or the caller.
func (f *solidFetch) decode(ctx context.Context, group solid.Group, part func(i int) (*arrivingPart, error), arriving bool) (w *solidWriter, fault, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w = &solidWriter{e: f.executing, members: group.Members, arriving: arriving}
	older, drop, err := f.createOlder(group.Size())
	if err != nil {
		return w, nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	d, fault := solid.NewDecoder(group.Size(), f.buffer, older)
	if fault != nil {
		return w, fault, nil
	}
	w.from = d
	decoded := make(chan int64, decodedAhead)
	go func() {
		defer close(decoded)
		for i := 0; fault == nil && i < len(group.Parts); i++ {
			var a *arrivingPart
			if a, fault = part(i); fault != nil {
				break
			}
			fault = d.Part(a, a.size, func() error {
				select {
				case decoded <- d.Len():
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		if fault == nil && !d.Done() {
			fault = &solid.Error{What: "parts that end before their group"}
		}
	}()
	for done := range decoded {
		if err == nil {
			if err = w.write(ctx, done); err != nil && !errors.Is(err, errContent) {
				f.cancel() // the decoder may wait for bytes
			}
			if err != nil {
				cancel()
			}
		}
	}
	if errors.Is(err, errContent) { // of bytes that are not verified
		fault, err = err, nil
	}
	return w, fault, err
}

// createOlder makes the scratch file for a group that the window is too small for; nil if it is not. drop removes it.
func (f *solidFetch) createOlder(size int64) (older solid.Scratch, drop func() error, err error) {
	if size <= int64(cap(f.buffer)) {
		return nil, func() error { return nil }, nil
	}
	forms := &formFiles{fs: f.o.FS, folder: path.Join(f.o.Folder, formFolder)}
	if err := forms.fs.MkdirAll(forms.folder, 0o755); err != nil {
		return nil, nil, err
	}
	form, err := forms.create()
	if err != nil {
		return nil, nil, err
	}
	return form.file, func() error { return errors.Join(form.Close(), platform.RemoveFolder(forms.fs, forms.folder, nil)) }, nil
}

// arrivingPart is a part of a group that is read while it arrives. It implements io.ReaderAt. One goroutine calls arrive and finish, and
// another one the other methods.
type arrivingPart struct {
	size int64

	mu     sync.Mutex
	step   chan struct{} // closed when one of these changes
	from   io.ReaderAt   // of have bytes, unverified; nil while nothing can be read
	have   int64
	redone bool // bytes that could be read turned out to be wrong
	ended  bool
	object *download.Spooled // verified, once ended without err
	err    error
}

// change changes the state and wakes a waiting reader.
func (a *arrivingPart) change(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
	close(a.step)
	a.step = make(chan struct{})
}

// arrive implements download.Object.Arrived.
func (a *arrivingPart) arrive(from io.ReaderAt, n int64) {
	a.change(func() {
		if a.from = from; from != nil {
			a.redone = a.redone || n < a.have
			a.have = n
		}
	})
}

// finish ends the part: with the verified object, or with err.
func (a *arrivingPart) finish(object *download.Spooled, err error) {
	a.change(func() {
		if a.ended, a.err = true, err; err == nil {
			a.object = object
		}
	})
}

// await waits until the part has ended.
func (a *arrivingPart) await() error {
	for {
		a.mu.Lock()
		ended, step, err := a.ended, a.step, a.err
		a.mu.Unlock()
		if ended {
			return err
		}
		<-step
	}
}

// errRedone ends reading a part of which bytes were replaced.
var errRedone = errors.New("bytes of the part were fetched again")

// ReadAt implements io.ReaderAt. It waits until the bytes are there.
func (a *arrivingPart) ReadAt(p []byte, off int64) (int, error) {
	for {
		a.mu.Lock()
		switch {
		case a.redone && !a.ended:
			a.mu.Unlock()
			return 0, errRedone
		case a.err != nil:
			defer a.mu.Unlock()
			return 0, a.err
		case a.object != nil:
			defer a.mu.Unlock()
			return a.object.ReadAt(p, off)
		case a.from != nil && off+int64(len(p)) <= a.have:
			defer a.mu.Unlock() // from stays valid as long
			return a.from.ReadAt(p, off)
		}
		step := a.step
		a.mu.Unlock()
		<-step
	}
}

// close waits until the part has ended, and closes it.
func (a *arrivingPart) close() {
	if a.await() == nil {
		_ = a.object.Close() // an error does not matter after reading
	}
}

// discard removes the parts of a group.
func (f *solidFetch) discard(ctx context.Context, group solid.Group) error {
	for _, p := range group.Parts {
		if err := f.objects.discard(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// fail counts a failure for the contents of a group that are still missing. The parts stay while the group may be tried again.
func (f *solidFetch) fail(ctx context.Context, w *solidWriter, group solid.Group, err error) error {
	n, again := 1, false
	var malformed *solid.Error
	if errors.As(err, &malformed) {
		n = maxFailures // the parts are those of the index, so the failure is permanent
	}
	for _, m := range group.Members {
		if m.Content == solid.Gone {
			continue
		}
		if b := f.byDigest[f.solid.form.Contents[m.Content].Sum]; b != nil && len(b.wants) > 0 {
			f.failures.record(b.sum, Solid, n)
			b.err = err
			again = again || f.failures.may(b.sum, Solid)
		}
	}
	f.o.Log.Warn().Err(err).Int("contents", len(group.Members)).Msg("a group of the solid form can't be used")
	if err := w.open.restart(); err != nil || again {
		return err
	}
	return f.discard(ctx, group)
}

// solidWriter writes the contents of a group to their wants, as far as the group is decoded.
type solidWriter struct {
	e       *executing
	members []solid.Member // those that are not complete
	at      int64          // bytes of the group before the first of members
	written int64          // bytes of the first of members
	open    *filler        // of the first of members; nil if it is not wanted, or not begun
	from    io.ReaderAt    // the group
	page    []byte         // for what is delivered at once; nil before the first use

	arriving bool // the bytes are not verified, so wrong contents are no fault of the group
}

// deliverStep is how many bytes are delivered at once.
const deliverStep = 256 << 10

// write writes what is new in the contents of the group, of which done bytes are there.
func (w *solidWriter) write(ctx context.Context, done int64) error {
	for len(w.members) > 0 && w.at+w.written < done {
		m := w.members[0]
		end := min(w.at+m.Size, done)
		if m.IsForm() && end < w.at+m.Size {
			return nil
		}
		if b := w.wanted(m); w.written == 0 && w.open == nil && b != nil {
			w.open = w.e.fillNext(b, false)
		}
		reached, err := w.deliver(ctx, m, w.at+w.written, end)
		if w.written = reached - w.at; err == nil && w.written < m.Size {
			return nil
		}
		if err := w.finish(ctx, err); err != nil {
			return err
		}
		w.members, w.at, w.written = w.members[1:], w.at+m.Size, 0
	}
	return nil
}

// deliver writes the bytes of a member from one place in the group to another, if its content is open, and returns the place that it has
// reached: a call that is not complete stays for the next time. Of a form these are all bytes, and the content is made from it.
func (w *solidWriter) deliver(ctx context.Context, m solid.Member, from, to int64) (int64, error) {
	switch {
	case w.open == nil:
		return to, nil
	case m.IsForm():
		return to, deflate.Rebuild(ctx, w.open, io.NewSectionReader(w.from, from, m.Size), m.Size, w.open.blob.size, m.Recipe)
	case w.page == nil:
		w.page = make([]byte, deliverStep)
	}
	for from < to {
		if err := ctx.Err(); err != nil {
			return from, err
		}
		page := w.page[:min(deliverStep, to-from)]
		if _, err := w.from.ReadAt(page, from); err != nil {
			return from, err
		}
		if m.Calls {
			page = page[:solid.DecodeCalls(page, from-w.at, m.Size)]
		}
		if len(page) == 0 {
			break
		}
		if _, err := w.open.Write(page); err != nil {
			return from, err
		}
		from += int64(len(page))
	}
	return from, nil
}

// wanted is the blob of a member; nil if it is not wanted.
func (w *solidWriter) wanted(m solid.Member) *blob {
	if m.Content == solid.Gone {
		return nil
	}
	b := w.e.byDigest[w.e.solid.form.Contents[m.Content].Sum]
	if b == nil || len(b.wants) == 0 || !w.e.failures.may(b.sum, Solid) {
		return nil
	}
	return b
}

// finish completes the open content, unless delivering it has failed with err. A wrong one is counted, and the others go on.
func (w *solidWriter) finish(ctx context.Context, err error) error {
	open := w.open
	if err != nil && endsFetch(ctx, err) {
		return err
	}
	w.open = nil
	if open == nil {
		return nil
	}
	if err == nil {
		err = open.finish()
	}
	if err == nil {
		w.e.progress.countBlob(Solid, open.blob.size)
		return nil
	}
	if endsFetch(ctx, err) {
		return err
	}
	if w.arriving {
		w.open = open
		return errors.Join(errContent, err)
	}
	w.e.failed(open.blob, Solid, maxFailures, err)
	return open.restart()
}

// hasOlder reports whether the install has an older version of a content that chunks may be taken from.
func (p *planning) hasOlder(b *blob) bool {
	return slices.ContainsFunc(b.wants, func(i int) bool {
		_, found := p.old.Find(p.wants[i].File.Path)
		return found
	})
}
