package predict

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"collet/netproto/predicttest"
)

// sectioned is an ELF module with sections: their names, addresses and places.
func sectioned(machine uint16, sections map[string]Area) []byte {
	b := bytes.Clone(predicttest.Module(0))
	le := binary.LittleEndian
	le.PutUint16(b[18:], machine)
	names := []byte{0}
	var headers []byte
	header := func(name int, address, at, size uint64) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(name))
		le.PutUint64(h[16:], address)
		le.PutUint64(h[24:], at)
		le.PutUint64(h[32:], size)
		headers = append(headers, h...)
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		s := sections[name]
		header(len(names), s.Address, uint64(s.At), uint64(s.Size))
		names = append(append(names, name...), 0)
	}
	header(0, 0, uint64(len(b)), uint64(len(names)))
	table := len(b) + len(names)
	b = append(append(b, names...), headers...)
	le.PutUint64(b[40:], uint64(table))
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], uint16(len(sections)+1))
	le.PutUint16(b[62:], uint16(len(sections)))
	return b
}

// TestELF: segments are areas, sections are bases, and those whose layout is known are tables.
func TestELF(t *testing.T) {
	b := sectioned(62, map[string]Area{
		".text":     {At: predicttest.ELFHead, Size: 500, Address: 0x401000},
		".eh_frame": {At: predicttest.ELFHead + 500, Size: 100, Address: 0x4011f4},
		".comment":  {At: 1, Size: 10},
	})
	im := parseImage(b)
	if im == nil || im.machine != machineX86 || len(im.areas) != 2 {
		t.Fatalf("%+v", im)
	}
	if a := im.areas[0]; a.At != predicttest.ELFHead || a.Address != 0x401000 || !a.Code || a.Memory != a.Size+64 {
		t.Errorf("Code: %+v", a)
	}
	if im.areas[1].Code || im.areas[1].Address != 0x500000 {
		t.Errorf("Data: %+v", im.areas[1])
	}
	if want := map[string]uint64{imageBase: 0, ".text": 0x401000, ".eh_frame": 0x4011f4}; !maps.Equal(im.bases, want) {
		t.Errorf("bases: %v", im.bases)
	}
	if len(im.tables) != 1 || im.tables[".eh_frame"].At != predicttest.ELFHead+500 || im.tables[".eh_frame"].Size != 100 {
		t.Errorf("tables: %+v", im.tables)
	}
	if im := parseImage(sectioned(183, nil)); im == nil || im.machine != machineARM {
		t.Errorf("arm64: %+v", im)
	}
	if im := parseImage(sectioned(3, nil)); im != nil {
		t.Errorf("a machine that is not predicted: %+v", im)
	}
}

// TestELFLies: sections and segments that leave the file are left out, and any number of them does no harm.
func TestELFLies(t *testing.T) {
	b := sectioned(62, map[string]Area{".eh_frame": {At: 1 << 30, Size: 100, Address: 0x4011f4}, ".pdata": {At: 5, Size: 1 << 31, Address: 9}})
	if im := parseImage(b); im == nil || len(im.tables) != 0 {
		t.Errorf("%+v", im)
	}
	le := binary.LittleEndian
	for name, spoil := range map[string]func(b []byte){
		"a segment behind the file": func(b []byte) { le.PutUint64(b[64+8:], 1<<40) },
		"a segment too large":       func(b []byte) { le.PutUint64(b[64+32:], 1<<63) },
		"memory of 2 GiB":           func(b []byte) { le.PutUint64(b[64+40:], 1<<31) },
		"no segment is loaded":      func(b []byte) { le.PutUint32(b[64:], 2) },
	} {
		b := predicttest.Module(0)
		spoil(b)
		if im := parseImage(b); im == nil || len(im.areas) != 1 {
			t.Errorf("%s: %+v", name, im)
		}
	}
	for name, spoil := range map[string]func(b []byte){
		"segments behind the file": func(b []byte) { le.PutUint64(b[32:], 1<<50) },
		"no segments":              func(b []byte) { le.PutUint16(b[56:], 0) },
		"another class":            func(b []byte) { b[4] = 1 },
		"another byte order":       func(b []byte) { b[5] = 2 },
	} {
		b := predicttest.Module(0)
		spoil(b)
		if im := parseImage(b); im != nil {
			t.Errorf("%s: %+v", name, im)
		}
	}
	b = predicttest.Module(0)
	le.PutUint16(b[56:], 0xffff)
	le.PutUint16(b[60:], 0xffff)
	le.PutUint64(b[40:], 64)
	le.PutUint16(b[58:], 0)
	if im := parseImage(b); im != nil && (len(im.areas) > maxSections || len(im.bases) > MaxBases+1) {
		t.Errorf("%d areas, %d bases", len(im.areas), len(im.bases))
	}
}

// TestGoTables: the header of a Go program's function table says where its tables are.
func TestGoTables(t *testing.T) {
	e := &predicttest.ELF{Code: predicttest.Bodies(10), Data: make([]byte, 400), CodeAt: 0x401000, DataAt: 0x500000}
	const at = 96
	copy(e.Data[at:], goTable)
	le := binary.LittleEndian
	le.PutUint64(e.Data[at+24:], 0x401000)
	for i, offset := range []uint64{0x40, 0x80, 0xc0, 0x100, 0x140} {
		le.PutUint64(e.Data[at+32+8*i:], offset)
	}
	im := parseImage(e.Bytes())
	want := map[string]uint64{imageBase: 0, "go text": 0x401000, "go names": 0x5000a0, "go units": 0x5000e0, "go files": 0x500120, "go numbers": 0x500160, "go functions": 0x5001a0}
	if im == nil {
		t.Fatal("this is no module")
	}
	delete(im.bases, "")
	if !maps.Equal(im.bases, want) {
		t.Errorf("%#x", im.bases)
	}
	e.Data = e.Data[:at+72]
	if im := parseImage(e.Bytes()); im == nil || im.bases["go text"] != 0 {
		t.Errorf("a header that is cut off is taken: %#x", im.bases)
	}
}

// TestFields: what lies behind the end reads as zeros.
func TestFields(t *testing.T) {
	f := fields("\x01\x02\x03\x04\x05\x06\x07\x08\x09name\x00rest")
	if f.u16(0) != 0x201 || f.u32(1) != 0x5040302 || f.u64(1) != 0x908070605040302 {
		t.Errorf("%x, %x, %x", f.u16(0), f.u32(1), f.u64(1))
	}
	for _, at := range []uint64{uint64(len(f)), uint64(len(f)) - 1, 1 << 40, ^uint64(0)} {
		if f.u16(at) != 0 || f.u32(at) != 0 || f.u64(at) != 0 {
			t.Errorf("something lies at %#x", at)
		}
	}
	for at, want := range map[uint64]string{9: "name", 14: "rest", 17: "t", 18: "", 1 << 50: ""} {
		if got := f.text(at); got != want {
			t.Errorf("text at %d: %q", at, got)
		}
	}
	if got := fields(bytes.Repeat([]byte("x"), 100)).text(0); len(got) != 32 {
		t.Errorf("a name of %d bytes", len(got))
	}
}

// TestSortedNames: the order of bases does not depend on the order of a map, and base 0 is the image's.
func TestSortedNames(t *testing.T) {
	names := sortedNames(map[string]uint64{".text": 1, imageBase: 2, "go text": 3, ".data": 4})
	if !slices.Equal(names, []string{imageBase, ".data", ".text", "go text"}) {
		t.Errorf("%q", names)
	}
}
