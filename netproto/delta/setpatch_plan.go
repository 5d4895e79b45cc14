package delta

import (
	"context"
	"path"
	"slices"

	"collet/netproto/release"
)

// plan divides the stream into groups and chooses their references.
func (m *setMaker) plan(ctx context.Context) error {
	stream := m.delta.stream()
	finder := newKin(m.old.Listing, m.fresh.Listing)
	for first := 0; first < len(stream); {
		g := setGroup{first: first}
		var cost, olds int64
		for first+g.count < len(stream) {
			c := m.delta.fresh[stream[first+g.count]]
			l, err := m.long(ctx, c)
			if err != nil {
				return err
			}
			fresh, old := m.needs(c, l)
			memory := PatchOptions{}.Memory(olds+old, cost+fresh)
			if g.count > 0 && (cost+fresh > m.options.Group || memory > m.options.MaxMemory || m.parted(stream[first], stream[first+g.count])) {
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
			m.refer(len(m.delta.groups)-1, finder, min(spare, DefaultGroup))
		}
		first += g.count
	}
	return nil
}

// parted reports whether two contents belong to separate groups: one is a host's and the other is not. A client that
// does not update its host has no old host either, and would lose the whole group.
func (m *setMaker) parted(a, b int) bool {
	return m.isHost(m.delta.fresh[a]) != m.isHost(m.delta.fresh[b])
}

func (m *setMaker) isHost(c freshContent) bool { return m.fresh.Listing[c.file].Use == release.UseHost }

// needs is how many bytes of new and old contents a content adds to a patch.
func (m *setMaker) needs(c freshContent, l *longContent) (fresh, old int64) {
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

// long compares a content that is too large for a patch with its old version, block by block. It returns nil for others.
func (m *setMaker) long(ctx context.Context, c freshContent) (*longContent, error) {
	old := c.old
	if old < 0 {
		old = m.namesake(c)
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
	copies, err := findSame(ctx, m.olds.file(old), oldSize, m.news.file(c.file), c.size)
	if err != nil || len(copies) == 0 {
		return nil, err
	}
	return &longContent{old: old, copies: copies}, nil
}

// namesake finds the old file that a large new one probably continues under another path: the largest removed file with
// its extension, or -1.
func (m *setMaker) namesake(c freshContent) int {
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

// refer adds references for the contents without an old version, of at most spare bytes.
func (m *setMaker) refer(g int, finder *kin, spare int64) {
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
			for _, i := range finder.of(f) {
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

// kin finds old files similar to a new one.
type kin struct {
	old    release.Listing
	gone   []int            // old files whose path was removed
	byBase map[string][]int // by name without folder
	byKind map[string][]int // by folder and extension
	byExt  map[string][]int // removed ones, by extension
}

// maxKin is how many old files are compared for one new file: a better candidate beyond is rare, and a renamed tree of
// thousands would take minutes.
const maxKin = 256

func newKin(old, fresh release.Listing) *kin {
	k := &kin{old: old, byBase: map[string][]int{}, byKind: map[string][]int{}, byExt: map[string][]int{}}
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

// of returns the best old files for a new one, best first: two with its name elsewhere, else two with a similar name in
// its folder or among the removed ones.
func (k *kin) of(c freshContent) []int {
	base := path.Base(c.path)
	if named := k.best(c, k.byBase[base]); len(named) > 0 {
		return named
	}
	return k.best(c, k.byExt[extOf(base)], k.byKind[path.Dir(c.path)+"/"+extOf(base)])
}

// best selects two.
func (k *kin) best(c freshContent, lists ...[]int) []int {
	var first, second = -1, -1
	var most, next float64
	for _, list := range lists {
		for _, i := range list[:min(len(list), maxKin)] {
			switch score := likeness(c.path, k.old[i].Path) + closeness(c.size, k.old[i].Size); {
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

// likeness is twice the length of common prefix and suffix by that of the longer path, 0 to 2.
func likeness(a, b string) float64 {
	head := sharedHead(a, b)
	tail := sharedTail(a[head:], b[head:])
	return 2 * float64(head+tail) / float64(max(len(a), len(b)))
}

// closeness is the ratio of the smaller to the larger size, 0 to 1.
func closeness(a, b int64) float64 {
	return float64(min(a, b)+1) / float64(max(a, b)+1)
}
