package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/build/publish/check"
	"collet/build/publish/parallel"
	"collet/netproto/deflate"
	"collet/netproto/release"
	"collet/netproto/solid"
)

const (
	// solidContents and solidBytes are how large a set is at least that gets a solid form: that many contents, or bytes. Smaller ones are
	// a few requests as whole objects.
	solidContents = 12
	solidBytes    = 1 << 20
	// singleSolid is the smallest set of one content in bytes that gets a solid form. In a smaller content brotli finds all repetitions: its window,
	// also that of a whole object, is as large.
	singleSolid = 16 << 20
	// maxSolidShare is the size of a solid form, in percent of the whole objects, from which on it is dropped. Above 100 it saves requests.
	maxSolidShare = 110
	// maxSingleShare is the same for one content, where no request is saved.
	maxSingleShare = 97
	// solidMemory is the memory for packing one group in bytes.
	solidMemory = 600 << 20
)

// solidMaker makes the solid forms of releases. The ledger says which groups were made before.
type solidMaker struct {
	store    *objectStore
	releases *releases
	ledger   *cache.Ledger
	meter    *meter
	workers  int
	memory   int64 // in bytes, at most, beside one group
	effort   solid.Effort
	made     map[string][]release.Object      // parts by groupKey, of this process
	examined map[examinedContent]solid.Member // how contents go into a group, without their places; of this process
}

// examinedContent is a content that was examined. Only resources have forms.
type examinedContent struct {
	sum      release.Digest
	resource bool
}

// SolidSummary is the solid form of a release. It is zero for a release without one.
type SolidSummary struct {
	Groups int
	Parts  int
	Bytes  int64 // of all parts and the index; Update.First has all that a new player fetches
	Packed int64 // bytes of contents that this publication packed; the others were packed before
}

// announce makes the solid form of a release and names it in the head, if it is worth it.
func (m *solidMaker) announce(ctx context.Context, b *blobs, h *release.Head, to releaseLists) (s SolidSummary, err error) {
	contents := solid.Contents(to.listing)
	total, whole := int64(0), int64(0)
	for _, c := range contents {
		source, _ := to.sources.Find(c.Sum)
		total, whole = total+c.Size, whole+source.Whole.Size
	}
	limit := whole / 100 * maxSolidShare
	switch {
	case len(h.Patches) >= release.MaxPatches, len(contents) < solidContents && total < solidBytes, len(contents) == 1 && total < singleSolid:
		return s, nil
	case len(contents) == 1:
		limit = whole / 100 * maxSingleShare
	}
	groups, err := m.plan(ctx, b, contents, to)
	if err != nil {
		return s, advice.Because(err, room(err), "examine the contents of release %d for %s", h.Number, h.Target)
	}
	if err := m.packAll(ctx, b, contents, groups, &s); err != nil {
		return s, advice.Because(err, room(err), "pack the contents of release %d for %s together", h.Number, h.Target)
	}
	index := solid.EncodeIndex(groups)
	s.Groups, s.Bytes = len(groups), int64(len(index))
	for _, g := range groups {
		s.Parts, s.Bytes = s.Parts+len(g.Parts), s.Bytes+g.Packed()
	}
	if s.Bytes > limit || len(index) > solid.MaxIndex {
		return SolidSummary{}, nil
	}
	if _, err := solid.ParseIndex(index, contents); err != nil { // as a client does, so that a wrong index is never published
		return s, advice.Because(err, "report this", "the solid form of release %d for %s can't be read", h.Number, h.Target)
	}
	o, err := m.store.putObject(index)
	h.Patches = append(h.Patches, release.PatchRef{From: release.SolidFrom(), Object: o})
	return s, err
}

// plan plans the groups. The forms of an earlier release are known.
func (m *solidMaker) plan(ctx context.Context, b *blobs, contents []solid.Content, to releaseLists) ([]solid.Group, error) {
	earlier := m.earlier(to.entry)
	for _, g := range earlier.Groups {
		for _, member := range g.Members {
			if member.IsForm() {
				m.examined[examinedContent{earlier.Contents[member.Content].Sum, true}] = member
			}
		}
	}
	return solid.Plan(contents, earlier, func(c solid.Content, member *solid.Member) (err error) {
		key, place := examinedContent{c.Sum, c.Resource}, member.Content
		known := false
		if *member, known = m.examined[key]; !known {
			if *member, err = m.examine(ctx, b, c); err != nil {
				return err
			}
			m.examined[key] = *member
		}
		member.Content = place
		return nil
	})
}

// minFormGain is by how much larger than its content a form is at least, in percent: below it inflating gains little.
const minFormGain = 2

// examine decides how a content goes into a group. Programs for x86 have calls, also those of a game that is a program, which are resources.
func (m *solidMaker) examine(ctx context.Context, b *blobs, c solid.Content) (s solid.Member, err error) {
	in, err := b.openBlob(ctx, c.Sum)
	if err != nil {
		return s, err
	}
	if c.Resource {
		s.Recipe, s.Size, err = deflate.AnalyzeForm(ctx, in, c.Size, solid.MaxGroup, m.workers)
	}
	if err == nil && s.Size < c.Size+c.Size*minFormGain/100 {
		head := make([]byte, min(c.Size, check.HeadSize))
		_, err = io.ReadFull(io.NewSectionReader(in, 0, c.Size), head)
		s = solid.Member{Size: c.Size, Calls: check.IsX86(head)}
	}
	return s, errors.Join(err, in.Close())
}

// earlier is the solid form of the last release before an entry, as far as its parts exist. A damaged one is passed over.
func (m *solidMaker) earlier(line release.Entry) solid.Form {
	for _, e := range m.releases.earlier(line) {
		h, err := m.releases.head(e)
		if err != nil {
			continue
		}
		form, err := m.releases.solidForm(h)
		if err != nil || form.Groups == nil {
			continue
		}
		form.Groups = slices.DeleteFunc(form.Groups, func(g solid.Group) bool {
			return slices.ContainsFunc(g.Parts, func(p release.Object) bool { return !m.store.has(p) })
		})
		return form
	}
	return solid.Form{}
}

// solidForm reads the solid form of a release; it has no groups if the release has none.
func (r *releases) solidForm(h release.Head) (form solid.Form, err error) {
	o, found := h.Solid()
	if !found {
		return form, nil
	}
	list, err := r.listing(h)
	if err != nil {
		return form, err
	}
	data, err := r.object(o)
	if err == nil {
		err = o.Verify(data)
	}
	if err != nil {
		return form, err
	}
	return solid.OpenForm(data, list)
}

// packAll packs the groups without parts.
func (m *solidMaker) packAll(ctx context.Context, b *blobs, contents []solid.Content, groups []solid.Group, s *SolidSummary) error {
	var fresh []*solid.Group
	for i := range groups {
		if groups[i].Parts == nil {
			fresh = append(fresh, &groups[i])
			s.Packed += groups[i].Size()
		}
		for _, p := range groups[i].Parts {
			m.store.touch(p)
		}
	}
	m.meter.startStep("pack together", "", s.Packed)
	workers := min(m.workers, 1+int(m.memory/solidMemory))
	made := make([][]release.Object, len(fresh))
	err := parallel.Each(ctx, workers, len(fresh), func(ctx context.Context, i int) (err error) {
		made[i], err = m.packGroup(ctx, b, contents, *fresh[i])
		return err
	})
	for i, g := range fresh {
		g.Parts = made[i]
		if err == nil {
			m.made[m.groupKey(contents, *g)] = made[i]
		}
	}
	return err
}

// groupKey identifies the parts of a group by all that they depend on: its contents, their forms and calls, and the effort.
func (m *solidMaker) groupKey(contents []solid.Content, g solid.Group) string {
	h := release.SHA256.NewHash()
	fmt.Fprintln(h, "effort", m.effort)
	for _, member := range g.Members {
		io.WriteString(h, contents[member.Content].Sum.Hex())
		if member.IsForm() {
			h.Write(member.Recipe.Append(nil))
		}
		if member.Calls {
			io.WriteString(h, "calls")
		}
	}
	return "solid " + release.SHA256.SumOf(h).Hex()
}

// packGroup makes the parts of a new group, unless they were made before.
func (m *solidMaker) packGroup(ctx context.Context, b *blobs, contents []solid.Content, g solid.Group) ([]release.Object, error) {
	key := m.groupKey(contents, g)
	if parts := m.made[key]; parts != nil {
		m.meter.addBytes(g.Size(), "")
		return parts, nil
	}
	if parts := m.recorded(key); parts != nil {
		m.meter.addBytes(g.Size(), "")
		return parts, nil
	}
	data, err := readGroup(ctx, b, contents, g)
	if err != nil {
		return nil, err
	}
	at, packed, end := int64(0), 0, g.Members[0].Size // end: of member packed
	frames, err := solid.Encode(ctx, data, m.effort, func(done int) {
		for ; end < int64(done); end += g.Members[packed].Size {
			packed++
		}
		m.meter.addBytes(int64(done)-at, b.at[contents[g.Members[packed].Content].Sum].path)
		at = int64(done)
	})
	if err != nil {
		return nil, err
	}
	parts := [][]byte{bytes.Join(frames, nil)} // clients decode a part while it arrives
	if err := verifyParts(parts, data); err != nil {
		return nil, advice.Because(err, "report this", "contents that were packed together do not unpack")
	}
	var list []release.Object
	for i, part := range parts {
		o := release.ObjectOf(part)
		if err := m.store.putAs(part, o, o.Path(), func() error { return m.ledger.AddResult(cache.RowKey(key, i), cache.Result{Object: o}) }); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, m.ledger.EndObjects(key, len(list))
}

// recorded are the parts of a group that the ledger has, if all of them exist.
func (m *solidMaker) recorded(key string) []release.Object {
	parts, complete := m.ledger.FindObjects(key)
	if !complete || slices.ContainsFunc(parts, func(p release.Object) bool { return !m.store.has(p) }) {
		return nil
	}
	for _, p := range parts {
		m.store.touch(p)
	}
	return parts
}

// readGroup reads the stretches of a group, and checks the digests of their contents.
func readGroup(ctx context.Context, b *blobs, contents []solid.Content, g solid.Group) ([]byte, error) {
	data := make([]byte, 0, g.Size())
	for _, member := range g.Members {
		c := contents[member.Content]
		in, err := b.openBlob(ctx, c.Sum)
		if err != nil {
			return nil, err
		}
		at := len(data)
		data = data[:at+int(member.Size)]
		if member.IsForm() {
			err = readForm(ctx, data[at:], in, c, member.Recipe)
		} else if _, err = io.ReadFull(io.NewSectionReader(in, 0, c.Size), data[at:]); err == nil && release.ObjectOf(data[at:]).Sum != c.Sum {
			err = errDiffers
		}
		if err == nil && member.Calls {
			solid.EncodeCalls(data[at:])
		}
		if e := in.Close(); err == nil {
			err = e
		}
		if err != nil {
			return nil, advice.Because(fmt.Errorf("%s changed while it was packed: %v", b.name(c.Sum), err), "publish when nothing writes there", "read a content")
		}
	}
	return data, nil
}

var errDiffers = errors.New("its digest is another one")

// readForm fills a buffer with the form of a content, and checks that it makes the content again, as a client does.
func readForm(ctx context.Context, form []byte, in io.ReaderAt, c solid.Content, recipe deflate.Recipe) error {
	buffer := bytes.NewBuffer(form[:0:len(form)])
	if err := deflate.Expand(ctx, buffer, in, c.Size, int64(len(form)), recipe); err != nil {
		return err
	}
	h := release.SHA256.NewHash()
	if err := deflate.Rebuild(ctx, h, bytes.NewReader(form), int64(len(form)), c.Size, recipe); err != nil {
		return err
	}
	if buffer.Len() != len(form) || release.SHA256.SumOf(h) != c.Sum {
		return errDiffers
	}
	return nil
}

// verifyParts decodes parts like a client, so that a wrong one is never published.
func verifyParts(parts [][]byte, data []byte) error {
	d, err := solid.NewDecoder(int64(len(data)), nil, nil)
	for _, p := range parts {
		if err == nil {
			err = d.Part(bytes.NewReader(p), int64(len(p)), nil)
		}
	}
	if err == nil && !bytes.Equal(d.Data(), data) {
		err = fmt.Errorf("they unpack to other bytes")
	}
	return err
}
