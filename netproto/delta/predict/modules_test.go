package predict

import (
	"bytes"
	"encoding/binary"
	"io"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"collet/netproto/predicttest"
)

// areasIn draws areas that lie in order within contents of some size.
func areasIn(t *rapid.T, size int) (list []Area) {
	at := uint32(0)
	for range rapid.IntRange(0, 6).Draw(t, "areas") {
		a := Area{At: at + rapid.Uint32Range(0, 50).Draw(t, "gap"), Size: rapid.Uint32Range(0, 300).Draw(t, "size")}
		if int(a.At)+int(a.Size) > size {
			break
		}
		a.Memory = a.Size + rapid.SampledFrom([]uint32{0, 1, 1 << 20}).Draw(t, "memory")
		a.Address, a.Code = rapid.Uint64().Draw(t, "address"), rapid.Bool().Draw(t, "code")
		at = a.At + a.Size
		list = append(list, a)
	}
	return list
}

// fold is the unsigned form of a signed number.
func fold(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// TestNumberReader: the first error stays, and an end is one.
func TestNumberReader(t *testing.T) {
	r := &numberReader{from: bytes.NewReader([]byte{7, 0x80})}
	if v := r.next(); v != 7 || r.err != nil {
		t.Errorf("%d, %v", v, r.err)
	}
	for range 3 {
		if v := r.next(); v != 0 || r.err != io.ErrUnexpectedEOF {
			t.Errorf("%d, %v", v, r.err)
		}
	}
}

// TestMapsComeBack: the address maps that a maker writes are those that an applier reads.
func TestMapsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Modules{Old: areasIn(t, 1500), New: areasIn(t, 2000)}
		for range rapid.IntRange(0, 5).Draw(t, "bases") {
			s.bases = append(s.bases, base{rapid.Uint64().Draw(t, "old base"), rapid.Uint64().Draw(t, "new base")})
		}
		b := s.Encode()
		got, err := ReadModules(bytes.NewReader(b), 1500, 2000)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%v\n%+v\n%+v", err, got, s)
		}
		for n := range b {
			if _, err := ReadModules(bytes.NewReader(b[:n]), 1500, 2000); err != io.ErrUnexpectedEOF {
				t.Fatalf("cut at %d of %d: %v", n, len(b), err)
			}
		}
	})
}

// TestMapsGolden: the stream of address maps, byte by byte, as the format has it.
func TestMapsGolden(t *testing.T) {
	s := &Modules{
		Old:   []Area{{At: 2, Size: 5, Memory: 5, Address: 0x10, Code: true}, {At: 10, Size: 3, Memory: 9, Address: 0x20}},
		New:   []Area{{At: 0, Size: 7, Memory: 7, Address: 0x10, Code: true}},
		bases: []base{{0x10, 0x12}, {0x8, 0x7}},
	}
	want := []byte{2, 4, 11, 0, 0x20, 6, 6, 6, 0x16, 1, 0, 15, 0, 0x20, 2, 0x20, 4, 0x0f, 1}
	if got := s.Encode(); !bytes.Equal(got, want) {
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
		"an area behind":       {[]uint64{1, fold(101), 0, 0, 0, 0, 0}, errImages},
		"an empty one at last": {[]uint64{1, fold(100), 0, 0, 0, 0, 0}, nil},
		"an area before":       {[]uint64{1, fold(-1), 0, 0, 0, 0, 0}, errImages},
		"memory of 2 GiB":      {[]uint64{1, 0, 2, 1 << 31, 0, 0, 0}, errImages},
		"memory below that":    {[]uint64{1, 0, 2, 1<<31 - 1, 0, 0, 0}, nil},
		"a size of all bits":   {[]uint64{1, 0, 1<<64 - 1, 0, 0, 0, 0}, errImages},
		"a place of all bits":  {[]uint64{1, 1<<64 - 2, 2, 0, 0, 0, 0}, errImages},
		"too many areas":       {[]uint64{MaxAreas + 1}, errImages},
		"too many new areas":   {[]uint64{0, MaxAreas + 1}, errImages},
		"too many bases":       {[]uint64{0, 0, MaxBases + 1}, errImages},
		"a new area too large": {[]uint64{0, 1, 0, 51 << 1, 0, 0, 0}, errImages},
		"bases missing":        {[]uint64{0, 0, 2, 0, 0}, io.ErrUnexpectedEOF},
	} {
		var b []byte
		for _, n := range c.numbers {
			b = binary.AppendUvarint(b, n)
		}
		if s, err := ReadModules(bytes.NewReader(b), 100, 50); err != c.want {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}

// TestWithinModules: a frame has of each area what lies in it, at its place in the frame and at its own address.
func TestWithinModules(t *testing.T) {
	s := &Modules{New: []Area{{At: 100, Size: 50, Memory: 80, Address: 0x1000, Code: true}, {At: 200, Size: 100, Memory: 100, Address: 0x2000}}}
	for _, c := range []struct {
		from, to int
		want     []Area
	}{
		{0, 1000, s.New},
		{0, 100, nil}, {150, 200, nil}, {300, 400, nil},
		{120, 250, []Area{{At: 0, Size: 30, Memory: 60, Address: 0x1014, Code: true}, {At: 80, Size: 50, Memory: 100, Address: 0x2000}}},
		{0, 101, []Area{{At: 100, Size: 1, Memory: 80, Address: 0x1000, Code: true}}},
		{299, 300, []Area{{At: 0, Size: 1, Memory: 1, Address: 0x2063}}},
	} {
		if got := s.Within(c.from, c.to); !reflect.DeepEqual(got.New, c.want) {
			t.Errorf("%d to %d: %+v, want %+v", c.from, c.to, got.New, c.want)
		}
	}
}

// modulesOf is what a maker finds in contents.
func modulesOf(old, fresh [][]byte) *Modules {
	joined := func(contents [][]byte) (b []byte, ends []int64) {
		for _, c := range contents {
			b = append(b, c...)
			ends = append(ends, int64(len(b)))
		}
		return b, ends
	}
	oldBytes, oldEnds := joined(old)
	newBytes, newEnds := joined(fresh)
	return FindModules(oldBytes, oldEnds, newBytes, newEnds)
}

// TestFindModules: modules are paired in their order, and each pair has addresses of its own.
func TestFindModules(t *testing.T) {
	text := bytes.Repeat([]byte("plain words "), 60)
	for name, c := range map[string]struct {
		old, fresh [][]byte
		pairs      int
	}{
		"none":            {[][]byte{text}, [][]byte{text}, 0},
		"only old":        {[][]byte{predicttest.Module(0)}, [][]byte{text}, 0},
		"only new":        {nil, [][]byte{predicttest.Module(0)}, 0},
		"one":             {[][]byte{predicttest.Module(0)}, [][]byte{predicttest.Module(16)}, 1},
		"two among texts": {[][]byte{text, predicttest.Module(0), text, predicttest.Module(16)}, [][]byte{predicttest.Module(0), text, predicttest.Module(16)}, 2},
		"one too many":    {[][]byte{predicttest.Module(0), predicttest.Module(16)}, [][]byte{predicttest.Module(0)}, 1},
		"other machines":  {[][]byte{predicttest.Module(0)}, [][]byte{predicttest.ARMModule(0)}, 0},
	} {
		s := modulesOf(c.old, c.fresh)
		if c.pairs == 0 {
			if s != nil {
				t.Errorf("%s: %+v", name, s)
			}
			continue
		}
		if s == nil || len(s.Old) != 2*c.pairs || len(s.New) != 2*c.pairs || len(s.bases) != c.pairs || len(s.oldTables) != c.pairs {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		away := map[uint64]bool{}
		for i, a := range s.Old {
			away[a.Address>>apartBits] = true
			if i > 0 && a.At < s.Old[i-1].At+s.Old[i-1].Size {
				t.Errorf("%s: areas overlap: %+v", name, s.Old)
			}
		}
		if len(away) != c.pairs {
			t.Errorf("%s: modules share addresses: %+v", name, s.Old)
		}
	}
}

// TestMismatches: a wrong byte costs one, and the first of a run one more.
func TestMismatches(t *testing.T) {
	for _, c := range []struct {
		got, want string
		cost      int
	}{{"abc", "abc", 0}, {"abc", "abd", 2}, {"abc", "xyz", 4}, {"abcde", "xbcdy", 4}, {"", "", 0}} {
		v := mismatches{want: []byte(c.want)}
		b := []byte(c.got)
		if err := v.Correct(b); err != nil || v.cost != c.cost || string(b) != c.want || len(v.want) != 0 {
			t.Errorf("%q, %q: %d, %q", c.got, c.want, v.cost, b)
		}
	}
}

// TestBeyond: an address behind what the file holds of an area goes as far behind the area's end.
func TestBeyond(t *testing.T) {
	s := &Modules{
		Old: []Area{{At: 0, Size: 100, Memory: 300, Address: 0x1000}},
		New: []Area{{At: 0, Size: 140, Memory: 340, Address: 0x1000}},
	}
	p := newPredictor(s, NewOffsetMap([]Match{{At: 0, Size: 100, Old: 0}}, 100), nil, 8)
	for old, want := range map[uint64]uint64{0x1000: 0x1000, 0x1063: 0x1063, 0x1064: 0x108c, 0x112b: 0x1153} {
		if got, ok := p.newAddress(old); !ok || got != want {
			t.Errorf("%#x went to %#x, %v, want %#x", old, got, ok, want)
		}
	}
	for _, old := range []uint64{0xfff, 0x112c, 0} {
		if got, ok := p.newAddress(old); ok {
			t.Errorf("%#x is outside and went to %#x", old, got)
		}
	}
	s.New = append(s.New, Area{At: 140, Size: 5, Memory: 5, Address: 0x9000})
	p = newPredictor(s, NewOffsetMap([]Match{{At: 0, Size: 100, Old: 0}}, 100), nil, 8)
	if got, ok := p.newAddress(0x1064); ok {
		t.Errorf("with other areas it went to %#x", got)
	}
}
