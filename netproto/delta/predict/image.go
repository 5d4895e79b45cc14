package predict

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Area is a range of the contents that the loaded program has at an address.
type Area struct {
	At      uint32 // offset in the old or new contents
	Size    uint32 // bytes that are in the file
	Memory  uint32 // bytes in memory: more than size for zero-filled memory
	Address uint64
	Code    bool
}

// image is what the maker reads from the headers of a native module. The applier gets the areas and bases from the patch
// and never parses a module.
type image struct {
	machine int
	areas   []Area
	bases   map[string]uint64 // addresses that tables of offsets are relative to, by kind
	tables  map[string]Area   // sections whose layout is known, by name
}

// imageBase is the name of the image's load address. It sorts before all others, so it is base 0.
const imageBase = " image"

// knownTables are sections in which the maker looks for references of a known layout.
const knownTables = " .eh_frame .eh_frame_hdr .pdata "

// Machines whose code is predicted.
const (
	machineX86  = 1
	machineARM  = 2
	machineWASM = 3
)

// maxSections bounds the headers that are read: more sections are legal, and only reduce prediction.
const maxSections = 256

// parseImage reads the headers of an ELF, PE or Mach-O module for 64 bits. It returns nil for anything else.
func parseImage(b []byte) *image {
	var im *image
	switch {
	case len(b) < 64:
	case bytes.HasPrefix(b, []byte("\x7fELF\x02\x01")):
		im = parseELF(b)
	case bytes.HasPrefix(b, []byte("MZ")):
		im = parsePE(b)
	case bytes.HasPrefix(b, []byte("\xcf\xfa\xed\xfe")):
		im = parseMachO(b)
	case bytes.HasPrefix(b, []byte("\x00asm\x01\x00\x00\x00")):
		im = parseWASM(b)
	}
	if im == nil || len(im.areas) == 0 || im.machine == 0 {
		return nil
	}
	im.goTables(b)
	return im
}

// fields reads little-endian numbers of a file; bytes behind its end are zero.
type fields []byte

func (f fields) at(at, n uint64) []byte {
	if at > uint64(len(f)) || n > uint64(len(f))-at {
		return make([]byte, n)
	}
	return f[at : at+n]
}
func (f fields) u16(at uint64) uint64 { return uint64(binary.LittleEndian.Uint16(f.at(at, 2))) }
func (f fields) u32(at uint64) uint64 { return uint64(binary.LittleEndian.Uint32(f.at(at, 4))) }
func (f fields) u64(at uint64) uint64 { return binary.LittleEndian.Uint64(f.at(at, 8)) }

// text is a zero-terminated name.
func (f fields) text(at uint64) string {
	s := f.at(at, min(32, max(uint64(len(f)), at)-at))
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return string(s)
}

// addArea records an area if it lies in the file.
func (im *image) addArea(b []byte, at, size, memory, address uint64, code bool) {
	if at > uint64(len(b)) || size > uint64(len(b))-at || memory >= 1<<31 {
		return
	}
	im.areas = append(im.areas, Area{uint32(at), uint32(size), uint32(max(size, memory)), address, code})
}

// addTable records a section whose layout is known.
func (im *image) addTable(b []byte, name string, at, size, address uint64) {
	if strings.Contains(knownTables, " "+name+" ") && at <= uint64(len(b)) && size <= uint64(len(b))-at {
		im.tables[name] = Area{At: uint32(at), Size: uint32(size), Memory: uint32(size), Address: address}
	}
}

// parseELF reads the loaded segments, and the sections' addresses as bases.
func parseELF(b []byte) *image {
	f, im := fields(b), &image{bases: map[string]uint64{}, tables: map[string]Area{}}
	switch f.u16(18) {
	case 62:
		im.machine = machineX86
	case 183:
		im.machine = machineARM
	}
	for i, at := uint64(0), f.u64(32); i < min(f.u16(56), maxSections); i, at = i+1, at+f.u16(54) {
		if f.u32(at) == 1 { // a loaded segment
			im.addArea(b, f.u64(at+8), f.u64(at+32), f.u64(at+40), f.u64(at+16), f.u32(at+4)&1 != 0)
		}
	}
	im.bases[imageBase] = 0
	table, size := f.u64(40), f.u16(58)
	names := f.u64(table + size*f.u16(62) + 24)
	for i := range min(f.u16(60), maxSections) {
		at := table + size*i
		name, address := f.text(names+f.u32(at)), f.u64(at+16)
		if address != 0 && len(im.bases) < MaxBases {
			im.bases[name] = address
			im.addTable(b, name, f.u64(at+24), f.u64(at+32), address)
		}
	}
	return im
}

// parsePE reads the sections, at the preferred addresses of the image.
func parsePE(b []byte) *image {
	f, im := fields(b), &image{bases: map[string]uint64{}, tables: map[string]Area{}}
	pe := f.u32(60)
	if f.u32(pe) != 0x4550 || f.u16(pe+24) != 0x20b {
		return nil
	}
	switch f.u16(pe + 4) {
	case 0x8664:
		im.machine = machineX86
	case 0xaa64:
		im.machine = machineARM
	}
	base := f.u64(pe + 48)
	im.bases[imageBase] = base
	im.addArea(b, 0, f.u32(pe+84), 0, base, false) // the headers
	for i, at := uint64(0), pe+24+f.u16(pe+20); i < min(f.u16(pe+6), maxSections); i, at = i+1, at+40 {
		address, memory := base+f.u32(at+12), f.u32(at+8)
		im.addArea(b, f.u32(at+20), min(f.u32(at+16), memory), memory, address, f.u32(at+36)&0x20000000 != 0)
		if len(im.bases) < MaxBases {
			im.bases[f.text(at)] = address
			im.addTable(b, f.text(at), f.u32(at+20), min(f.u32(at+16), memory), address)
		}
	}
	return im
}

// parseMachO reads the segments, and the sections' addresses as bases.
func parseMachO(b []byte) *image {
	f, im := fields(b), &image{bases: map[string]uint64{}, tables: map[string]Area{}}
	switch f.u32(4) {
	case 0x01000007:
		im.machine = machineX86
	case 0x0100000c:
		im.machine = machineARM
	}
	for i, at := uint64(0), uint64(32); i < min(f.u32(16), maxSections); i, at = i+1, at+f.u32(at+4) {
		if f.u32(at) != 0x19 { // a segment for 64 bits
			continue
		}
		address, offset, size := f.u64(at+24), f.u64(at+40), f.u64(at+48)
		if f.text(at+8) == "__TEXT" {
			im.bases[imageBase] = address
		}
		if size > 0 {
			im.addArea(b, offset, size, f.u64(at+32), address, f.u32(at+60)&4 != 0)
		}
		for k, s := uint64(0), at+72; k < min(f.u32(at+64), maxSections); k, s = k+1, s+80 {
			if name := "." + strings.TrimLeft(f.text(s), "_"); len(im.bases) < MaxBases {
				im.bases[name] = f.u64(s + 32)
				im.addTable(b, name, f.u32(s+48), f.u64(s+40), f.u64(s+32))
			}
		}
	}
	return im
}

// goTable is the beginning of a Go program's function table on the predicted machines.
const goTable = "\xf1\xff\xff\xff\x00\x00\x01\x08"

// goTables adds the tables that a Go program's function table refers to; its header has their offsets.
func (im *image) goTables(b []byte) {
	f := fields(b)
	for _, a := range im.areas {
		end := uint64(a.At) + uint64(a.Size)
		i := bytes.Index(b[a.At:end], []byte(goTable))
		if i < 0 || uint64(a.At)+uint64(i)+72 >= end {
			continue
		}
		at, here := uint64(a.At)+uint64(i), a.Address+uint64(i)
		im.bases["go text"] = f.u64(at + 24)
		for i, name := range []string{"go names", "go units", "go files", "go numbers", "go functions"} {
			im.bases[name] = here + f.u64(at+32+8*uint64(i))
		}
		return
	}
}

// Sections of WebAssembly modules with areas.
const (
	wasmCodeSection = 10
	wasmDataSection = 11
)

// wasmAddresses is added to offsets in a WebAssembly module, which has no addresses of its own, so that no number looks like one.
const wasmAddresses = 1 << 40

// parseWASM reads the sections with code and data.
func parseWASM(b []byte) *image {
	im := &image{machine: machineWASM, bases: map[string]uint64{}, tables: map[string]Area{}}
	for i, at := 0, uint64(8); i < maxSections && at < uint64(len(b)); i++ {
		size, n := binary.Uvarint(b[at+1:])
		if n <= 0 || size > uint64(len(b)) {
			break
		}
		from := at + 1 + uint64(n)
		if b[at] == wasmCodeSection || b[at] == wasmDataSection {
			im.addArea(b, from, size, 0, wasmAddresses+from, b[at] == wasmCodeSection)
		}
		at = from + size
	}
	return im
}
