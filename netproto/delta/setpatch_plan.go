package delta

import (
	"context"
	"path"
	"slices"

	"collet/netproto/release"
)

// planGroups divides the stream into groups and chooses their references.
func (m *setMaker) planGroups(ctx context.Context) error {
	stream := m.delta.stream()
	finder := newSimilarFiles(m.old.Listing, m.fresh.Listing)
	for first := 0; first < len(stream); {
		g := setGroup{first: first}
		var cost, olds int64
		for first+g.count < len(stream) {
			c := m.delta.fresh[stream[first+g.count]]
			l, err := m.compareLong(ctx, c)
			if err != nil {
				return err
			}
			fresh, old := m.patchedBytes(c, l)
			memory := PatchOptions{}.Memory(olds+old, cost+fresh)
			if g.count > 0 && (cost+fresh > m.options.Group || memory > m.options.MaxMemory || m.mustSplit(stream[first], stream[first+g.count])) {
				break
			}
			g.whole = memory > m.options.MaxMemory // alone in its group then
			if cost, olds = cost+fresh, olds+old; l != nil {
				l.member = g.count
				g.longs = append(g.longs, *l)
			}
			if g.count++; g.whole {
				break
			}
		}
		m.delta.groups = append(m.delta.groups, g)
		if !g.whole {
			spare := (m.options.MaxMemory - PatchOptions{}.Memory(olds, cost)) / 7
			m.addReferences(len(m.delta.groups)-1, finder, min(spare, DefaultGroup))
		}
		first += g.count
	}
	return nil
}

// mustSplit reports whether two contents belong to separate groups: one is a host's and the other is not. A client that
// does not update its host has no old host either, and would lose the whole group.
func (m *setMaker) mustSplit(a, b int) bool {
	return m.isHost(m.delta.fresh[a]) != m.isHost(m.delta.fresh[b])
}

func (m *setMaker) isHost(c freshContent) bool { return m.fresh.Listing[c.file].Use == release.UseHost }

// patchedBytes is how many bytes of new and old contents a content adds to a patch.
func (m *setMaker) patchedBytes(c freshContent, l *longContent) (fresh, old int64) {
	switch {
	case l != nil:
		for _, e := range l.oldLeft(m.old.Listing[l.old].Size) {
			old += e.size
		}
		return l.left(c.size), old
	case c.old >= 0:
		return c.size, m.old.Listing[c.old].Size
	default:
		return c.size, 0
	}
}

// compareLong compares a content that is too large for a patch with its old version, block by block. It returns nil for others.
func (m *setMaker) compareLong(ctx context.Context, c freshContent) (*longContent, error) {
	old := c.old
	if old < 0 {
		old = m.renamedFrom(c)
	}
	if old < 0 {
		return nil, nil
	}
	oldSize := m.old.Listing[old].Size
	tooLarge := PatchOptions{}.Memory(oldSize, c.size) > m.options.MaxMemory
	resource := m.fresh.Listing[c.file].Use == release.UseResource && c.size >= m.options.LongResource
	if !tooLarge && !resource {
		return nil, nil
	}
	copies, err := findSame(ctx, m.olds.reader(old), oldSize, m.news.reader(c.file), c.size)
	if err != nil || len(copies) == 0 {
		return nil, err
	}
	return &longContent{old: old, copies: copies}, nil
}

// renamedFrom finds the old file that a large new one probably continues under another path: the largest removed file with
// its extension, or -1.
func (m *setMaker) renamedFrom(c freshContent) int {
	if c.size < m.options.LongResource {
		return -1
	}
	best := -1
	for i, f := range m.old.Listing {
		_, stays := m.fresh.Listing.Find(f.Path)
		if !stays && path.Ext(f.Path) == path.Ext(c.path) && (best < 0 || f.Size > m.old.Listing[best].Size) {
			best = i
		}
	}
	return best
}

// addReferences adds references for the contents without an old version, of at most spare bytes.
func (m *setMaker) addReferences(g int, finder *similarFiles, spare int64) {
	group := &m.delta.groups[g]
	seen := map[release.Digest]bool{}
	for _, i := range m.delta.references(g, m.old.Listing) {
		seen[m.old.Listing[i].Sum] = true
	}
	hosts := m.isHost(m.delta.fresh[m.delta.members(g)[0]])
	add := func(i int) {
		f := m.old.Listing[i]
		if f.Use == release.UseHost && !hosts {
			return // not every client has it
		}
		if !seen[f.Sum] && f.Size > 0 && f.Size <= spare {
			seen[f.Sum] = true
			spare -= f.Size
			group.extra = append(group.extra, i)
		}
	}
	exts := map[string]bool{}
	for member, c := range m.delta.members(g) {
		f := m.delta.fresh[c]
		if f.old < 0 && group.long(member) == nil {
			exts[extOf(f.path)] = true
			for _, i := range finder.find(f) {
				add(i)
			}
		}
	}
	for _, i := range finder.gone {
		if exts[extOf(m.old.Listing[i].Path)] {
			add(i)
		}
	}
	slices.Sort(group.extra)
}

// similarFiles finds old files similar to a new one.
type similarFiles struct {
	old    release.Listing
	gone   []int            // old files whose path was removed
	byBase map[string][]int // by name without folder
	byKind map[string][]int // by folder and extension
	byExt  map[string][]int // removed ones, by extension
}

// maxCompared is how many old files are compared for one new file: a better candidate beyond is rare, and a renamed tree of
// thousands would take minutes.
const maxCompared = 256

func newSimilarFiles(old, fresh release.Listing) *similarFiles {
	k := &similarFiles{old: old, byBase: map[string][]int{}, byKind: map[string][]int{}, byExt: map[string][]int{}}
	for i, f := range old {
		base := path.Base(f.Path)
		k.byBase[base] = append(k.byBase[base], i)
		kind := path.Dir(f.Path) + "/" + extOf(base)
		k.byKind[kind] = append(k.byKind[kind], i)
		if _, stays := fresh.Find(f.Path); !stays {
			k.gone = append(k.gone, i)
			k.byExt[extOf(base)] = append(k.byExt[extOf(base)], i)
		}
	}
	return k
}

// find returns the best old files for a new one, best first: two with its name elsewhere, else two with a similar name in
// its folder or among the removed ones.
func (k *similarFiles) find(c freshContent) []int {
	base := path.Base(c.path)
	if named := k.bestTwo(c, k.byBase[base]); len(named) > 0 {
		return named
	}
	return k.bestTwo(c, k.byExt[extOf(base)], k.byKind[path.Dir(c.path)+"/"+extOf(base)])
}

// bestTwo selects two.
func (k *similarFiles) bestTwo(c freshContent, lists ...[]int) []int {
	var first, second = -1, -1
	var most, next float64
	for _, list := range lists {
		for _, i := range list[:min(len(list), maxCompared)] {
			switch score := pathSimilarity(c.path, k.old[i].Path) + sizeSimilarity(c.size, k.old[i].Size); {
			case i == first:
			case score > most:
				first, second, most, next = i, first, score, most
			case score > next:
				second, next = i, score
			}
		}
	}
	return slices.DeleteFunc([]int{first, second}, func(i int) bool { return i < 0 })
}

// pathSimilarity is twice the length of common prefix and suffix by that of the longer path, 0 to 2.
func pathSimilarity(a, b string) float64 {
	head := sharedHead(a, b)
	tail := sharedTail(a[head:], b[head:])
	return 2 * float64(head+tail) / float64(max(len(a), len(b)))
}

// sizeSimilarity is the ratio of the smaller to the larger size, 0 to 1.
func sizeSimilarity(a, b int64) float64 {
	return float64(min(a, b)+1) / float64(max(a, b)+1)
}
