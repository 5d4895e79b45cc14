package deflate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"collet/netproto/delta"
	"collet/netproto/release"
)

// Scratch makes files for forms. It is safe for concurrent use.
type Scratch interface {
	Create() (ScratchFile, error)
}

// ScratchFile is a file that is written once, then read by several goroutines. Close removes it.
type ScratchFile interface {
	io.Writer
	io.ReaderAt
	// Flush follows the last Write and precedes the first ReadAt.
	Flush() error
	io.Closer
}

const (
	// leastGain is by how much larger than their files the forms of the rebuilt files are together at least, in hundredths. Below it
	// inflating gains little.
	leastGain = 2
	// maxExpansion is how many times larger than its file a form is at most. Packs have 2 to 5.
	maxExpansion = 64
)

// ErrNothingDeflated says that two sets have no deflated files that are worth an expanded set patch.
var ErrNothingDeflated = errors.New("no deflated files have changed that zlib makes again bit for bit")

// MakePatch writes an expanded set patch from one set to another. Its forms are in scratch meanwhile. The options are those of
// delta.MakeSetPatch; the patch has sums always. Errors are those of ctx, of the sources, of scratch and of out, delta.ErrPatchTooLarge, and
// ErrNothingDeflated.
func MakePatch(ctx context.Context, out io.Writer, old, fresh delta.SetSide, scratch Scratch, o delta.SetPatchOptions) (stats delta.SetPatchStats, err error) {
	m := &maker{old: old, fresh: fresh, scratch: scratch, workers: o.Workers, newPaths: map[string]bool{}}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.expandAll(ctx); err != nil {
		return stats, err
	}
	expandedOld, at, file := m.header.expandOld(old.Listing)
	expandedNew, newAt, newFile := m.expandNew()
	if m.header.to, err = expandedNew.Digest(); err != nil {
		return stats, err
	}
	size, err := m.header.write(out)
	if err != nil {
		return stats, err
	}
	if o.Sums = true; o.MaxBytes > 0 {
		if o.MaxBytes -= size; o.MaxBytes <= 0 {
			return stats, delta.ErrPatchTooLarge
		}
	}
	stats, err = delta.MakeSetPatch(ctx, out,
		delta.SetSide{Listing: expandedOld, Source: formSource{old.Source, at, file, m.olds}},
		delta.SetSide{Listing: expandedNew, Source: formSource{fresh.Source, newAt, newFile, m.news}}, o)
	stats.Bytes += size
	return stats, err
}

// maker is the state of one MakePatch.
type maker struct {
	old, fresh delta.SetSide
	scratch    Scratch
	workers    int

	header     header
	olds, news []ScratchFile   // the forms of the header
	newFiles   []int           // the file of each new form, in the new listing
	newPaths   map[string]bool // of these
	newSizes   []int64         // of each new form
	newSums    []release.Digest
}

func (m *maker) close() (err error) {
	for _, f := range slices.Concat(m.olds, m.news) {
		err = errors.Join(err, f.Close())
	}
	return err
}

// expandAll makes the forms of new files that are worth it, and of the old files from which they may derive.
func (m *maker) expandAll(ctx context.Context) error {
	for _, f := range slices.Concat(m.old.Listing, m.fresh.Listing) {
		if isForm(f.Path) {
			return ErrNothingDeflated
		}
	}
	there := map[release.Digest]bool{}
	for _, f := range m.old.Listing {
		there[f.Sum] = true
	}
	plain, files := int64(0), int64(0)
	added := map[string]bool{} // extensions of new files without an old version
	for i, f := range m.fresh.Listing {
		if there[f.Sum] || f.Use != release.UseResource || len(f.Path)+len(FormSuffix) > release.MaxPath || len(m.news) == MaxForms {
			continue
		}
		made, out, err := m.expand(ctx, m.fresh, i)
		if err != nil {
			return err
		}
		if out == nil {
			continue
		}
		plain, files, m.newPaths[f.Path] = plain+made.size, files+f.Size, true
		m.news, m.newFiles = append(m.news, out), append(m.newFiles, i)
		m.newSizes, m.newSums = append(m.newSizes, made.size), append(m.newSums, made.sum)
		m.header.news = append(m.header.news, form{size: f.Size, sum: f.Sum, recipe: made.recipe})
		if _, found := m.old.Listing.Find(f.Path); !found {
			added[strings.ToLower(path.Ext(f.Path))] = true
		}
	}
	if plain*100 < files*(100+leastGain) || len(m.news) == 0 {
		return ErrNothingDeflated
	}
	for i, f := range m.old.Listing {
		if f.Use != release.UseResource || len(f.Path)+len(FormSuffix) > release.MaxPath || len(m.olds) == MaxForms || !m.mayDerive(f, added) {
			continue
		}
		made, out, err := m.expand(ctx, m.old, i)
		if err != nil {
			return err
		}
		if out != nil {
			m.header.olds, m.olds = append(m.header.olds, made), append(m.olds, out)
		}
	}
	if len(m.olds) == 0 {
		return ErrNothingDeflated
	}
	return nil
}

// mayDerive reports whether a rebuilt file may derive from an old file: it has its path, or the old file is gone and an added one has its
// extension.
func (m *maker) mayDerive(old release.ListedFile, added map[string]bool) bool {
	_, stays := m.fresh.Listing.Find(old.Path)
	return m.newPaths[old.Path] || !stays && added[strings.ToLower(path.Ext(old.Path))]
}

// expand makes the form of a file; out is nil if the file has no stream that can be made again.
func (m *maker) expand(ctx context.Context, side delta.SetSide, i int) (made form, out ScratchFile, err error) {
	f := side.Listing[i]
	file, err := side.Source.Open(i)
	if err != nil {
		return made, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, size, err := AnalyzeForm(ctx, file, f.Size, MaxForm, m.workers)
	if err != nil || size == 0 {
		return made, nil, err
	}
	if out, err = m.scratch.Create(); err != nil {
		return made, nil, err
	}
	sum := release.SHA256.NewHash()
	if err = Expand(ctx, io.MultiWriter(out, sum), file, f.Size, size, r); err == nil {
		err = out.Flush()
	}
	if err != nil {
		return made, nil, errors.Join(fmt.Errorf("expand %q: %w", f.Path, err), out.Close())
	}
	return form{i, size, release.SHA256.SumOf(sum), r}, out, nil
}

// expandNew is the expanded new listing, as expandOld is the old one. It sorts the forms by their paths in it.
func (m *maker) expandNew() (list release.Listing, at, file []int) {
	type entry struct {
		release.ListedFile
		form, file int
	}
	var all []entry
	formOf := map[int]int{}
	for n, i := range m.newFiles {
		formOf[i] = n
	}
	for i, f := range m.fresh.Listing {
		e := entry{f, -1, i}
		if n, rebuilt := formOf[i]; rebuilt {
			e.form = n
		}
		if e.form >= 0 {
			e.Path, e.Size, e.Sum = e.Path+FormSuffix, m.newSizes[e.form], m.newSums[e.form]
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	var news []form
	for _, e := range all {
		if list, at, file = append(list, e.ListedFile), append(at, e.form), append(file, e.file); e.form >= 0 {
			news = append(news, m.header.news[e.form])
		}
	}
	m.header.news = news
	return list, at, file
}

// formSource opens the files of an expanded set.
type formSource struct {
	files    delta.SetSource
	at, file []int // as in expandOld
	forms    []ScratchFile
}

// Open implements delta.SetSource.
func (s formSource) Open(i int) (delta.SetFile, error) {
	if n := s.at[i]; n >= 0 {
		return openForm{s.forms[n]}, nil
	}
	return s.files.Open(s.file[i])
}

// openForm is a form that stays when it is closed.
type openForm struct{ io.ReaderAt }

// Close implements io.Closer.
func (openForm) Close() error { return nil }
