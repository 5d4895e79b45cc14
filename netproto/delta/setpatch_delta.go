package delta

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
)

// The delta of a set patch has three parts, preceded by the sizes of the first two:
//
//	ops     op*: keep, so many files of the old listing that stay as they are
//	             kind, 1 byte: 0 remove, 1 change, 2 add | content<<2 | 16 if use and mode are given
//	             path, if the file is added: bytes shared with the path before it in the new listing; if its content is a
//	               copy, bytes shared with the end of the path it is copied from; bytes between, which stand in text
//	             meta, if given, 1 byte: use<<1, plus 1 for a program; else a changed file keeps its own, and an added one
//	               has those of the file before it in the new listing (the first: a plain resource)
//	             content: 0 that of the old file · 1 a copy: its place in the old listing less that of the copy before,
//	               less 1, zigzag · 2 a new one: its size, less that of the old file if there is one, zigzag · 3 that
//	               of an earlier op: how many new ones ago
//	        the files of the old listing behind the last op stay
//	text    the middle parts of paths
//	groups  group*: its contents; flags, 1 byte: 1 whole, 2 it has long contents; long*; references
//	        long*   their number; of each: contents of the group since the one before, the old file, copies; of each copy
//	                the new bytes before it, its size, and its shift (place in the old file less place in the new one)
//	                less that of the copy before, zigzag
//	        references   unless it is whole: their number, and each place in the old listing less that of the one before,
//	                less 1, zigzag
//
// New contents are numbered in the order of the ops. The old contents of a group's patch are: for each of its long
// contents, the rest of the old file without the copied ranges; then for each other content, in the order of the stream,
// the old version of its file; then the references. The last two omit contents that are already among them. The new
// contents are those of the group; of long ones, the rest without the copied ranges.
const (
	opRemove = 0
	opChange = 1
	opAdd    = 2
	opMeta   = 16

	contentKept  = 0
	contentCopy  = 1
	contentFresh = 2
	contentAgain = 3

	groupWhole = 1
	groupLong  = 2
)

// setUses is the order of uses in a delta. It never changes.
func setUses() []release.Use {
	return []release.Use{release.UseResource, release.UseRuntime, release.UseCompanion, release.UseHost}
}

// freshContent is a new content.
type freshContent struct {
	sum  release.Digest
	size int64
	file int // in the new listing: the first with this content
	old  int // in the old listing: the earlier version of that file, or -1
	path string
}

// setGroup is a group of consecutive contents of the stream, encoded together.
type setGroup struct {
	first, count int // in the stream
	whole        bool
	longs        []longContent // sorted by content
	extra        []int         // references beside those implied by the contents
}

// setDelta is the decoded delta without the listing.
type setDelta struct {
	fresh     []freshContent // in the order of the ops
	order     []int          // the stream: indexes of fresh
	contentOf map[int]int    // file of the new listing → index of fresh
	groups    []setGroup
}

// stream returns the new contents in their order in the stream.
func (d *setDelta) stream() []int {
	if d.order != nil || len(d.fresh) == 0 {
		return d.order
	}
	for c := range d.fresh {
		d.order = append(d.order, c)
	}
	slices.SortFunc(d.order, func(a, b int) int {
		x, y := d.fresh[a].path, d.fresh[b].path
		return cmp.Or(cmp.Compare(extOf(x), extOf(y)), cmp.Compare(x, y))
	})
	return d.order
}

// extOf is the lower-case extension of a path's last element, with its dot.
func extOf(name string) string { return strings.ToLower(path.Ext(name)) }

// members are the contents of a group as indexes of fresh.
func (d *setDelta) members(g int) []int {
	return d.stream()[d.groups[g].first : d.groups[g].first+d.groups[g].count]
}

// long returns the copies of a group's content, by its index in the group.
func (g *setGroup) long(member int) *longContent {
	i, found := slices.BinarySearchFunc(g.longs, member, func(l longContent, m int) int { return cmp.Compare(l.member, m) })
	if !found {
		return nil
	}
	return &g.longs[i]
}

// references returns the old files of a group's patch in their order, without those of long contents.
func (d *setDelta) references(g int, old release.Listing) []int {
	group := &d.groups[g]
	if group.whole {
		return nil
	}
	var list []int
	seen := map[release.Digest]bool{}
	for m, c := range d.members(g) {
		if i := d.fresh[c].old; i >= 0 && group.long(m) == nil && !seen[old[i].Sum] {
			seen[old[i].Sum] = true
			list = append(list, i)
		}
	}
	for _, i := range group.extra {
		if !seen[old[i].Sum] {
			seen[old[i].Sum] = true
			list = append(list, i)
		}
	}
	return list
}
