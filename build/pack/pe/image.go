package pe

import (
	"debug/pe"
	"encoding/binary"
)

// Limits. A file beyond one of them is refused.
const (
	maxSections     = 96      // the limit of Windows' loader up to XP, far above what linkers write
	maxDebugEntries = 64      // linkers write up to ten
	maxRecord       = 1 << 16 // bytes; paths have at most 32 767 characters
)

// Layout of the headers (PE format specification, sections "DOS stub", "COFF file header", "optional header").
const (
	peOffset       = 0x3c // where the DOS header says where the PE header is
	signatureSize  = 4
	fileHeaderSize = 20
	sectionSize    = 40
	checksumAt     = 64 // of the optional header, in both kinds
	magic32        = 0x10b
	magic64        = 0x20b
	debugEntrySize = 28
	codeView       = 2 // IMAGE_DEBUG_TYPE_CODEVIEW
	pathAt         = 24
)

// header is what the headers say as far as it matters here.
type header struct {
	checksum   int // offset of the field
	size       int // bytes of all headers
	debug      pe.DataDirectory
	security   pe.DataDirectory
	securityAt int // offset of its entry; 0 if absent
	sections   []pe.SectionHeader32
}

// parse reads the headers of an image.
func parse(image []byte) (header, error) {
	if len(image) < peOffset+4 || string(image[:2]) != "MZ" {
		return header{}, fault(NotPE, "it does not begin with a DOS header")
	}
	at := int64(binary.LittleEndian.Uint32(image[peOffset:]))
	sig, err := slice(image, at, signatureSize+fileHeaderSize, "the PE header")
	if err != nil {
		return header{}, err
	}
	if string(sig[:signatureSize]) != "PE\x00\x00" {
		return header{}, fault(NotPE, "there is no PE header at offset %d", at)
	}
	var file pe.FileHeader
	decode(sig[signatureSize:], &file)
	at += signatureSize + fileHeaderSize
	optional, err := slice(image, at, int64(file.SizeOfOptionalHeader), "the optional header")
	if err != nil {
		return header{}, err
	}
	h := header{checksum: int(at) + checksumAt}
	if err := h.optional(optional); err != nil {
		return header{}, err
	}
	if h.securityAt != 0 {
		h.securityAt += int(at)
	}
	return h, h.readSections(image, at+int64(len(optional)), int64(file.NumberOfSections))
}

// optional reads the header that differs between PE32 and PE32+. It may end within the list of data directories.
func (h *header) optional(data []byte) error {
	if len(data) < 2 {
		return fault(NotPE, "the optional header has %d bytes", len(data))
	}
	var directories [16]pe.DataDirectory
	var count uint32
	full := make([]byte, binary.Size(pe.OptionalHeader64{}))
	copy(full, data)
	fixed := len(full) - len(directories)*8
	switch binary.LittleEndian.Uint16(data) {
	case magic32:
		var o pe.OptionalHeader32
		fixed = binary.Size(o) - len(directories)*8
		decode(full, &o)
		directories, count, h.size = o.DataDirectory, o.NumberOfRvaAndSizes, int(o.SizeOfHeaders)
	case magic64:
		var o pe.OptionalHeader64
		decode(full, &o)
		directories, count, h.size = o.DataDirectory, o.NumberOfRvaAndSizes, int(o.SizeOfHeaders)
	default:
		return fault(NotPE, "the optional header has the kind %#x", binary.LittleEndian.Uint16(data))
	}
	if len(data) < fixed {
		return fault(NotPE, "the optional header has %d bytes, less than the %d of its kind", len(data), fixed)
	}
	if count > uint32(len(directories)) || fixed+int(count)*8 > len(data) {
		return fault(Malformed, "%d data directories don't fit the optional header", count)
	}
	if count > pe.IMAGE_DIRECTORY_ENTRY_DEBUG {
		h.debug = directories[pe.IMAGE_DIRECTORY_ENTRY_DEBUG]
	}
	if count > pe.IMAGE_DIRECTORY_ENTRY_SECURITY {
		h.security = directories[pe.IMAGE_DIRECTORY_ENTRY_SECURITY]
		h.securityAt = fixed + pe.IMAGE_DIRECTORY_ENTRY_SECURITY*8
	}
	return nil
}

func (h *header) readSections(image []byte, at, count int64) error {
	if count > maxSections {
		return fault(Malformed, "%d sections, the limit is %d", count, maxSections)
	}
	table, err := slice(image, at, count*sectionSize, "the table of sections")
	if err != nil {
		return err
	}
	if end := int(at) + len(table); h.size < end || h.size > len(image) {
		return fault(Malformed, "headers of %d bytes, where the table of sections ends at %d and the file at %d", h.size, end, len(image))
	}
	h.sections = make([]pe.SectionHeader32, count)
	decode(table, h.sections)
	return nil
}

// offset converts a virtual address to a file offset. The whole range must lie in one section's raw data.
func (h *header) offset(address, size uint32) (int64, bool) {
	for _, s := range h.sections {
		from, to := uint64(s.VirtualAddress), uint64(s.VirtualAddress)+uint64(s.SizeOfRawData)
		if a := uint64(address); a >= from && a+uint64(size) <= to {
			return int64(s.PointerToRawData) + int64(a-from), true
		}
	}
	return 0, false
}

// slice returns a part of the file.
func slice(image []byte, at, size int64, what string) ([]byte, error) {
	if at+size > int64(len(image)) {
		return nil, fault(Truncated, "%s would end at %d of %d bytes", what, at+size, len(image))
	}
	return image[at : at+size], nil
}

// decode reads fixed structures from data that is long enough.
func decode(data []byte, into any) {
	if _, err := binary.Decode(data, binary.LittleEndian, into); err != nil {
		panic(err) // the callers have checked the length
	}
}
