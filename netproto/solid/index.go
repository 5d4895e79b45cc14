package solid

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"collet/netproto/deflate"
	"collet/netproto/release"
)

const (
	// indexMagic begins an index; a byte with the version follows. A client that does not know it ignores the solid form.
	indexMagic = "CI"
	// plainVersion is the version of an index without forms, formVersion of one with forms of deflated contents, and callVersion of one
	// with contents whose calls are translated, and maybe forms.
	plainVersion = 1
	formVersion  = 2
	callVersion  = 3
	// MaxIndex is the size of the largest index in bytes: 300 000 parts or runs. It is held in memory.
	MaxIndex = 12 << 20
	// maxGroups is the largest number of groups: 2 TiB of contents.
	maxGroups = 16 << 10
	// maxParts is the largest number of parts of a group.
	maxParts = 4096
)

// Content is one distinct content of a set.
type Content struct {
	Sum      release.Digest
	Size     int64 // bytes
	Resource bool  // the first path with it is a resource
}

// Contents lists the distinct contents of a set in the order of the solid form: those of resources first, then by the lower-cased extension
// of the first path that has them, then by that path. Contents of more than MaxGroup bytes, and empty ones, are left out.
func Contents(set release.Listing) []Content {
	type placed struct {
		Content
		extension string
		path      string
	}
	var list []placed
	seen := map[release.Digest]bool{}
	for _, f := range set {
		if seen[f.Sum] || f.Size == 0 || f.Size > MaxGroup {
			continue
		}
		seen[f.Sum] = true
		list = append(list, placed{Content{f.Sum, f.Size, f.Use == release.UseResource}, strings.ToLower(path.Ext(f.Path)), f.Path})
	}
	slices.SortFunc(list, func(a, b placed) int {
		switch {
		case a.Resource && !b.Resource:
			return -1
		case b.Resource && !a.Resource:
			return 1
		}
		return cmp.Or(strings.Compare(a.extension, b.extension), strings.Compare(a.path, b.path))
	})
	contents := make([]Content, len(list))
	for i, p := range list {
		contents[i] = p.Content
	}
	return contents
}

// Member is a stretch of a group: a content, its form, or bytes of contents that the set no longer has.
type Member struct {
	Content int   // its place in Contents, or Gone
	Size    int64 // bytes of the stretch
	// Recipe makes the content from its form, if the stretch is that; see package deflate. The zero value: it is the content itself.
	Recipe deflate.Recipe
	// Calls says that the stretch is the content after EncodeCalls. A form has none.
	Calls bool
}

// IsForm reports whether the stretch is the form of a content.
func (m Member) IsForm() bool { return m.Recipe.Expands() }

// Gone is the Content of a stretch that belongs to no content of the set.
const Gone = -1

// Group is a group of a solid form.
type Group struct {
	Members []Member         // in the order of their bytes
	Parts   []release.Object // in the order in which they are decoded
}

// Size is the size of the group's stretches in bytes, with those that are gone.
func (g Group) Size() (n int64) {
	for _, m := range g.Members {
		n += m.Size
	}
	return n
}

// Live is the size of the stretches of contents that the set has.
func (g Group) Live() (n int64) {
	for _, m := range g.Members {
		if m.Content != Gone {
			n += m.Size
		}
	}
	return n
}

// Packed is the size of the parts in bytes.
func (g Group) Packed() (n int64) {
	for _, p := range g.Parts {
		n += p.Size
	}
	return n
}

// Deflated is how long compressing the forms again takes, as bytes at level 6.
func (g Group) Deflated() (n int64) {
	for _, m := range g.Members {
		n += m.Recipe.Time(m.Size)
	}
	return n
}

// EncodeIndex writes the index of groups. Each content is in one group at most.
func EncodeIndex(groups []Group) []byte {
	b := binary.AppendUvarint(appendForms([]byte(indexMagic), groups), uint64(len(groups)))
	next := 0 // the content that follows the last one
	for _, g := range groups {
		runs := runsOf(g.Members)
		b = binary.AppendUvarint(b, uint64(len(runs)))
		for _, r := range runs {
			if r.first == Gone {
				b = binary.AppendUvarint(b, uint64(r.size)<<1|1)
				continue
			}
			b = binary.AppendUvarint(b, uint64(r.count)<<1)
			b = binary.AppendUvarint(b, signed(int64(r.first-next)))
			next = r.first + r.count
		}
		b = binary.AppendUvarint(b, uint64(len(g.Parts)))
		for _, p := range g.Parts {
			sum, _ := p.Sum.SHA256()
			b = binary.AppendUvarint(append(b, sum[:]...), uint64(p.Size))
		}
	}
	return b
}

// appendForms appends the version, and the contents that are not in their groups as they are, in the order of their contents.
func appendForms(b []byte, groups []Group) []byte {
	var forms, calls []Member
	for _, g := range groups {
		for _, m := range g.Members {
			switch {
			case m.IsForm():
				forms = append(forms, m)
			case m.Calls:
				calls = append(calls, m)
			}
		}
	}
	version := byte(plainVersion)
	switch {
	case len(calls) > 0:
		version = callVersion
	case len(forms) > 0:
		version = formVersion
	}
	if b = append(b, version); version == plainVersion {
		return b
	}
	b = appendList(b, forms, func(b []byte, m Member) []byte { return m.Recipe.Append(binary.AppendUvarint(b, uint64(m.Size))) })
	if version == callVersion {
		b = appendList(b, calls, func(b []byte, _ Member) []byte { return b })
	}
	return b
}

// appendList appends a list of contents: for each, its distance to the one before, and what add appends.
func appendList(b []byte, list []Member, add func([]byte, Member) []byte) []byte {
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Content, b.Content) })
	b = binary.AppendUvarint(b, uint64(len(list)))
	before := -1
	for _, m := range list {
		b = add(binary.AppendUvarint(b, uint64(m.Content-before-1)), m)
		before = m.Content
	}
	return b
}

// run is a row of consecutive contents, or a stretch that is gone.
type run struct {
	first int // Gone for a stretch
	count int
	size  int64
}

func runsOf(members []Member) (runs []run) {
	for _, m := range members {
		last := len(runs) - 1
		switch {
		case m.Content == Gone && last >= 0 && runs[last].first == Gone:
			runs[last].size += m.Size
		case m.Content == Gone:
			runs = append(runs, run{first: Gone, size: m.Size})
		case last >= 0 && runs[last].first != Gone && runs[last].first+runs[last].count == m.Content:
			runs[last].count++
		default:
			runs = append(runs, run{first: m.Content, count: 1})
		}
	}
	return runs
}

// ParseIndex reads an index for the contents of a set. A malformed one, or one of another version, is an *Error.
func ParseIndex(data []byte, contents []Content) ([]Group, error) {
	rest, known := bytes.CutPrefix(data, []byte(indexMagic))
	if len(data) > MaxIndex || !known || len(rest) == 0 || rest[0] < plainVersion || rest[0] > callVersion {
		return nil, fault("an index that this version doesn't know")
	}
	p := &indexReader{contents: contents, taken: make([]bool, len(contents)), changed: map[int]Member{}}
	version, rest := rest[0], rest[1:]
	if version > plainVersion {
		var err error
		if rest, err = p.readForms(rest, version); err != nil {
			return nil, err
		}
	}
	p.r = bytes.NewReader(rest)
	count, err := number(p.r, "number of groups", maxGroups)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for range count {
		g, err := p.group()
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	if p.r.Len() > 0 {
		return nil, fault("bytes behind the end of an index")
	}
	for content := range p.changed {
		if !p.taken[content] {
			return nil, fault("a form or calls of a content that is in no group")
		}
	}
	return groups, nil
}

type indexReader struct {
	r        *bytes.Reader
	contents []Content
	taken    []bool
	changed  map[int]Member // contents that are not in their groups as they are, by their place
	next     int
}

// readForms reads the forms, and with callVersion the contents with calls. It returns the bytes behind them.
func (p *indexReader) readForms(b []byte, version byte) ([]byte, error) {
	rest, forms, err := p.readList(b, "form", func(b []byte, m Member) (Member, []byte, error) {
		r := bytes.NewReader(b)
		size, err := number(r, "size of a form", MaxGroup)
		if err != nil {
			return m, nil, err
		}
		recipe, rest, bad := deflate.ReadRecipe(b[len(b)-r.Len():])
		if bad != nil || !recipe.Expands() || size == 0 {
			return m, nil, &Error{What: "a form", Err: bad}
		}
		m.Size, m.Recipe = size, recipe
		return m, rest, nil
	})
	calls := 0
	if err == nil && version == callVersion {
		rest, calls, err = p.readList(rest, "content with calls", func(b []byte, m Member) (Member, []byte, error) {
			m.Calls = true
			return m, b, nil
		})
	}
	if err == nil && (version == formVersion && forms == 0 || version == callVersion && calls == 0) {
		err = fault("an index of version %d with nothing that needs it", version)
	}
	return rest, err
}

// readList reads a list of contents to changed. read reads what follows each of them.
func (p *indexReader) readList(b []byte, what string, read func([]byte, Member) (Member, []byte, error)) (rest []byte, count int, err error) {
	listed := func(what string) (n int64, err error) {
		r := bytes.NewReader(b)
		n, err = number(r, what, int64(len(p.contents)))
		b = b[len(b)-r.Len():]
		return n, err
	}
	n, err := listed("number of entries: " + what)
	before := int64(-1)
	for range n {
		gap, err := listed("place of a " + what)
		if err != nil {
			return nil, 0, err
		}
		if before += gap + 1; before >= int64(len(p.contents)) {
			return nil, 0, fault("a %s at a place that the set does not have", what)
		}
		at := int(before)
		if _, twice := p.changed[at]; twice {
			return nil, 0, fault("a content with a form and with calls")
		}
		if p.changed[at], b, err = read(b, Member{Content: at, Size: p.contents[at].Size}); err != nil {
			return nil, 0, err
		}
	}
	return b, int(n), err
}

func (p *indexReader) group() (g Group, err error) {
	runs, err := number(p.r, "number of runs", int64(p.r.Len()))
	if err != nil {
		return g, err
	}
	left := int64(MaxGroup)
	for range runs {
		v, err := number(p.r, "run", 2*MaxGroup+1)
		if err != nil {
			return g, err
		}
		if v&1 == 1 {
			g.Members = append(g.Members, Member{Content: Gone, Size: v >> 1})
			left -= v >> 1
		} else if left, err = p.run(&g, v>>1, left); err != nil {
			return g, err
		}
		if left < 0 || v>>1 == 0 {
			return g, fault("a group of more than %d bytes, or an empty run", MaxGroup)
		}
	}
	if left == MaxGroup {
		return g, fault("an empty group")
	}
	return g, p.parts(&g)
}

// run reads a row of contents. left is how many bytes the group may still have.
func (p *indexReader) run(g *Group, count, left int64) (int64, error) {
	v, err := number(p.r, "content", 4*release.MaxSet)
	if err != nil {
		return left, err
	}
	first := int64(p.next) + unsigned(uint64(v))
	if first < 0 || first+count > int64(len(p.contents)) {
		return left, fault("contents that the set does not have")
	}
	for i := int(first); i < int(first+count); i++ {
		if p.taken[i] {
			return left, fault("a content that is in two places")
		}
		p.taken[i] = true
		m, changed := p.changed[i]
		if !changed {
			m = Member{Content: i, Size: p.contents[i].Size}
		}
		g.Members = append(g.Members, m)
		if left -= m.Size; left < 0 {
			return left, nil
		}
	}
	p.next = int(first + count)
	return left, nil
}

func (p *indexReader) parts(g *Group) error {
	count, err := number(p.r, "number of parts", maxParts)
	if err != nil {
		return err
	}
	if count == 0 {
		return fault("a group without parts")
	}
	for range count {
		var sum [32]byte
		if n, _ := p.r.Read(sum[:]); n < len(sum) {
			return fault("an index that is cut off")
		}
		size, err := number(p.r, "size of a part", MaxPart)
		if err != nil {
			return err
		}
		if size == 0 {
			return fault("an empty part")
		}
		g.Parts = append(g.Parts, release.Object{Sum: release.SHA256Digest(sum), Size: size})
	}
	return nil
}

// Form is the solid form of a set. A set without one has the zero value.
type Form struct {
	Contents []Content // of the set, see Contents
	Groups   []Group
}

// OpenForm reads the index of a set's solid form, see ParseIndex.
func OpenForm(index []byte, set release.Listing) (f Form, err error) {
	f.Contents = Contents(set)
	f.Groups, err = ParseIndex(index, f.Contents)
	return f, err
}

// Place is where a content is.
type Place struct {
	Group int   // in Groups
	Form  int64 // size in bytes of the form from which it is made; 0: the group has the content itself
}

// Places is the place of each content that the set has.
func (f Form) Places() map[release.Digest]Place {
	places := make(map[release.Digest]Place, len(f.Contents))
	for g, group := range f.Groups {
		for _, m := range group.Members {
			if m.Content == Gone {
				continue
			}
			at := Place{Group: g}
			if m.IsForm() {
				at.Form = m.Size
			}
			places[f.Contents[m.Content].Sum] = at
		}
	}
	return places
}
