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
	"collet/platform/interrupt"
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
	// minGrowthPercent is by how much larger than their files the forms of the rebuilt files are together at least. Below it inflating gains
	// little.
	minGrowthPercent = 2
	// maxExpansion is how many times larger than its file a form is at most. Packs have 2 to 5.
	maxExpansion = 64
	// keptShare is the share of a file's streams, in percent of their compressed bytes, from which on unchanged ones stay compressed. Below it
	// they would save little time, and new streams can't refer to them: monaco-editor, with 21 % of its bytes unchanged, had a patch 6 %
	// larger.
	keptShare = 50
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
	expandedOld, oldForms, oldFiles := m.header.expandOld(old.Listing)
	expandedNew, newForms, newFiles := m.expandNew()
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
		delta.SetSide{Listing: expandedOld, Source: formSource{old.Source, oldForms, oldFiles, m.olds}},
		delta.SetSide{Listing: expandedNew, Source: formSource{fresh.Source, newForms, newFiles, m.news}}, o)
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

// expandAll makes the forms of new files that are worth it, and of the old files from which they may derive. Streams that a file and its
// old version have stay compressed in both, because the set patch copies them, unless they are few.
func (m *maker) expandAll(ctx context.Context) error {
	for _, f := range slices.Concat(m.old.Listing, m.fresh.Listing) {
		if isForm(f.Path) {
			return ErrNothingDeflated
		}
	}
	news, olds := changed(m.fresh.Listing, m.old.Listing), changed(m.old.Listing, m.fresh.Listing)
	newStreams, err := sumStreams(ctx, m.fresh, news, m.old)
	if err != nil {
		return err
	}
	oldStreams, err := sumStreams(ctx, m.old, olds, m.fresh)
	if err != nil {
		return err
	}
	dropFew(newStreams, oldStreams)
	plain, packed := int64(0), int64(0)
	added := map[string]bool{} // extensions of new files without an old version
	for _, i := range news {
		if len(m.news) == MaxForms {
			break
		}
		made, out, err := m.expand(ctx, m.fresh, i, oldStreams[partner(m.fresh.Listing[i].Path, m.old)])
		if err != nil {
			return err
		}
		if out == nil {
			continue
		}
		f := m.fresh.Listing[i]
		m.news, m.newFiles, m.newPaths[f.Path] = append(m.news, out), append(m.newFiles, i), true
		plain, packed = plain+made.plain, packed+made.packed
		m.newSizes, m.newSums = append(m.newSizes, made.size), append(m.newSums, made.sum)
		m.header.news = append(m.header.news, form{size: f.Size, sum: f.Sum, recipe: made.recipe})
		if _, found := m.old.Listing.Find(f.Path); !found {
			added[strings.ToLower(path.Ext(f.Path))] = true
		}
	}
	if plain*100 < packed*(100+minGrowthPercent) || len(m.news) == 0 {
		return ErrNothingDeflated
	}
	for _, i := range olds {
		if len(m.olds) == MaxForms || !m.mayDerive(m.old.Listing[i], added) {
			continue
		}
		made, out, err := m.expand(ctx, m.old, i, newStreams[partner(m.old.Listing[i].Path, m.fresh)])
		if err != nil {
			return err
		}
		if out != nil {
			m.header.olds, m.olds = append(m.header.olds, made.form), append(m.olds, out)
		}
	}
	if len(m.olds) == 0 {
		return ErrNothingDeflated
	}
	return nil
}

// changed are the files of a set that may get a form: resources whose content the other set does not have.
func changed(set, other release.Listing) (list []int) {
	there := map[release.Digest]bool{}
	for _, f := range other {
		there[f.Sum] = true
	}
	for i, f := range set {
		if !there[f.Sum] && f.Use == release.UseResource && len(f.Path)+len(FormSuffix) <= release.MaxPath {
			list = append(list, i)
		}
	}
	return list
}

// streamSum is the beginning of the SHA-256 of a compressed stream.
type streamSum [16]byte

// partner names the file of the other set that a file is compared with: its path, or nothing if the other set has no such file. All these are
// compared together, because files change their names.
func partner(name string, other delta.SetSide) string {
	if _, found := other.Listing.Find(name); found {
		return name
	}
	return ""
}

// streams are the compressed sizes of streams, by their sums.
type streams map[streamSum]int64

// dropFew removes the partners with a smaller share of unchanged streams than keptShare from both.
func dropFew(fresh, old map[string]streams) {
	for name, list := range fresh {
		same, total := int64(0), int64(0)
		for sum, size := range list {
			if total += size; old[name][sum] > 0 {
				same += size
			}
		}
		if same*100 < total*keptShare {
			delete(fresh, name)
			delete(old, name)
		}
	}
}

// sumStreams is all streams of some files, by partner.
func sumStreams(ctx context.Context, side delta.SetSide, files []int, other delta.SetSide) (map[string]streams, error) {
	all := map[string]streams{}
	for _, i := range files {
		name := partner(side.Listing[i].Path, other)
		sums := all[name]
		if sums == nil {
			sums = streams{}
			all[name] = sums
		}
		err := withFile(side, i, func(file *lockedReader, size int64) error {
			list, err := scan(file, size, size, nil)
			if err != nil {
				return err
			}
			for _, s := range list {
				sum, err := s.sum(ctx, file)
				if err != nil {
					return err
				}
				sums[sum] = s.size
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sum reads the stream of a file.
func (s stream) sum(ctx context.Context, file io.ReaderAt) (sum streamSum, err error) {
	h := release.SHA256.NewHash()
	_, err = io.Copy(h, interrupt.Reader(ctx, io.NewSectionReader(file, s.start, s.size)))
	copy(sum[:], h.Sum(nil))
	return sum, err
}

// withFile opens a file of a set for a call of do.
func withFile(side delta.SetSide, i int, do func(file *lockedReader, size int64) error) error {
	file, err := side.Source.Open(i)
	if err != nil {
		return err
	}
	return errors.Join(do(&lockedReader{r: file}, side.Listing[i].Size), file.Close())
}

// mayDerive reports whether a rebuilt file may derive from an old file: it has its path, or the old file is gone and an added one has its
// extension.
func (m *maker) mayDerive(old release.ListedFile, added map[string]bool) bool {
	_, stays := m.fresh.Listing.Find(old.Path)
	return m.newPaths[old.Path] || !stays && added[strings.ToLower(path.Ext(old.Path))]
}

// expanded is a form that was made.
type expanded struct {
	form
	plain, packed int64 // bytes of its inflated streams, and of these streams in the file
}

// expand makes the form of a file; out is nil if the file has no stream that can be made again, beside those in keep.
func (m *maker) expand(ctx context.Context, side delta.SetSide, i int, keep streams) (made expanded, out ScratchFile, err error) {
	err = withFile(side, i, func(file *lockedReader, size int64) error {
		if made, err = m.analyze(ctx, file, size, keep); err != nil || made.plain == 0 {
			return err
		}
		if out, err = m.scratch.Create(); err != nil {
			return err
		}
		sum := release.SHA256.NewHash()
		if err = Expand(ctx, io.MultiWriter(out, sum), file, size, made.size, made.recipe); err == nil {
			err = out.Flush()
		}
		made.file, made.sum = i, release.SHA256.SumOf(sum)
		return err
	})
	if err != nil && out != nil {
		err = errors.Join(fmt.Errorf("expand %q: %w", side.Listing[i].Path, err), out.Close())
	}
	return made, out, err
}

// analyze finds the recipe of a file and the size of its form; plain is 0 for a file without a form. Streams in keep stay as they are.
func (m *maker) analyze(ctx context.Context, file *lockedReader, size int64, keep streams) (made expanded, err error) {
	list, err := scan(file, size, size, nil)
	if err != nil {
		return made, err
	}
	kept := make([]bool, len(list))
	for i, s := range list {
		sum, err := s.sum(ctx, file)
		if err != nil {
			return made, err
		}
		kept[i] = keep[sum] > 0
	}
	if made.recipe, err = analyze(ctx, file, list, kept, m.workers); err != nil {
		return made, err
	}
	for i, p := range made.recipe.params() {
		if p != (Params{}) {
			made.plain, made.packed = made.plain+list[i].plain, made.packed+list[i].size
		}
	}
	if made.size = size + made.plain - made.packed; !fits(made.size, size, MaxForm) {
		made = expanded{}
	}
	return made, nil
}

// expandNew is the expanded new listing, as expandOld is the old one. It sorts the forms by their paths in it.
func (m *maker) expandNew() (list release.Listing, formIndex, fileIndex []int) {
	formOf := map[int]int{}
	for n, i := range m.newFiles {
		formOf[i] = n
	}
	var all []entry
	for i, f := range m.fresh.Listing {
		n, rebuilt := formOf[i]
		if !rebuilt {
			n = -1
		} else {
			f.Path, f.Size, f.Sum = f.Path+FormSuffix, m.newSizes[n], m.newSums[n]
		}
		all = append(all, entry{f, n, i})
	}
	list, formIndex, fileIndex = sortEntries(all)
	var news []form
	for _, n := range formIndex {
		if n >= 0 {
			news = append(news, m.header.news[n])
		}
	}
	m.header.news = news
	return list, formIndex, fileIndex
}

// formSource opens the files of an expanded set.
type formSource struct {
	files                delta.SetSource
	formIndex, fileIndex []int // as in expandOld
	forms                []ScratchFile
}

// Open implements delta.SetSource.
func (s formSource) Open(i int) (delta.SetFile, error) {
	if n := s.formIndex[i]; n >= 0 {
		return openForm{s.forms[n]}, nil
	}
	return s.files.Open(s.fileIndex[i])
}

// openForm is a form that stays when it is closed.
type openForm struct{ io.ReaderAt }

// Close implements io.Closer.
func (openForm) Close() error { return nil }
