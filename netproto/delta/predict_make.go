package delta

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
)

// modules describes the native modules among the maker's contents.
type modules struct {
	old, new []area
	bases    []base
	machine  int

	oldTables, newTables []tables
}

// tables is the known tables of one module.
type tables struct {
	named map[string]area
	base  uint64 // of the image
}

// apartBits separates the addresses of several modules: each module's are shifted up by its number.
const apartBits = 44

// findModules parses the contents and pairs old modules with new ones in their order. It returns nil without a pair.
func (m *maker) findModules() *modules {
	old, fresh := images(m.old, m.oldEnds), images(m.new, m.newEnds)
	found := &modules{}
	for i := range min(len(old), len(fresh)) {
		a, b := old[i], fresh[i]
		if a.machine != b.machine || len(found.old)+len(a.areas) > maxAreas || len(found.new)+len(b.areas) > maxAreas {
			continue
		}
		away := uint64(i) << apartBits
		for _, name := range sortedNames(a.bases) {
			if to, ok := b.bases[name]; ok && len(found.bases) < maxBases {
				found.bases = append(found.bases, base{old: a.bases[name] + away, new: to + away})
			}
		}
		found.machine = a.machine
		found.oldTables = append(found.oldTables, a.known(away))
		found.newTables = append(found.newTables, b.known(away))
		found.old = append(found.old, moved(a.areas, away)...)
		found.new = append(found.new, moved(b.areas, away)...)
	}
	if len(found.old) == 0 {
		return nil
	}
	slices.SortFunc(found.old, func(a, b area) int { return cmp.Compare(a.at, b.at) })
	slices.SortFunc(found.new, func(a, b area) int { return cmp.Compare(a.at, b.at) })
	return found
}

// known is the module's known tables, at the separated addresses.
func (im *image) known(away uint64) tables {
	for name, t := range im.tables {
		t.address += away
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

func moved(areas []area, away uint64) []area {
	for i := range areas {
		areas[i].address += away
	}
	return areas
}

// images parses all contents and sets the offsets of the areas.
func images(b []byte, ends []int64) []*image {
	var found []*image
	start := int64(0)
	for _, end := range ends {
		if im := parseImage(b[start:end]); im != nil {
			for i := range im.areas {
				im.areas[i].at += uint32(start)
			}
			for name, t := range im.tables {
				t.at += uint32(start)
				im.tables[name] = t
			}
			found = append(found, im)
		}
		start = end
	}
	return found
}

// encode is the stream of address maps.
func (s *modules) encode() []byte {
	var b []byte
	for _, areas := range [][]area{s.old, s.new} {
		b = binary.AppendUvarint(b, uint64(len(areas)))
		end, address := uint32(0), uint64(0)
		for _, a := range areas {
			b = binary.AppendUvarint(b, signed(int64(a.at)-int64(end)))
			code := uint64(0)
			if a.code {
				code = 1
			}
			b = binary.AppendUvarint(b, uint64(a.size)<<1|code)
			b = binary.AppendUvarint(b, uint64(a.memory-a.size))
			b = binary.AppendUvarint(b, signed(int64(a.address-address)))
			end, address = a.at+a.size, a.address+uint64(a.size)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.bases)))
	at := base{}
	for _, x := range s.bases {
		b = binary.AppendUvarint(b, signed(int64(x.old-at.old)))
		b = binary.AppendUvarint(b, signed(int64(x.new-x.old)))
		at = x
	}
	return b
}

// within moves the new areas to their offsets in a frame that begins at from.
func (s *modules) within(from, to int) *modules {
	cut := *s
	cut.new = nil
	for _, a := range s.new {
		lo, hi := max(int(a.at), from), min(int(a.at)+int(a.size), to)
		if lo < hi {
			skip := uint32(lo) - a.at
			a.address += uint64(skip)
			a.memory -= skip
			a.at, a.size = uint32(lo-from), uint32(hi-lo)
			cut.new = append(cut.new, a)
		}
	}
	return &cut
}

func newPredictor(s *modules, moves *moves, bits int) *predictor {
	return &predictor{old: newAddresses(s.old), new: newAddresses(s.new), moves: moves, bases: s.bases, lessons: newLessons(bits)}
}

// trialBits is the table size of a predictor while modes are tried, as a power of two: many predictors exist then.
const trialBits = 15

// lessonsFor is the table size for contents of n bytes: not more than they can hold references.
func lessonsFor(n int) int { return min(trialBits, bits.Len(uint(n/4))) }

// verdict counts the mismatches of a mode.
type verdict struct {
	want []byte
	cost int
}

// correct counts one for each mismatch, and one more for the first of a run.
func (v *verdict) correct(b []byte) error {
	run := false
	for i := range b {
		if b[i] != v.want[i] {
			v.cost++
			if !run {
				v.cost++
			}
			run = true
		} else {
			run = false
		}
	}
	copy(b, v.want)
	v.want = v.want[len(b):]
	return nil
}

// chooseModes tries the modes on each block of a frame and selects the best for each.
func (m *maker) chooseModes(ctx context.Context, s *modules, moves *moves, f *frame, fresh []byte) ([]byte, error) {
	modes := make([]byte, (len(fresh)-1)>>blockBits+1)
	parts := len(fresh)/partSize + 1
	err := m.parallel(ctx, parts, func(k int) {
		t := newTrial(m.old, s, moves, fresh)
		from, to := len(modes)*k/parts, len(modes)*(k+1)/parts
		first, _ := slices.BinarySearchFunc(f.matches, uint32(from)<<blockBits, func(x match, at uint32) int { return cmp.Compare(x.end(), at) })
		rest := f.matches[first:]
		for i := from; i < to && ctx.Err() == nil; i++ {
			for len(rest) > 0 && rest[0].end() <= uint32(i)<<blockBits {
				rest = rest[1:]
			}
			modes[i] = t.best(i, rest)
		}
	})
	return modes, err
}

// trial tries modes on blocks. Each mode has a separate predictor, so that it learns only from itself.
type trial struct {
	old, fresh []byte
	modes      []byte
	code       byte
	by         map[byte]*predictor
	b          []byte
}

func newTrial(old []byte, s *modules, moves *moves, fresh []byte) *trial {
	t := &trial{old: old, fresh: fresh, by: map[byte]*predictor{}, code: modeX86}
	if s.machine == machineARM {
		t.code = modeARM
	}
	t.modes = append(t.modes, modeOff, t.code, modeAbs8, modeRel4, modeUnwind, modeLow36)
	for k := range 8 {
		t.modes = append(t.modes, byte(modeStep+k))
	}
	for k := range s.bases {
		t.modes = append(t.modes, byte(modeBase+k))
	}
	for _, mode := range t.modes {
		p := newPredictor(s, moves, lessonsFor(len(fresh)))
		p.modes = make([]byte, (len(fresh)-1)>>blockBits+1)
		for i := range p.modes {
			p.modes[i] = mode
		}
		t.by[mode] = p
	}
	return t
}

// best is the mode with the fewest mismatches in a block. rest begins with the first match that reaches into it.
func (t *trial) best(block int, rest []match) byte {
	from := uint32(block) << blockBits
	to := min(from+1<<blockBits, uint32(len(t.fresh)))
	best, least := byte(modeOff), 1<<30
	for _, mode := range t.modes {
		v := verdict{}
		for _, x := range rest {
			a, b := max(x.at, from), min(x.end(), to)
			if a >= b {
				break
			}
			o := x.old + (a - x.at)
			t.b = append(t.b[:0], t.old[o:o+b-a]...)
			v.want = t.fresh[a:b]
			_ = t.by[mode].expect(t.b, o, a, &v)
		}
		if v.cost < least {
			best, least = mode, v.cost
		}
		if least == 0 {
			break
		}
	}
	return best
}
