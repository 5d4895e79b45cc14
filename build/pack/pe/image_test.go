package pe_test

import (
	"bytes"
	stdpe "debug/pe"
	"encoding/binary"
)

// Where things are in the programs that program makes.
const (
	headerAt    = 0x80
	optionalAt  = headerAt + 24
	headersEnd  = 0x200
	rawAt       = 0x200
	address     = 0x1000
	directoryAt = 0x20 // in the section
	recordAt    = 0x100
	sectionSize = 0x400
)

var guid = [16]byte{0x12, 0x12, 0xa9, 0xef, 0x34, 0x56, 0x78, 0x9a, 0x4c, 0x4c, 0x44, 0x20, 0x50, 0x44, 0x42, 0x2e}

// entry is a line of a debug directory; the data lies where it says.
type entry struct {
	Characteristics, Time uint32
	Major, Minor          uint16
	Type, Size            uint32
	Address, Raw          uint32
}

func rsds(path string) []byte {
	data := append([]byte("RSDS"), guid[:]...)
	data = binary.LittleEndian.AppendUint32(data, 1)
	return append(append(data, path...), 0)
}

// codeView is the entry for a record at its usual place.
func codeView(record []byte) entry {
	return entry{Type: 2, Size: uint32(len(record)), Address: address + recordAt, Raw: rawAt + recordAt}
}

// program is a small PE32 or PE32+ file with one section, which holds a debug directory and a record.
type program struct {
	wide     bool
	record   []byte
	entries  []entry
	checksum uint32
	signed   uint32 // bytes of signatures that the headers claim
	tail     []byte
}

func usual(path string) program {
	r := rsds(path)
	return program{wide: true, record: r, entries: []entry{codeView(r)}}
}

func (p program) bytes() []byte {
	image := make([]byte, rawAt+sectionSize)
	copy(image, "MZ")
	binary.LittleEndian.PutUint32(image[0x3c:], headerAt)
	copy(image[headerAt:], "PE\x00\x00")
	var directories [16]stdpe.DataDirectory
	directories[6] = stdpe.DataDirectory{VirtualAddress: address + directoryAt, Size: uint32(28 * len(p.entries))}
	directories[4].Size = p.signed
	var optional any = stdpe.OptionalHeader32{Magic: 0x10b, SizeOfHeaders: headersEnd, CheckSum: p.checksum, NumberOfRvaAndSizes: 16, DataDirectory: directories}
	if p.wide {
		optional = stdpe.OptionalHeader64{Magic: 0x20b, SizeOfHeaders: headersEnd, CheckSum: p.checksum, NumberOfRvaAndSizes: 16, DataDirectory: directories}
	}
	put(image[headerAt+4:], stdpe.FileHeader{NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional))})
	put(image[optionalAt:], optional)
	put(image[optionalAt+binary.Size(optional):], stdpe.SectionHeader32{VirtualSize: sectionSize, VirtualAddress: address, SizeOfRawData: sectionSize, PointerToRawData: rawAt})
	put(image[rawAt+directoryAt:], p.entries)
	copy(image[rawAt+recordAt:], p.record)
	return append(image, p.tail...)
}

func put(into []byte, what any) {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, what); err != nil {
		panic(err)
	}
	copy(into, b.Bytes())
}
