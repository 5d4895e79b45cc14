package crash

import (
	"maps"
	"slices"
	"strings"

	"collet/app/install"
	"collet/app/update"
	"collet/platform/faultfs"
)

// namedSets are a story's sets by name.
type namedSets map[string]Set

// story is a scenario of an install. It is a value.
type story struct {
	name, about string
	needs       func(namedSets) bool                 // whether these releases can play it; nil: all can
	derive      func(namedSets)                      // adds further sets; may be nil
	before      []step                               // bring an empty folder to the start of the story
	damage      func(*faultfs.Disk, namedSets) error // external change before the story; may be nil
	act         []step                               // stopped at every operation
	again       []step                               // one more run
	end         string                               // the resulting set
	dropped     string                               // files of this set that the end lacks must be in the recycler; may be empty
	foreign     string                               // name in the set "kept" of a foreign file, which may be moved but not lost
	packsOnly   bool                                 // the server requests no binaries
	verify      bool                                 // every run but the first check verifies all files
	refused     bool                                 // the offered set always fails to start; a later one starts
}

// playerFiles are planted before each story and must be unchanged after it.
func playerFiles(n install.Names) Set {
	return Set{
		"readme of mine.txt": "mine", n.Library() + ".mine": "a file named like a companion", "screenshots/1.png": "picture",
		n.Resources + "/mine.zip": "a pack of mine", n.Resources + "/mods/notes.txt": "notes",
	}
}

// sets returns the two releases and the sets shared by all stories.
func (o Options) sets() namedSets {
	module := func(name string) bool { return name == o.Names.Library() }
	packs := o.Old.packs(o.Names)
	sets := namedSets{"nothing": {}, "old": o.Old, "new": o.New}
	sets["mid"] = o.Old.changed("between two releases", func(name string) bool {
		return module(name) || len(packs) > 0 && name == packs[0]
	})
	sets["next"] = o.New.changed("the next release", func(string) bool { return true })
	packed := o.New.filter(func(name string) bool { return slices.Contains(o.New.packs(o.Names), name) })
	sets["packs"] = packed.with(o.Old.filter(func(name string) bool { return !slices.Contains(packs, name) }))
	sets["swapped"] = o.Old
	if len(packs) > 1 {
		sets["swapped"] = o.Old.with(Set{packs[0]: o.Old[packs[1]], packs[1]: o.Old[packs[0]]})
	}
	folder := o.Names.Resources + "/"
	sets["flat"] = o.Old.with(Set{folder + "Maps.zip": "file", folder + "sound/Loud.zip": "in a folder", folder + "Same.zip": "s"})
	sets["deep"] = o.Old.with(Set{folder + "Maps.zip/One.zip": "in a folder", folder + "sound": "file", folder + "Same.zip": ""})
	return sets
}

// setsOf returns the sets of a story.
func (s story) setsOf(common namedSets) namedSets {
	sets := maps.Clone(common)
	if s.derive != nil {
		s.derive(sets)
	}
	return sets
}

func allStories() []story {
	return slices.Concat(updateStories(), backStories(), repairStories())
}

func updateStories() []story {
	oldIn := updating("nothing", "old")
	return []story{
		{name: "update", about: "module and packs of a new release, which proves itself",
			before: oldIn, act: updating("old", "new"), again: updating("", "new"), end: "new", dropped: "old"},
		{name: "first", about: "the first install",
			act: updating("nothing", "new"), again: updating("", "new"), end: "new"},
		{name: "packs", about: "packs alone", packsOnly: true,
			before: oldIn, act: packsOnly(), again: updating("", "packs"), end: "packs", dropped: "old"},
		{name: "unproven", about: "a new release over one that has not proven itself",
			before: slices.Concat(oldIn, leaving("old", "mid")),
			act:    updating("mid", "new"), again: updating("", "new"), end: "new"},
		{name: "playing", about: "a release arrives while the set is in use, and waits for the next start", needs: func(s namedSets) bool { return s["old"].module() != "" },
			before: oldIn, act: whilePlaying(), again: updating("", "new"), end: "new", dropped: "old"},
		{name: "drop", about: "a release that has fewer files", needs: func(s namedSets) bool { return len(s["old"].missing(s["new"])) > 0 },
			before: updating("nothing", "new"), act: updating("new", "old"), again: updating("", "old"), end: "old", dropped: "new"},
		{name: "swap", about: "two packs change their names", needs: func(s namedSets) bool { return len(s["swapped"].diff(s["old"])) > 0 },
			before: oldIn, act: updating("old", "swapped"), again: updating("", "swapped"), end: "swapped"},
		{name: "shapes", about: "a file becomes a folder, a folder a file, a file empty",
			before: updating("nothing", "flat"), act: updating("flat", "deep"), again: updating("", "deep"), end: "deep", dropped: "flat"},
		{name: "foreign", about: "a file of the player has the name of a new pack",
			needs:  func(s namedSets) bool { return len(s["old"].missing(s["new"])) > 0 },
			derive: func(s namedSets) { s["old of mine"] = s["old"].with(s.foreign()) },
			before: oldIn, damage: func(d *faultfs.Disk, s namedSets) error { return plant(d, s.foreign()) },
			act: updating("old of mine", "new"), again: updating("", "new"), end: "new", foreign: foreignContent},
	}
}

// packsOnly is an update whose swap is the commit. It is proven like any other.
func packsOnly() []step {
	return []step{opening("old"), fetching("packs", "old"), committing("old", "packs"), promoting("packs"),
		starting("packs"), proving("packs"), closing("packs")}
}

// whilePlaying is an update whose set becomes live by the next start alone.
func whilePlaying() []step {
	return []step{opening("old"), starting("old"), proving("old"), deferring("old"), fetching("new", "old"), committing("old", "new"), closing("new"),
		opening("new"), starting("new"), proving("new"), closing("new")}
}

func backStories() []story {
	oldIn := updating("nothing", "old")
	silent := make([]step, 5)
	for i := range silent {
		silent[i] = starting()
	}
	return []story{
		{name: "back", about: "a new release fails to start twice",
			before: oldIn, act: refusing("old", "new", "old"), again: trying("new"), end: "old", refused: true},
		{name: "farther", about: "so does one over an unproven one: back to the last proven one",
			before: slices.Concat(oldIn, leaving("old", "mid")), act: refusing("mid", "new", "old"), again: trying("new"), end: "old", refused: true},
		{name: "shapesback", about: "the same where files become folders",
			before: updating("nothing", "flat"), act: refusing("flat", "deep", "flat"), again: trying("deep"), end: "flat", refused: true},
		{name: "silent", about: "a new release freezes the machine five times",
			before: slices.Concat(oldIn, swapping("old", "new"), silent, []step{closing()}),
			act:    []step{opening("old"), closing("old")}, again: trying("new"), end: "old", refused: true},
		{name: "taken", about: "a virus scanner takes an unproven module away",
			needs: func(s namedSets) bool {
				return s["new"].module() != "" && s["old"][s["old"].module()] != s["new"][s["new"].module()]
			},

			before: slices.Concat(oldIn, leaving("old", "new")), damage: takeModule,
			act: append([]step{opening("old")}, updating("old", "new")[1:]...), again: updating("", "new"), end: "new"},
	}
}

func repairStories() []story {
	return []story{
		{name: "repair", about: "verification finds a module and packs damaged, and one missing", verify: true,
			derive: func(s namedSets) { s["damaged"] = s["new"].damaged() },
			before: updating("nothing", "new"), damage: func(d *faultfs.Disk, s namedSets) error { return s["damaged"].replace(d, s["new"]) },
			act: updating("damaged", "new"), again: updating("", "new"), end: "new"},
		{name: "better", about: "a damaged set is updated", verify: true,
			derive: func(s namedSets) { s["damaged"] = s["old"].damaged() },
			before: updating("nothing", "old"), damage: func(d *faultfs.Disk, s namedSets) error { return s["damaged"].replace(d, s["old"]) },
			act: updating("damaged", "new"), again: updating("", "new"), end: "new"},
	}
}

// foreignContent is the player's file under a new pack's name.
const foreignContent = "a pack of the player, by chance under a name of the next release"

// foreign returns the player's file under the first new name.
func (s namedSets) foreign() Set {
	return Set{s["old"].missing(s["new"])[0]: foreignContent}
}

// missing returns the names that only the other set has, sorted.
func (s Set) missing(other Set) []string {
	return slices.Sorted(maps.Keys(other.filter(func(name string) bool { _, has := s[name]; return !has })))
}

// damaged returns a copy with one byte of every file changed and without its last file.
func (s Set) damaged() Set {
	names := slices.Sorted(maps.Keys(s))
	c := s.without(names[len(names)-1])
	for name, content := range c {
		if content != "" {
			at := len(content) / 2
			c[name] = content[:at] + string(content[at]^1) + content[at+1:]
		}
	}
	return c
}

// plant creates durable files.
func plant(d *faultfs.Disk, files Set) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := d.Plant(name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces another set on the disk by this one.
func (s Set) replace(d *faultfs.Disk, before Set) error {
	fsys := d.Open(faultfs.Options{})
	for _, name := range s.missing(before) {
		if err := fsys.Remove(name); err != nil {
			return err
		}
	}
	d.Settle()
	return plant(d, s)
}

// takeModule removes the live module.
func takeModule(d *faultfs.Disk, s namedSets) error {
	err := d.Open(faultfs.Options{}).Remove(s["new"].module())
	d.Settle()
	return err
}

// module returns the name of the module, or empty; companions have longer names.
func (s Set) module() (name string) {
	for candidate := range s {
		if !strings.Contains(candidate, "/") && (name == "" || len(candidate) < len(name)) {
			name = candidate
		}
	}
	return name
}

// mode returns what the server requests.
func (s story) mode() update.Mode {
	if s.packsOnly {
		return update.Resources
	}
	return update.Binaries
}
