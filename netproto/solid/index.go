package solid

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
)

const (
	// indexMagic begins an index; its last byte is the version. A client that does not know it ignores the solid form.
	indexMagic = "CI\x01"
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

// Member is a stretch of a group: a content, or bytes of contents that the set no longer has.
type Member struct {
	Content int   // its place in Contents, or Gone
	Size    int64 // bytes
}

// Gone is the Content of a stretch that belongs to no content of the set.
const Gone = -1

// Group is a group of a solid form.
type Group struct {
	Members []Member         // in the order of their bytes
	Parts   []release.Object // in the order in which they are decoded
}

// Size is the size of the group's contents in bytes, with those that are gone.
func (g Group) Size() (n int64) {
	for _, m := range g.Members {
		n += m.Size
	}
	return n
}

// Live is the size of the contents that the set has.
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

// EncodeIndex writes the index of groups. Each content is in one group at most.
func EncodeIndex(groups []Group) []byte {
	b := binary.AppendUvarint([]byte(indexMagic), uint64(len(groups)))
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
	if len(data) > MaxIndex || !bytes.HasPrefix(data, []byte(indexMagic)) {
		return nil, fault("an index that this version doesn't know")
	}
	p := &indexReader{r: bytes.NewReader(data[len(indexMagic):]), contents: contents, taken: make([]bool, len(contents))}
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
	return groups, nil
}

type indexReader struct {
	r        *bytes.Reader
	contents []Content
	taken    []bool
	next     int
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
			g.Members = append(g.Members, Member{Gone, v >> 1})
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
		g.Members = append(g.Members, Member{i, p.contents[i].Size})
		if left -= p.contents[i].Size; left < 0 {
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

// GroupOf is the place in Groups of each content that the set has.
func (f Form) GroupOf() map[release.Digest]int {
	groups := make(map[release.Digest]int, len(f.Contents))
	for g, group := range f.Groups {
		for _, m := range group.Members {
			if m.Content != Gone {
				groups[f.Contents[m.Content].Sum] = g
			}
		}
	}
	return groups
}
