package deflate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"collet/netproto/delta"
	"collet/netproto/release"
)

// Patch is an expanded set patch with a decoded header, before it is applied. It belongs to one goroutine.
type Patch struct {
	set                  *delta.SetPatch
	header               *header
	old                  release.Listing
	expanded             release.Listing // of the old set
	formIndex, fileIndex []int           // as expandOld returns them
	listing              release.Listing
	contents             []delta.SetContent
	made                 []int          // of each content: its form among the new ones, −1 for a content of the set patch itself
	place                map[string]int // of a content of the set patch, by path
	byForm               map[release.Digest][]int
	kept                 map[int]int // contents whose form the old set has already, and where in expanded it is
}

// OpenPatch reads the beginning of an expanded set patch for the set old. It checks that the result is the listing with the digest to, which
// a verified head names. Another result or a malformed patch is a *release.FormatError; an error of the reader is returned unchanged.
func OpenPatch(patch io.Reader, old release.Listing, to release.Digest) (*Patch, error) {
	r := bufio.NewReader(patch)
	h, err := readHeader(r, old)
	if err != nil {
		return nil, err
	}
	p := &Patch{header: h, old: old, place: map[string]int{}, byForm: map[release.Digest][]int{}, kept: map[int]int{}}
	p.expanded, p.formIndex, p.fileIndex = h.expandOld(old)
	if p.set, err = delta.OpenSetPatch(r, p.expanded, h.to); err != nil {
		return nil, err
	}
	if !p.set.HasListing() {
		return nil, malformed("its set patch has no digests", nil)
	}
	if p.listing, err = h.collapse(p.set.Listing()); err != nil {
		return nil, err
	}
	if sum, err := p.listing.Digest(); err != nil || sum != to {
		return nil, malformed("it does not lead to the listing that the head names", err)
	}
	p.listContents()
	return p, nil
}

// listContents lists the new contents: those of the set patch that are files, and the rebuilt files.
func (p *Patch) listContents() {
	inStream := map[release.Digest]bool{}
	for _, c := range p.set.Contents() {
		inStream[c.Sum] = true
		if !isForm(c.Path) {
			p.place[c.Path] = len(p.contents)
			p.contents, p.made = append(p.contents, c), append(p.made, -1)
		}
	}
	seen, expanded := map[release.Digest]bool{}, p.set.Listing()
	kept := map[release.Digest][]int{}
	for n, f := range p.header.news {
		if seen[f.sum] {
			continue
		}
		seen[f.sum] = true
		e := expanded[f.file]
		if inStream[e.Sum] {
			p.byForm[e.Sum] = append(p.byForm[e.Sum], len(p.contents))
		} else {
			kept[e.Sum] = append(kept[e.Sum], len(p.contents))
		}
		p.contents = append(p.contents, delta.SetContent{Sum: f.sum, Size: f.size, Path: strings.TrimSuffix(e.Path, FormSuffix), Use: e.Use})
		p.made = append(p.made, n)
	}
	for i, f := range p.expanded {
		for _, content := range kept[f.Sum] {
			p.kept[content] = i
		}
	}
}

// Listing is the new set. It is read-only.
func (p *Patch) Listing() release.Listing { return p.listing }

// Contents returns the new contents: those of the set patch in their order, then the rebuilt files.
func (p *Patch) Contents() []delta.SetContent { return p.contents }

// Work is what applying a patch takes beside the work of its set patch, in bytes.
type Work struct {
	Inflated int64 // of old streams, as estimated
	Scratch  int64 // the most that is in scratch at once
}

// Work returns the work of applying all of it.
func (p *Patch) Work() (w Work) {
	for _, f := range p.header.olds {
		w.Inflated += streamBytes(f.size, p.old[f.file].Size)
		w.Scratch += f.size
	}
	largest := int64(0)
	for _, f := range p.header.news {
		largest = max(largest, p.set.Listing()[f.file].Size)
	}
	w.Scratch += largest
	return w
}

// streamBytes estimates how many bytes of a form are inflated streams: by how much the form is larger than the file, and half of that for the
// compressed streams. Deflate makes text three to five times smaller.
func streamBytes(form, file int64) int64 { return min(max(form-file, 0)*3/2, form) }

// Rebuilt is how a content is made from its form. Sizes are in bytes.
type Rebuilt struct {
	Form     int64 // 0 for a content of the set patch itself
	Deflated int64 // of the form, to be compressed again: as many bytes at level 6 as take as long, as estimated
}

// Rebuilt has each new content.
func (p *Patch) Rebuilt() map[release.Digest]Rebuilt {
	all := make(map[release.Digest]Rebuilt, len(p.contents))
	for i, c := range p.contents {
		all[c.Sum] = Rebuilt{}
		if n := p.made[i]; n >= 0 {
			f := p.header.news[n]
			form := p.set.Listing()[f.file].Size
			all[c.Sum] = Rebuilt{form, f.recipe.Time(streamBytes(form, c.Size))}
		}
	}
	return all
}

// ApplySome reads the rest of the patch and writes the wanted contents of Contents to sink. Old forms are made when they are first read; they
// and one new form are in scratch meanwhile. Memory is that of delta.SetPatch.ApplySome and of Rebuild. A content with a wrong digest is
// a *delta.ContentError, and an old file that does not fit its recipe a *FileError; wish says what happens then. It is called once, and
// source is used by one goroutine at a time.
func (p *Patch) ApplySome(ctx context.Context, source delta.SetSource, scratch Scratch, sink delta.SetSink, wish delta.SetWish) (err error) {
	a := &applier{
		patch: p, list: p.set.Contents(), source: source, scratch: scratch, sink: sink, wish: wish,
		forms: make([]ScratchFile, len(p.header.olds)), done: map[int]bool{},
		expandFile: func(out io.Writer, file io.ReaderAt, size int64, f form) error {
			return Expand(ctx, out, file, size, f.size, f.recipe)
		},
		rebuildFile: func(out io.Writer, from io.ReaderAt, size int64, f form) error {
			return Rebuild(ctx, out, from, size, f.size, f.recipe)
		},
	}
	defer func() { err = errors.Join(err, a.close()) }()
	err = p.set.ApplySome(ctx, a, a, delta.SetWish{
		Wanted: func(i int) bool { return slices.ContainsFunc(a.contentsOf(i), wish.Wanted) },
		Failed: a.failGroup,
	})
	if err != nil {
		return err
	}
	return a.rebuildKept()
}

// applier is the state of one ApplySome. It is the source and the sink of the set patch.
type applier struct {
	patch   *Patch
	list    []delta.SetContent // of the set patch
	source  delta.SetSource
	scratch Scratch
	sink    delta.SetSink
	wish    delta.SetWish

	forms []ScratchFile // of old files, once they are made
	form  ScratchFile   // the new form that is being written, or nil
	done  map[int]bool  // contents that were made or failed

	expandFile  func(out io.Writer, file io.ReaderAt, size int64, f form) error
	rebuildFile func(out io.Writer, from io.ReaderAt, size int64, f form) error
}

func (a *applier) close() error {
	err := a.dropForm()
	for _, f := range a.forms {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func (a *applier) dropForm() error {
	form := a.form
	if a.form = nil; form == nil {
		return nil
	}
	return form.Close()
}

// fail reports the failure of a content that was not made.
func (a *applier) fail(content int, err error) error {
	if a.done[content] {
		return nil
	}
	a.done[content] = true
	return a.wish.Failed(content, 1, err)
}

// failGroup reports the failure of a group of the set patch.
func (a *applier) failGroup(first, count int, cause error) error {
	err := a.dropForm()
	for i := first; i < first+count; i++ {
		for _, content := range a.contentsOf(i) {
			if err == nil {
				err = a.fail(content, cause)
			}
		}
	}
	return err
}

// contentsOf lists the contents that a content of the set patch is, or that are rebuilt from it.
func (a *applier) contentsOf(i int) []int {
	c := a.list[i]
	if isForm(c.Path) {
		return a.patch.byForm[c.Sum]
	}
	return append([]int{a.patch.place[c.Path]}, a.patch.byForm[c.Sum]...)
}

// Open implements delta.SetSource.
func (a *applier) Open(i int) (delta.SetFile, error) {
	n := a.patch.formIndex[i]
	if n < 0 {
		return a.source.Open(a.patch.fileIndex[i])
	}
	if a.forms[n] == nil {
		form, err := a.expand(a.patch.header.olds[n])
		if err != nil {
			return nil, err
		}
		a.forms[n] = form
	}
	return openForm{a.forms[n]}, nil
}

// expand makes the form of an old file.
func (a *applier) expand(f form) (out ScratchFile, err error) {
	file, err := a.source.Open(f.file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if out, err = a.scratch.Create(); err != nil {
		return nil, err
	}
	sum := release.SHA256.NewHash()
	listed := a.patch.old[f.file]
	err = a.expandFile(io.MultiWriter(out, sum), file, listed.Size, f)
	if err == nil && release.SHA256.SumOf(sum) != f.sum {
		err = &FileError{"its form is not the expected one"}
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", listed.Path, err), out.Close())
	}
	return out, nil
}

// Begin implements delta.SetSink.
func (a *applier) Begin(i int) (io.Writer, error) {
	c := a.list[i]
	if !isForm(c.Path) && len(a.patch.byForm[c.Sum]) == 0 {
		return a.sink.Begin(a.patch.place[c.Path])
	}
	var err error
	a.form, err = a.scratch.Create()
	return a.form, err
}

// End implements delta.SetSink. A content that can't be rebuilt does not take the others of its group away.
func (a *applier) End(i int) error {
	c := a.list[i]
	if a.form == nil {
		return a.end(a.patch.place[c.Path])
	}
	flushed := a.form.Flush()
	for _, content := range a.contentsOf(i) {
		err := flushed
		if err == nil {
			err = a.rebuild(content, a.form, c.Size)
		}
		if err != nil {
			if err = a.fail(content, err); err != nil {
				return err
			}
		}
	}
	return a.dropForm()
}

// rebuild makes a content from its form, unless it is not wanted.
func (a *applier) rebuild(content int, from io.ReaderAt, size int64) error {
	if a.done[content] || !a.wish.Wanted(content) {
		return nil
	}
	c := a.patch.contents[content]
	out, err := a.sink.Begin(content)
	if err != nil {
		return err
	}
	sum := hashed{out, release.SHA256.NewHash()}
	if n := a.patch.made[content]; n >= 0 {
		err = a.rebuildFile(sum, from, size, a.patch.header.news[n])
	} else {
		_, err = io.Copy(sum, io.NewSectionReader(from, 0, size))
	}
	if err != nil {
		return err
	}
	if release.SHA256.SumOf(sum.Hash) != c.Sum {
		return &delta.ContentError{Path: c.Path, Want: c.Sum}
	}
	return a.end(content)
}

// end ends a content that was made.
func (a *applier) end(content int) error {
	err := a.sink.End(content)
	a.done[content] = err == nil
	return err
}

// hashed hashes what is written.
type hashed struct {
	out io.Writer
	hash.Hash
}

func (h hashed) Write(b []byte) (int, error) { return release.WriteHashed(h.out.Write, h.Hash, b) }

// rebuildKept makes the contents whose form the old set has already: only their compression changed.
func (a *applier) rebuildKept() error {
	for _, content := range slices.Sorted(maps.Keys(a.patch.kept)) {
		if a.done[content] || !a.wish.Wanted(content) {
			continue
		}
		i := a.patch.kept[content]
		file, err := a.Open(i)
		if err == nil {
			err = errors.Join(a.rebuild(content, &lockedReader{r: file}, a.patch.expanded[i].Size), file.Close())
		}
		if err != nil {
			if err = a.fail(content, err); err != nil {
				return err
			}
		}
	}
	return nil
}
