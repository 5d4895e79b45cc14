package delta

import (
	"bytes"
	"encoding/binary"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// areasIn draws areas that lie in order within contents of some size.
func areasIn(t *rapid.T, size int) (list []area) {
	at := uint32(0)
	for range rapid.IntRange(0, 6).Draw(t, "areas") {
		a := area{at: at + rapid.Uint32Range(0, 50).Draw(t, "gap"), size: rapid.Uint32Range(0, 300).Draw(t, "size")}
		if int(a.at)+int(a.size) > size {
			break
		}
		a.memory = a.size + rapid.SampledFrom([]uint32{0, 1, 1 << 20}).Draw(t, "memory")
		a.address, a.code = rapid.Uint64().Draw(t, "address"), rapid.Bool().Draw(t, "code")
		at = a.at + a.size
		list = append(list, a)
	}
	return list
}

// TestMapsComeBack: the address maps that a maker writes are those that an applier reads.
func TestMapsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &modules{old: areasIn(t, 1500), new: areasIn(t, 2000)}
		for range rapid.IntRange(0, 5).Draw(t, "bases") {
			s.bases = append(s.bases, base{rapid.Uint64().Draw(t, "old base"), rapid.Uint64().Draw(t, "new base")})
		}
		b := s.encode()
		got, err := readModules(newNumbers(bytes.NewReader(b)), 1500, 2000)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%v\n%+v\n%+v", err, got, s)
		}
		for n := range b {
			if _, err := readModules(newNumbers(bytes.NewReader(b[:n])), 1500, 2000); err != io.ErrUnexpectedEOF {
				t.Fatalf("cut at %d of %d: %v", n, len(b), err)
			}
		}
	})
}

// TestMapsGolden: the stream of address maps, byte by byte, as the format has it.
func TestMapsGolden(t *testing.T) {
	s := &modules{
		old:   []area{{at: 2, size: 5, memory: 5, address: 0x10, code: true}, {at: 10, size: 3, memory: 9, address: 0x20}},
		new:   []area{{at: 0, size: 7, memory: 7, address: 0x10, code: true}},
		bases: []base{{0x10, 0x12}, {0x8, 0x7}},
	}
	want := []byte{2, 4, 11, 0, 0x20, 6, 6, 6, 0x16, 1, 0, 15, 0, 0x20, 2, 0x20, 4, 0x0f, 1}
	if got := s.encode(); !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

// TestMapsRefused: areas outside of the contents, and more than the caps.
func TestMapsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []uint64
		want    error
	}{
		"nothing at all":       {[]uint64{0, 0, 0}, nil},
		"an area in bounds":    {[]uint64{1, 0, 100 << 1, 0, 0, 0, 0}, nil},
		"an area too large":    {[]uint64{1, 0, 101 << 1, 0, 0, 0, 0}, errImages},
		"an area behind":       {[]uint64{1, signed(101), 0, 0, 0, 0, 0}, errImages},
		"an empty one at last": {[]uint64{1, signed(100), 0, 0, 0, 0, 0}, nil},
		"an area before":       {[]uint64{1, signed(-1), 0, 0, 0, 0, 0}, errImages},
		"memory of 2 GiB":      {[]uint64{1, 0, 2, 1 << 31, 0, 0, 0}, errImages},
		"memory below that":    {[]uint64{1, 0, 2, 1<<31 - 1, 0, 0, 0}, nil},
		"a size of all bits":   {[]uint64{1, 0, 1<<64 - 1, 0, 0, 0, 0}, errImages},
		"a place of all bits":  {[]uint64{1, 1<<64 - 2, 2, 0, 0, 0, 0}, errImages},
		"too many areas":       {[]uint64{maxAreas + 1}, errImages},
		"too many new areas":   {[]uint64{0, maxAreas + 1}, errImages},
		"too many bases":       {[]uint64{0, 0, maxBases + 1}, errImages},
		"a new area too large": {[]uint64{0, 1, 0, 51 << 1, 0, 0, 0}, errImages},
		"bases missing":        {[]uint64{0, 0, 2, 0, 0}, io.ErrUnexpectedEOF},
	} {
		var b []byte
		for _, n := range c.numbers {
			b = binary.AppendUvarint(b, n)
		}
		if s, err := readModules(newNumbers(bytes.NewReader(b)), 100, 50); err != c.want {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}

// TestWithinModules: a frame has of each area what lies in it, at its place in the frame and at its own address.
func TestWithinModules(t *testing.T) {
	s := &modules{new: []area{{at: 100, size: 50, memory: 80, address: 0x1000, code: true}, {at: 200, size: 100, memory: 100, address: 0x2000}}}
	for _, c := range []struct {
		from, to int
		want     []area
	}{
		{0, 1000, s.new},
		{0, 100, nil}, {150, 200, nil}, {300, 400, nil},
		{120, 250, []area{{at: 0, size: 30, memory: 60, address: 0x1014, code: true}, {at: 80, size: 50, memory: 100, address: 0x2000}}},
		{0, 101, []area{{at: 100, size: 1, memory: 80, address: 0x1000, code: true}}},
		{299, 300, []area{{at: 0, size: 1, memory: 1, address: 0x2063}}},
	} {
		if got := s.within(c.from, c.to); !reflect.DeepEqual(got.new, c.want) {
			t.Errorf("%d to %d: %+v, want %+v", c.from, c.to, got.new, c.want)
		}
	}
}

// modulesOf is what a maker finds in contents.
func modulesOf(t *testing.T, old, fresh [][]byte) *modules {
	t.Helper()
	m, err := newMaker(olds(old...), news(fresh...), PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.findModules()
}

// TestFindModules: modules are paired in their order, and each pair has addresses of its own.
func TestFindModules(t *testing.T) {
	text := words(1, 700)
	for name, c := range map[string]struct {
		old, fresh [][]byte
		pairs      int
	}{
		"none":            {[][]byte{text}, [][]byte{text}, 0},
		"only old":        {[][]byte{module(0)}, [][]byte{text}, 0},
		"only new":        {nil, [][]byte{module(0)}, 0},
		"one":             {[][]byte{module(0)}, [][]byte{module(16)}, 1},
		"two among texts": {[][]byte{text, module(0), text, module(16)}, [][]byte{module(0), text, module(16)}, 2},
		"one too many":    {[][]byte{module(0), module(16)}, [][]byte{module(0)}, 1},
		"other machines":  {[][]byte{module(0)}, [][]byte{armModule(0)}, 0},
	} {
		s := modulesOf(t, c.old, c.fresh)
		if c.pairs == 0 {
			if s != nil {
				t.Errorf("%s: %+v", name, s)
			}
			continue
		}
		if s == nil || len(s.old) != 2*c.pairs || len(s.new) != 2*c.pairs || len(s.bases) != c.pairs || len(s.oldTables) != c.pairs {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		away := map[uint64]bool{}
		for i, a := range s.old {
			away[a.address>>apartBits] = true
			if i > 0 && a.at < s.old[i-1].at+s.old[i-1].size {
				t.Errorf("%s: areas overlap: %+v", name, s.old)
			}
		}
		if len(away) != c.pairs {
			t.Errorf("%s: modules share addresses: %+v", name, s.old)
		}
	}
}

// TestVerdict: a wrong byte costs one, and the first of a run one more.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		got, want string
		cost      int
	}{{"abc", "abc", 0}, {"abc", "abd", 2}, {"abc", "xyz", 4}, {"abcde", "xbcdy", 4}, {"", "", 0}} {
		v := verdict{want: []byte(c.want)}
		b := []byte(c.got)
		if err := v.correct(b); err != nil || v.cost != c.cost || string(b) != c.want || len(v.want) != 0 {
			t.Errorf("%q, %q: %d, %q", c.got, c.want, v.cost, b)
		}
	}
}

// TestChooseModes: each block of a module gets the mode of what lies in it, and what only copies gets none.
func TestChooseModes(t *testing.T) {
	const blocks = 6
	size := blocks << blockBits
	build := func(padding uint64) *elf {
		e := &elf{codeAt: 0x400000, dataAt: 0x900000 + padding}
		calls, at := bodies(2*size/16), e.codeAt+uint64(2*size)
		var targets []uint64
		for i := range size / 5 {
			targets = append(targets, e.dataAt+uint64(i*8%size))
		}
		e.code = append(calls, loadsOf(targets, at)...)
		e.code = append(e.code, make([]byte, -len(e.code)&7)...)
		for i := range size / 8 {
			target := e.dataAt + uint64(i*40%size) // moves
			if i*i%7 < 3 {
				target = e.codeAt + uint64(i*40%size) // does not
			}
			e.data = binary.LittleEndian.AppendUint64(e.data, target)
		}
		return e
	}
	a, b := build(0).bytes(), build(0x4440).bytes()
	m, err := newMaker(olds(a), news(b), PatchOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := m.findModules()
	f := &frame{size: len(b), matches: []match{{at: 0, size: uint32(len(b)), old: 0}}}
	modes, err := m.chooseModes(t.Context(), s, newMoves(f.matches, int64(len(a))), f, b)
	if err != nil || len(modes) != (len(b)-1)>>blockBits+1 {
		t.Fatalf("%v, %d modes", err, len(modes))
	}
	text := strings.Repeat(string([]byte{modeOff}), 2*blocks-1)
	if !strings.Contains(string(modes), text) {
		t.Errorf("functions without references: % d", modes)
	}
	if n := bytes.Count(modes, []byte{modeX86}); n < blocks {
		t.Errorf("%d blocks of code: % d", n, modes)
	}
	if n := bytes.Count(modes, []byte{modeAbs8}); n < blocks-1 {
		t.Errorf("%d blocks of addresses: % d", n, modes)
	}
	if _, err := m.chooseModes(stoppedContext(t), s, newMoves(f.matches, int64(len(a))), f, b); err == nil {
		t.Error("modes are chosen for nobody")
	}
}

// loadsOf is code that loads from each of some addresses.
func loadsOf(targets []uint64, at uint64) (b []byte) {
	for _, target := range targets {
		b = append(b, 0x48, 0x8b, 0x05)
		b = binary.LittleEndian.AppendUint32(b, uint32(target-(at+uint64(len(b))+4)))
	}
	return b
}

// TestPlainWins: a small frame that prediction makes larger goes without it.
func TestPlainWins(t *testing.T) {
	a, b := module(0), module(0)
	b[len(b)-1]++
	patch, stats := roundTrip(t, [][]byte{a}, [][]byte{b})
	if stats.Predicted || len(patch) > 40 {
		t.Errorf("%d bytes for one, predicted: %v", len(patch), stats.Predicted)
	}
}

// TestBeyond: an address behind what the file holds of an area goes as far behind the area's end.
func TestBeyond(t *testing.T) {
	s := &modules{
		old: []area{{at: 0, size: 100, memory: 300, address: 0x1000}},
		new: []area{{at: 0, size: 140, memory: 340, address: 0x1000}},
	}
	p := newPredictor(s, newMoves([]match{{at: 0, size: 100, old: 0}}, 100), 8)
	for old, want := range map[uint64]uint64{0x1000: 0x1000, 0x1063: 0x1063, 0x1064: 0x108c, 0x112b: 0x1153} {
		if got, ok := p.target(old); !ok || got != want {
			t.Errorf("%#x went to %#x, %v, want %#x", old, got, ok, want)
		}
	}
	for _, old := range []uint64{0xfff, 0x112c, 0} {
		if got, ok := p.target(old); ok {
			t.Errorf("%#x is outside and went to %#x", old, got)
		}
	}
	s.new = append(s.new, area{at: 140, size: 5, memory: 5, address: 0x9000})
	p = newPredictor(s, newMoves([]match{{at: 0, size: 100, old: 0}}, 100), 8)
	if got, ok := p.target(0x1064); ok {
		t.Errorf("with other areas it went to %#x", got)
	}
}
