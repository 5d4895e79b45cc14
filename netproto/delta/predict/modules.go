package predict

import (
	"cmp"
	"slices"
	"sort"
)

// Modules describes the native modules among the old and new contents.
type Modules struct {
	Old, New []Area
	bases    []base
	machine  int

	oldTables, newTables []tables
}

// tables is the known tables of one module.
type tables struct {
	named map[string]Area
	base  uint64 // of the image
}

// apartBits separates the addresses of several modules: each module's are shifted up by its number.
const apartBits = 44

// FindModules parses contents that follow each other and end at the given offsets. It pairs old modules with new ones in
// their order, and returns nil without a pair.
func FindModules(oldBytes []byte, oldEnds []int64, newBytes []byte, newEnds []int64) *Modules {
	old, fresh := parseImages(oldBytes, oldEnds), parseImages(newBytes, newEnds)
	found := &Modules{}
	for i := range min(len(old), len(fresh)) {
		a, b := old[i], fresh[i]
		if a.machine != b.machine || len(found.Old)+len(a.areas) > MaxAreas || len(found.New)+len(b.areas) > MaxAreas {
			continue
		}
		away := uint64(i) << apartBits
		for _, name := range sortedNames(a.bases) {
			if to, ok := b.bases[name]; ok && len(found.bases) < MaxBases {
				found.bases = append(found.bases, base{old: a.bases[name] + away, new: to + away})
			}
		}
		found.machine = a.machine
		found.oldTables = append(found.oldTables, a.knownTables(away))
		found.newTables = append(found.newTables, b.knownTables(away))
		found.Old = append(found.Old, shiftAddresses(a.areas, away)...)
		found.New = append(found.New, shiftAddresses(b.areas, away)...)
	}
	if len(found.Old) == 0 {
		return nil
	}
	slices.SortFunc(found.Old, func(a, b Area) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(found.New, func(a, b Area) int { return cmp.Compare(a.At, b.At) })
	return found
}

// knownTables is the module's known tables, at the separated addresses.
func (im *image) knownTables(away uint64) tables {
	for name, t := range im.tables {
		t.Address += away
		im.tables[name] = t
	}
	return tables{named: im.tables, base: im.bases[imageBase] + away}
}

func sortedNames(bases map[string]uint64) []string {
	var names []string
	for name := range bases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func shiftAddresses(areas []Area, away uint64) []Area {
	for i := range areas {
		areas[i].Address += away
	}
	return areas
}

// parseImages parses all contents and sets the offsets of the areas.
func parseImages(b []byte, ends []int64) []*image {
	var found []*image
	start := int64(0)
	for _, end := range ends {
		if im := parseImage(b[start:end]); im != nil {
			for i := range im.areas {
				im.areas[i].At += uint32(start)
			}
			for name, t := range im.tables {
				t.At += uint32(start)
				im.tables[name] = t
			}
			found = append(found, im)
		}
		start = end
	}
	return found
}

// Within moves the new areas to their offsets in a frame that begins at from.
func (s *Modules) Within(from, to int) *Modules {
	cut := *s
	cut.New = nil
	for _, a := range s.New {
		lo, hi := max(int(a.At), from), min(int(a.At)+int(a.Size), to)
		if lo < hi {
			skip := uint32(lo) - a.At
			a.Address += uint64(skip)
			a.Memory -= skip
			a.At, a.Size = uint32(lo-from), uint32(hi-lo)
			cut.New = append(cut.New, a)
		}
	}
	return &cut
}

// MaskOld returns the old contents with masked references of their modules, for the match search.
func (s *Modules) MaskOld(b []byte) []byte { return newMask(b, s.Old, s.machine).maskAll(s.oldTables) }

// MaskNew is MaskOld for the new contents.
func (s *Modules) MaskNew(b []byte) []byte { return newMask(b, s.New, s.machine).maskAll(s.newTables) }

// NewArea returns the area of the new contents with the byte at an offset.
func (s *Modules) NewArea(at uint32) (Area, bool) {
	i := sort.Search(len(s.New), func(i int) bool { return s.New[i].At > at }) - 1
	if i < 0 || at-s.New[i].At >= s.New[i].Size {
		return Area{}, false
	}
	return s.New[i], true
}
