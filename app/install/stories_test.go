package install_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"collet/app/install"
	"collet/app/update"
)

// story is a piece of work on an install that is stopped anywhere. The promise: the next start gives exactly one of the
// allowed sets, and one more run gives the last one, whatever was stopped before. No file of the player is lost, and while
// a set is pending the previous one can be restored.
type story struct {
	name   string
	plant  map[string]string // files of the player, in addition to mine.txt
	before []start           // starts that prepare the folder
	spoil  map[string]string // files that another program writes then
	then   start
	// allowed are the sets that a start may find, in the order of their appearance; the last one is the new set. A set is
	// everything but backups, parts, the recycler and our own folders; mine.txt is added to each.
	allowed []string
	// proven is the set that every rollback restores, as long as it is possible; empty if no set was proven before.
	proven string
	never  []string // contents that must exist somewhere at any time
}

const mine = " Resources/mine.txt=mine"

// all is a start in binaries mode with a whole set.
func all(blobs ...[]blob) start {
	return start{mode: update.Binaries, blobs: slices.Concat(blobs...)}
}

func (s start) confirmed() start { s.confirm = true; return s }

// stories are run with every kind of stop.
func stories() []story {
	return slices.Concat(packStories(), moduleStories(), setStories(), wayBackStories(), shapeStories())
}

func packStories() []story {
	old := start{blobs: packs("A.zip", "a1", "B.zip", "b1", "C.zip", "c")}.confirmed()
	const a1b1c = "Resources/A.zip=a1 Resources/B.zip=b1 Resources/C.zip=c"
	return []story{
		{name: "cold packs", then: start{blobs: packs("A.zip", "a1", "maps/B.zip", "b1", "empty.zip", "")},
			allowed: []string{"", "Resources/A.zip=a1 Resources/empty.zip= Resources/maps/B.zip=b1"}},
		{name: "changed packs", before: []start{old}, then: start{blobs: packs("A.zip", "a2", "B.zip", "b2", "C.zip", "c", "D.zip", "d2")},
			allowed: []string{a1b1c, "Resources/A.zip=a2 Resources/B.zip=b2 Resources/C.zip=c Resources/D.zip=d2"}, proven: a1b1c},
		{name: "dropped pack and its proof", before: []start{old}, then: start{blobs: packs("A.zip", "a2", "C.zip", "c")}.confirmed(),
			allowed: []string{a1b1c, "Resources/A.zip=a2 Resources/C.zip=c"}, never: []string{"b1"}, proven: a1b1c},
		{name: "a file of the player in the way", plant: map[string]string{"Resources/D.zip": "player's"}, before: []start{old},
			then:    start{blobs: packs("A.zip", "a1", "B.zip", "b1", "C.zip", "c", "D.zip", "d2")}.confirmed(),
			allowed: []string{a1b1c + " Resources/D.zip=player's", a1b1c + " Resources/D.zip=d2"}, never: []string{"player's"}, proven: a1b1c + " Resources/D.zip=player's"},
		{name: "repair of damaged packs", before: []start{old}, spoil: map[string]string{"Resources/A.zip": "XX", "Resources/B.zip": ""},
			then:    start{verify: true, blobs: packs("A.zip", "a1", "B.zip", "b1", "C.zip", "c")},
			allowed: []string{"Resources/A.zip=XX Resources/B.zip= Resources/C.zip=c", a1b1c}},
	}
}

func moduleStories() []story {
	proof := Module("one").confirmed()
	symbols := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols")}
	return []story{
		{name: "first module", then: Module("one"), allowed: []string{"", "Lathe.so=one"}},
		{name: "module and symbols", before: []start{proof}, then: symbols,
			allowed: []string{"Lathe.so=one", "Lathe.so=two Lathe.so.pdb=symbols"}, proven: "Lathe.so=one"},
		{name: "module over an unproven one", before: []start{proof, Module("two")}, then: Module("three"),
			allowed: []string{"Lathe.so=two", "Lathe.so=three"}, proven: "Lathe.so=one"},
		{name: "module and its proof", before: []start{proof}, then: symbols.confirmed(),
			allowed: []string{"Lathe.so=one", "Lathe.so=two Lathe.so.pdb=symbols"}, proven: "Lathe.so=one"},
		{name: "another offer than the prepared one", before: []start{proof, {mode: update.Binaries, blobs: symbols.blobs, stay: true}},
			then:    Module("three"),
			allowed: []string{"Lathe.so=one", "Lathe.so=two Lathe.so.pdb=symbols", "Lathe.so=three"}, proven: "Lathe.so=one"},
		{name: "a backup made by hand", before: []start{proof}, spoil: map[string]string{"Lathe.so.bak": "by hand"}, then: Module("two").confirmed(),
			allowed: []string{"Lathe.so=one", "Lathe.so=two"}, never: []string{"by hand"}, proven: "Lathe.so=one"},
	}
}

func setStories() []story {
	one := all(binaries("Lathe.so", "one", "Lathe.so.pdb", "s1"), packs("A.zip", "a1", "B.zip", "b1"))
	two := all(binaries("Lathe.so", "two", "Lathe.so.pdb", "s2"), packs("A.zip", "a2", "C.zip", "c2"))
	three := all(binaries("Lathe.so", "three"), packs("A.zip", "a3", "B.zip", "b3"))
	const is1 = "Lathe.so=one Lathe.so.pdb=s1 Resources/A.zip=a1 Resources/B.zip=b1"
	const is2 = "Lathe.so=two Lathe.so.pdb=s2 Resources/A.zip=a2 Resources/C.zip=c2"
	const is3 = "Lathe.so=three Resources/A.zip=a3 Resources/B.zip=b3"
	verify := start{verify: true, blobs: slices.Concat(packs("A.zip", "a2", "B.zip", "b1", "C.zip", "c"), binaries("Lathe.so", "two"))}
	before := []start{Module("one").confirmed(), start{blobs: packs("A.zip", "a1", "B.zip", "b1", "C.zip", "c")}.confirmed()}
	return []story{
		{name: "first install", then: one.confirmed(), allowed: []string{"", is1}},
		{name: "module and packs", before: []start{one.confirmed()}, then: two, allowed: []string{is1, is2}, proven: is1},
		{name: "module and packs, and their proof", before: []start{one.confirmed()}, then: two.confirmed(), allowed: []string{is1, is2},
			never: []string{"b1"}, proven: is1},
		{name: "over an unproven set", before: []start{one.confirmed(), two}, then: three, allowed: []string{is2, is3}, proven: is1},
		{name: "clean-up", before: []start{one.confirmed(), two}, then: start{idle: true}.confirmed(), allowed: []string{is2},
			never: []string{"b1"}, proven: is1},
		{name: "clean-up of two sets", before: []start{one.confirmed(), two, three}, then: start{idle: true}.confirmed(), allowed: []string{is3}, proven: is1},
		{name: "packs and module found by a verification", before: before, then: verify,
			allowed: []string{"Lathe.so=one Resources/A.zip=a1 Resources/B.zip=b1 Resources/C.zip=c",
				"Lathe.so=two Resources/A.zip=a2 Resources/B.zip=b1 Resources/C.zip=c"},
			proven: "Lathe.so=one Resources/A.zip=a1 Resources/B.zip=b1 Resources/C.zip=c"},
	}
}

func wayBackStories() []story {
	one := all(binaries("Lathe.so", "one", "Lathe.so.pdb", "s1"), packs("A.zip", "a1", "B.zip", "b1"))
	two := all(binaries("Lathe.so", "two", "Lathe.so.pdb", "s2"), packs("A.zip", "a2", "C.zip", "c2"))
	three := all(binaries("Lathe.so", "three", "Lathe.so.pdb", "s1"), packs("B.zip", "b3", "C.zip", "c2"))
	const is1 = "Lathe.so=one Lathe.so.pdb=s1 Resources/A.zip=a1 Resources/B.zip=b1"
	const is2 = "Lathe.so=two Lathe.so.pdb=s2 Resources/A.zip=a2 Resources/C.zip=c2"
	const is3 = "Lathe.so=three Lathe.so.pdb=s1 Resources/B.zip=b3 Resources/C.zip=c2"
	back := start{idle: true, fails: 2}
	staged := three
	staged.stay = true
	return []story{
		{name: "roll back", before: []start{one.confirmed(), two}, then: back, allowed: []string{is2, is1}, proven: is1},
		{name: "roll back of a first install", before: []start{one}, then: back, allowed: []string{is1, ""}},
		{name: "roll back over two sets", before: []start{one.confirmed(), two, three}, then: back, allowed: []string{is3, is1}, proven: is1},
		{name: "roll back while another is prepared", before: []start{one.confirmed(), two, staged}, then: back,
			allowed: []string{is2, is3, is1}, proven: is1},
		{name: "roll back, then a newer one", before: []start{one.confirmed(), two, back}, then: three, allowed: []string{is1, is3}, proven: is1},
	}
}

func shapeStories() []story {
	file := start{blobs: packs("maps", "m1", "A.zip", "a1")}
	folder := start{blobs: packs("maps/x.zip", "x2", "maps/deep/y.zip", "y2", "A.zip", "a1")}
	const isFile = "Resources/A.zip=a1 Resources/maps=m1"
	const isFolder = "Resources/A.zip=a1 Resources/maps/deep/y.zip=y2 Resources/maps/x.zip=x2"
	back := start{idle: true, fails: 2}
	neither, isNeither := start{blobs: packs("A.zip", "a1")}.confirmed(), "Resources/A.zip=a1"
	return []story{
		{name: "unproven file becomes folder", before: []start{neither, file}, then: folder, allowed: []string{isFile, isFolder}, proven: isNeither},
		{name: "unproven folder becomes file", before: []start{neither, folder}, then: file, allowed: []string{isFolder, isFile}, proven: isNeither},
		{name: "file becomes folder", before: []start{file.confirmed()}, then: folder, allowed: []string{isFile, isFolder}, proven: isFile},
		{name: "folder becomes file", before: []start{folder.confirmed()}, then: file, allowed: []string{isFolder, isFile}, proven: isFolder},
		{name: "file becomes folder, and its proof", before: []start{file.confirmed()}, then: folder.confirmed(), allowed: []string{isFile, isFolder}, proven: isFile},
		{name: "back from folder to file", before: []start{file.confirmed(), folder}, then: back, allowed: []string{isFolder, isFile}, proven: isFile},
		{name: "back from file to folder", before: []start{folder.confirmed(), file}, then: back, allowed: []string{isFile, isFolder}, proven: isFolder},
	}
}

// setOf is the set that a start finds: "name=content", sorted.
func setOf(files map[string]string) string {
	var live []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		top, _, _ := strings.Cut(name, "/")
		ours := top == install.StateDir || top == "Cache" || top == install.Recycler
		base := path.Base(name)
		if ours || strings.HasSuffix(name, "/") || strings.HasPrefix(base, "~") || strings.HasSuffix(base, ".bak") {
			continue
		}
		live = append(live, name+"="+files[name])
	}
	slices.Sort(live)
	return strings.Join(live, " ")
}

// withoutCompanions removes the symbols from a story: they are best effort, and one error is enough to skip them.
func (s story) withoutCompanions() story {
	s.allowed = slices.Clone(s.allowed)
	for i, set := range s.allowed {
		lines := slices.DeleteFunc(strings.Split(set, " "), func(line string) bool { return strings.Contains(line, ".pdb") })
		s.allowed[i] = strings.Join(lines, " ")
	}
	return s
}

func withoutCompanions(files map[string]string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.Contains(name, ".pdb") })
	return files
}

// withMine adds mine.txt to a set, in order.
func withMine(set string) string {
	lines := slices.DeleteFunc(strings.Split(set+mine, " "), func(line string) bool { return line == "" })
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// allows reports why a start may not find this set.
func (s story) allows(files map[string]string) error {
	got := setOf(files)
	for _, set := range s.allowed {
		if withMine(set) == got {
			return s.keeps(files)
		}
	}
	return fmt.Errorf("the set is\n%s, want one of\n%s", got, strings.Join(s.allowed, "\n"))
}

// keeps reports lost contents.
func (s story) keeps(files map[string]string) error {
	for _, content := range append(s.never, "mine") {
		if !slices.Contains(slices.Collect(maps.Values(files)), content) {
			return fmt.Errorf("%q is lost: %v", content, files)
		}
	}
	return nil
}

// last reports why a set is not the final one of the story.
func (s story) last(files map[string]string) error {
	if got, want := setOf(files), withMine(s.allowed[len(s.allowed)-1]); got != want {
		return fmt.Errorf("one more run gives\n%s, want\n%s", got, want)
	}
	return s.keeps(files)
}
