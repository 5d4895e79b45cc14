package acquire

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"collet/app/download"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
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
	return WorthSolid(blobs, missing, p.head.Bytes)
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
	need := int64(download.SpareRoom)
	for _, b := range p.blobs {
		need += p.lacks(b)
	}
	for _, g := range p.solid.form.Groups {
		n := SolidGroup{Size: g.Size(), Packed: g.Packed(), Deflated: g.Deflated()}
		for _, part := range g.Parts {
			if left := part.Size - p.objects.countReceived(part); left > 0 {
				n.Bytes, n.Requests = n.Bytes+left, n.Requests+1
			}
		}
		if n.Deflated > 0 {
			s.Rates = p.measured()
		}
		n.Unusable = err == nil && free < uint64(need+n.Bytes)
		s.Groups = append(s.Groups, n)
	}
}

// fetchSolid fetches the groups that a plan uses, and writes their contents to the wants. Parts are fetched ahead while the ones before
// them are decoded.
func (e *executing) fetchSolid(ctx context.Context, plan Plan) error {
	list := choose(e.blobs, plan, Solid)
	used := map[int]bool{}
	for _, b := range list {
		used[e.solid.places[b.sum].Group] = true
	}
	f := &solidFetch{executing: e, parts: newPrefetcher(ctx, download.MaxInFlight), came: map[release.Object]int64{}}
	defer f.parts.close()
	var groups []solid.Group
	largest := int64(0)
	for g, group := range e.solid.form.Groups {
		if !used[g] {
			continue
		}
		groups, largest = append(groups, group), max(largest, group.Size())
		for _, p := range group.Parts {
			before := e.objects.countReceived(p)
			f.parts.addTask(1, func(ctx context.Context) (any, error) {
				return e.objects.fetchWith(ctx, p, partRequest, func(done int64) { f.countReceived(p, done-before) })
			})
		}
	}
	release := e.o.Reserve(largest)
	f.buffer = make([]byte, 0, largest)
	defer func() {
		f.buffer = nil
		release()
	}()
	for _, group := range groups {
		if err := f.unpack(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// partRequest is the least size of a request for a part in bytes: parts are fetched several at once, so most take one request.
const partRequest = 2 << 20

// solidFetch is one call of fetchSolid.
type solidFetch struct {
	*executing
	parts  *prefetcher
	buffer []byte // of the decoders, as large as the largest group

	mu   sync.Mutex
	came map[release.Object]int64 // received bytes of each part
	sum  int64                    // of came
}

// countReceived reports the number of received bytes of a part. It is safe for concurrent use.
func (f *solidFetch) countReceived(p release.Object, bytes int64) {
	f.mu.Lock()
	bytes = max(bytes, 0)
	f.sum += bytes - f.came[p]
	f.came[p] = bytes
	sum := f.sum
	f.mu.Unlock()
	f.progress.reportTraffic(sum)
}

// unpack decodes a group, and writes its contents while the decoder goes on. A failure counts for all contents that it leaves.
func (f *solidFetch) unpack(ctx context.Context, group solid.Group) error {
	decoded := make(chan []byte, decodedAhead)
	var fault error // of the decoder, once decoded is closed
	go func() {
		defer close(decoded)
		fault = f.decode(group, decoded)
	}()
	w := &solidWriter{e: f.executing, members: group.Members}
	var err error // of the disk or the caller
	for data := range decoded {
		if err == nil {
			if err = w.write(ctx, data); err != nil {
				f.parts.cancel()
			}
		}
	}
	switch {
	case err != nil:
		return errors.Join(err, w.open.giveUp())
	case fault == nil:
		return f.discard(ctx, group)
	case endsFetch(ctx, fault):
		return errors.Join(fault, w.open.giveUp())
	default:
		return f.fail(ctx, w, group, fault)
	}
}

// decodedAhead is how many frames the decoder may be ahead of the writer.
const decodedAhead = 32

// decode decodes the parts of a group, and sends its contents so far after each frame.
func (f *solidFetch) decode(group solid.Group, decoded chan<- []byte) error {
	ctx := f.parts.ctx
	d, fault := solid.NewDecoder(group.Size(), f.buffer)
	send := func() error {
		select {
		case decoded <- d.Data():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for range group.Parts {
		result, err := f.parts.nextResult()
		if err == nil {
			part := result.(*download.Spooled)
			if fault == nil {
				fault = d.Part(part, part.Size(), send)
			}
			err = part.Close()
		}
		if fault == nil {
			fault = err
		}
		if fault != nil && endsFetch(ctx, fault) {
			return fault
		}
	}
	if fault == nil && !d.Done() {
		fault = &solid.Error{What: "parts that end before their group"}
	}
	return fault
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
	if err := w.open.giveUp(); err != nil || again {
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
	open    *filler        // of the first of members; nil if it is not wanted, or nothing of it is written
}

// deliverStep is how many bytes are delivered at once.
const deliverStep = 256 << 10

// write writes what is new in the contents of the group so far.
func (w *solidWriter) write(ctx context.Context, data []byte) error {
	for len(w.members) > 0 && w.at+w.written < int64(len(data)) {
		m := w.members[0]
		end := min(w.at+m.Size, int64(len(data)))
		if m.IsForm() && end < w.at+m.Size {
			return nil
		}
		if b := w.wanted(m); w.written == 0 && b != nil {
			w.open = w.e.fillNext(b, false)
		}
		err := w.deliver(ctx, m, data[w.at+w.written:end])
		if w.written = end - w.at; err == nil && w.written < m.Size {
			return nil
		}
		if err := w.finish(ctx, err); err != nil {
			return err
		}
		w.members, w.at, w.written = w.members[1:], w.at+m.Size, 0
	}
	return nil
}

// deliver writes bytes of a member to the open content, if there is one. Of a form these are all, and the content is made from it.
func (w *solidWriter) deliver(ctx context.Context, m solid.Member, data []byte) error {
	switch {
	case w.open == nil:
		return nil
	case m.IsForm():
		return deflate.Rebuild(ctx, w.open, bytes.NewReader(data), m.Size, w.open.blob.size, m.Recipe)
	}
	for from := 0; from < len(data); from += deliverStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := w.open.Write(data[from:min(from+deliverStep, len(data))]); err != nil {
			return err
		}
	}
	return nil
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
	w.e.failed(open.blob, Solid, maxFailures, err)
	return open.giveUp()
}

// hasOlder reports whether the install has an older version of a content that chunks may be taken from.
func (p *planning) hasOlder(b *blob) bool {
	return slices.ContainsFunc(b.wants, func(i int) bool {
		_, found := p.old.Find(p.wants[i].File.Path)
		return found
	})
}
