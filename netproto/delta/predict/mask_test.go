package predict

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"collet/netproto/predicttest"
)

// maskedOf is a module as it is searched.
func maskedOf(t *testing.T, b []byte) []byte {
	t.Helper()
	im := parseImage(b)
	if im == nil {
		t.Fatal("this is no module")
	}
	out := newMask(b, im.areas, im.machine).maskAll([]tables{im.knownTables(0)})
	if len(out) != len(b) {
		t.Fatalf("%d bytes became %d", len(b), len(out))
	}
	return out
}

// code is an area of code in which functions are called by number, so that tests can move them.
func callsTo(targets []uint64, at uint64) (b []byte) {
	for _, target := range targets {
		b = append(b, 0xe8)
		b = binary.LittleEndian.AppendUint32(b, uint32(target-(at+uint64(len(b))+4)))
	}
	return b
}

// TestMaskHidesMoves: calls to the same functions look the same wherever the functions and the calls lie, and calls to
// others look different.
func TestMaskHidesMoves(t *testing.T) {
	const n, start = 20, 0x1000
	masked := func(order []int, padding int) []byte {
		bodiesAt := start + uint64(padding)
		callsAt := bodiesAt + n*16
		var targets []uint64
		for _, i := range order {
			targets = append(targets, bodiesAt+uint64(16*i))
		}
		code := append(bytes.Repeat([]byte{0x90}, padding), predicttest.Bodies(n)...)
		code = append(code, callsTo(targets, callsAt)...)
		e := &predicttest.ELF{Code: code, CodeAt: start, DataAt: 0x100000}
		return maskedOf(t, e.Bytes())[predicttest.ELFHead+padding+n*16:]
	}
	order := []int{3, 3, 7, 0, 19, 12}
	first := masked(order, 0)
	for _, padding := range []int{16, 48, 4096} {
		if got := masked(order, padding); !bytes.Equal(got, first) {
			t.Errorf("moved by %d: % x, want % x", padding, got, first)
		}
	}
	same := 0
	for i := range n {
		for k := range i {
			if a, b := masked([]int{i}, 0), masked([]int{k}, 0); bytes.Equal(a, b) {
				same++
			}
		}
	}
	if same > 3 {
		t.Errorf("%d of %d pairs of calls to different functions look the same", same, n*(n-1)/2)
	}
}

// TestMaskLeavesTheRest: what is no reference stays as it is.
func TestMaskLeavesTheRest(t *testing.T) {
	e := &predicttest.ELF{Code: bytes.Repeat([]byte{0x90, 0x48, 0x83, 0xc0}, 100), Data: bytes.Repeat([]byte("plain words "), 33), CodeAt: 0x1000, DataAt: 0x100000}
	if b := e.Bytes(); !bytes.Equal(maskedOf(t, b), b) {
		t.Error("a module without a reference is changed")
	}
	b := predicttest.Module(0)
	out := maskedOf(t, b)
	if !bytes.Equal(out[:predicttest.ELFHead], b[:predicttest.ELFHead]) {
		t.Error("the headers are changed")
	}
	if bytes.Equal(out, b) {
		t.Error("a module full of references is not changed")
	}
}

// TestMaskPointers: addresses in data become a hash of what they lead to; small numbers and those that lead nowhere stay.
func TestMaskPointers(t *testing.T) {
	e := &predicttest.ELF{Code: predicttest.Bodies(30), CodeAt: 0x1000, DataAt: 0x100000}
	list := []uint64{0x1000, 0x1010, 0x1000, 0, 7, 0xfff, 0x999999999, 0x1000 + 30*16 + 100_000}
	for _, v := range list {
		e.Data = binary.LittleEndian.AppendUint64(e.Data, v)
	}
	b := e.Bytes()
	out := maskedOf(t, b)[len(b)-8*len(list):]
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(out[8*i:]) }
	if at(0) != at(2) || at(0) == at(1) {
		t.Errorf("the same target: %x and %x, another: %x", at(0), at(2), at(1))
	}
	for i := 3; i < len(list); i++ {
		if at(i) != list[i] {
			t.Errorf("%#x became %#x", list[i], at(i))
		}
	}
	if at(0) >= 1<<16 {
		t.Errorf("a hash of more than 16 bits: %#x", at(0))
	}
}

// TestMaskJumps: a table of distances from its start is found where code refers to it, and ends where a number leads nowhere.
func TestMaskJumps(t *testing.T) {
	const codeAt, dataAt = 0x1000, 0x100000
	code := predicttest.Bodies(30)
	lea := append([]byte{0x48, 0x8d, 0x05}, make([]byte, 4)...)
	binary.LittleEndian.PutUint32(lea[3:], uint32(dataAt+16-(codeAt+len(code)+7)))
	e := &predicttest.ELF{Code: append(append(code, lea...), 0x90), CodeAt: codeAt, DataAt: dataAt}
	base := int64(dataAt + 16)
	e.Data = make([]byte, 16)
	for _, target := range []int64{codeAt, codeAt + 32, codeAt + 64, codeAt} {
		e.Data = binary.LittleEndian.AppendUint32(e.Data, uint32(target-base))
	}
	e.Data = append(e.Data, "no jump, only text of a kind ..."...)
	b := e.Bytes()
	in, out := b[len(b)-len(e.Data):], maskedOf(t, b)[len(b)-len(e.Data):]
	word := func(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[16+4*i:]) }
	if word(out, 0) != word(out, 3) || word(out, 0) == word(out, 1) || word(out, 1) == word(in, 1) {
		t.Errorf("distances became %x, %x, %x, %x", word(out, 0), word(out, 1), word(out, 2), word(out, 3))
	}
	if !bytes.Equal(out[32:], in[32:]) || !bytes.Equal(out[:16], in[:16]) {
		t.Error("what is around the table is changed")
	}
}

// TestMaskRecords: references in the records of .eh_frame and in the tables of PE are masked, sizes and the rest are not.
func TestMaskRecords(t *testing.T) {
	le := binary.LittleEndian
	b := make([]byte, 0x4000)
	copy(b[0x2000:], predicttest.Bodies(100))
	areas := []Area{{At: 0, Size: 0x2000, Memory: 0x2000, Address: 0x10000}, {At: 0x2000, Size: 0x2000, Memory: 0x2000, Address: 0x12000, Code: true}}
	frame := Area{At: 0x100, Size: 0x100, Memory: 0x100, Address: 0x10100}
	record := func(at int, target uint64) {
		le.PutUint32(b[at:], 20)
		le.PutUint32(b[at+4:], uint32(at+4-0x100))
		le.PutUint32(b[at+8:], uint32(target-(0x10000+uint64(at)+8)))
		le.PutUint32(b[at+12:], 0x10)
		le.PutUint64(b[at+16:], 0x0e410c860e400000)
	}
	le.PutUint32(b[0x100:], 20) // the common part
	copy(b[0x108:], "\x01zR\x00")
	record(0x118, 0x12010)
	record(0x130, 0x12020)
	record(0x148, 0x12010)
	functions := Area{At: 0x800, Size: 24, Memory: 24, Address: 0x10800}
	for i, v := range []uint32{0x2010, 0x2020, 0x2010, 0x2030, 0x2020, 0x2040} {
		le.PutUint32(b[0x800+4*i:], v)
	}
	index := Area{At: 0x900, Size: 36, Memory: 36, Address: 0x10900}
	for i, v := range []int32{0x2010 - 0x900, 0x118 - 0x900, 0x2020 - 0x900, 0x130 - 0x900, 0x2010 - 0x900, 0x148 - 0x900} {
		le.PutUint32(b[0x90c+4*i:], uint32(v))
	}
	m := tables{named: map[string]Area{".eh_frame": frame, ".pdata": functions, ".eh_frame_hdr": index}, base: 0x10000}
	out := newMask(b, areas, machineX86).maskAll([]tables{m})
	word := func(at int) uint32 { return le.Uint32(out[at:]) }
	if word(0x120) != word(0x150) || word(0x120) == word(0x138) || word(0x120) >= 1<<16 {
		t.Errorf("functions of records: %x, %x, %x", word(0x120), word(0x138), word(0x150))
	}
	if word(0x11c) != 0 || word(0x134) != 0 || word(0x118) != 20 || word(0x124) != 0x10 {
		t.Errorf("a record became %x", out[0x118:0x130])
	}
	if word(0x800) != word(0x808) || word(0x800) == word(0x804) || word(0x804) != word(0x810) {
		t.Errorf("functions: %x", out[0x800:0x818])
	}
	if word(0x90c) != word(0x91c) || word(0x90c) != word(0x800) {
		t.Errorf("the index: %x, the function it leads to: %x", word(0x90c), word(0x800))
	}
	if !bytes.Equal(out[0x900:0x90c], b[0x900:0x90c]) {
		t.Error("the head of the index is changed")
	}
}

// TestMaskARM: branches and pairs of instructions that lead to the same place look the same wherever they stand.
func TestMaskARM(t *testing.T) {
	b := make([]byte, 0x3000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0x1000; i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	areas := []Area{{At: 0, Size: 0x1000, Memory: 0x1000, Address: 0x40000, Code: true}, {At: 0x1000, Size: 0x2000, Memory: 0x2000, Address: 0x80000}}
	put := func(at int, op uint32) { binary.LittleEndian.PutUint32(b[at:], op) }
	call := func(at int, target uint64) {
		put(at, armWithField(0x94000000, 26, 0, uint32((target-0x40000-uint64(at))>>2)))
	}
	load := func(at int, target uint64) {
		put(at, armWithPage(0x90000003, uint32((target>>12)-(0x40000+uint64(at))>>12)))
		put(at+4, armWithField(0x91000063, 12, 10, uint32(target&0xfff)))
	}
	call(0x100, 0x40500)
	call(0x104, 0x40500)
	call(0x108, 0x40600)
	put(0x500, 0x11223344)
	put(0x600, 0x55667788)
	load(0x200, 0x80123)
	load(0x208, 0x80123)
	load(0x210, 0x81456)
	out := newMask(b, areas, machineARM).maskAll(nil)
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(out[at:]) }
	if word(0x100) != word(0x104) || word(0x100) == word(0x108) || word(0x100)>>26 != 0x94000000>>26 {
		t.Errorf("calls: %x, %x, %x", word(0x100), word(0x104), word(0x108))
	}
	if word(0x204) != word(0x20c) || word(0x204) == word(0x214) || word(0x200) != word(0x210) || word(0x200)&31 != 3 {
		t.Errorf("pairs: %x", out[0x200:0x218])
	}
	if !bytes.Equal(out[0x1000:], b[0x1000:]) {
		t.Error("data without a pointer is changed")
	}
}

// TestUnwindRecord is what counts as a record of .eh_frame.
func TestUnwindRecord(t *testing.T) {
	le := binary.LittleEndian
	record := func(size, back uint32, augmentation byte) []byte {
		b := le.AppendUint32(le.AppendUint32(nil, size), back)
		b = append(b, make([]byte, 16)...)
		b[16] = augmentation
		return b
	}
	for name, c := range map[string]struct {
		b            []byte
		before       uint64
		n            int
		owner, extra bool
	}{
		"the end":               {record(0, 0, 0), 100, 0, false, false},
		"too small":             {record(4, 0, 0), 100, 0, false, false},
		"not a multiple of 4":   {record(21, 24, 0), 100, 0, false, false},
		"too large":             {record(largestRecord+4, 24, 0), 100, 0, false, false},
		"a common part":         {record(20, 0, 0), 100, 24, false, false},
		"a function":            {record(20, 24, 0), 100, 24, true, false},
		"at the very start":     {record(20, 24, 0), 20, 24, true, false},
		"before the start":      {record(20, 24, 0), 19, 24, false, false},
		"too small to be one":   {record(12, 24, 0), 100, 16, false, false},
		"of a language":         {record(20, 24, 4), 100, 24, true, true},
		"no room for that":      {record(16, 24, 4), 100, 20, true, false},
		"the largest there are": {record(largestRecord, 24, 0), 100, largestRecord + 4, true, false},
	} {
		if n, owner, extra := unwindRecord(c.b, c.before); n != c.n || owner != c.owner || extra != c.extra {
			t.Errorf("%s: %d, %v, %v", name, n, owner, extra)
		}
	}
}
