package pe

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf8"
)

// debugEntry is one entry of the debug directory (IMAGE_DEBUG_DIRECTORY).
type debugEntry struct {
	Characteristics, TimeDateStamp uint32
	MajorVersion, MinorVersion     uint16
	Type                           uint32
	SizeOfData                     uint32
	AddressOfRawData               uint32 // 0: not mapped into memory
	PointerToRawData               uint32
}

// ReadSymbols tells which PDB a program says that it has.
func ReadSymbols(image []byte) (Symbols, error) {
	_, record, err := findDebugRecord(image)
	if err != nil {
		return Symbols{}, err
	}
	s := Symbols{ID: ID{GUID: [16]byte(record[4:20]), Age: binary.LittleEndian.Uint32(record[20:])}}
	path, _, _ := bytes.Cut(record[pathAt:], []byte{0})
	s.Path, s.Room = string(path), len(record)-pathAt-1
	return s, nil
}

// PatchPDB writes the name of a program's PDB into the program, in place. Nothing is written when there is an error.
func PatchPDB(image []byte, name string) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, notInNames) {
		return fault(BadName, "%q", name)
	}
	h, record, err := findDebugRecord(image)
	if err != nil {
		return err
	}
	if h.security.Size != 0 {
		return fault(Signed, "signatures of %d bytes", h.security.Size)
	}
	path := record[pathAt:]
	if len(name) >= len(path) {
		return fault(TooLong, "%q has %d bytes, there is room for %d", name, len(name), len(path)-1)
	}
	clear(path[copy(path, name):])
	h.fixChecksum(image)
	return nil
}

// notInNames are the characters that Windows has no file names with.
func notInNames(r rune) bool { return r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) }

// CheckPair holds a program's symbols to those of a PDB of size bytes: the fault is Foreign where they are not of one build.
func CheckPair(image []byte, pdb io.ReaderAt, size int64) error {
	program, err := ReadSymbols(image)
	if err != nil {
		return err
	}
	symbols, err := ReadPDB(pdb, size)
	if err != nil {
		return err
	}
	if program.ID != symbols {
		return fault(Foreign, "the program asks for %s, the PDB is %s", program.ID, symbols)
	}
	return nil
}

// findDebugRecord gives the headers and the first RSDS record, which is part of image.
func findDebugRecord(image []byte) (header, []byte, error) {
	h, err := parse(image)
	if err != nil {
		return h, nil, err
	}
	at, entries, err := h.debugEntries(image)
	if err != nil {
		return h, nil, err
	}
	seen := NoCodeView
	for _, e := range entries {
		if e.Type != codeView {
			continue
		}
		seen = NoRSDS
		record, err := h.record(image, e)
		if err != nil {
			return h, nil, err
		}
		if len(record) < 4 || string(record[:4]) != "RSDS" {
			continue
		}
		return h, record, h.checkRecord(record, int64(e.PointerToRawData), at, at+int64(h.debug.Size))
	}
	return h, nil, fault(seen, "%d entries looked at", len(entries))
}

// debugEntries reads the debug directory, and tells where in the file it is.
func (h *header) debugEntries(image []byte) (int64, []debugEntry, error) {
	d := h.debug
	if d.VirtualAddress == 0 || d.Size == 0 {
		return 0, nil, fault(NoDebug, "")
	}
	if d.Size%debugEntrySize != 0 || d.Size > maxDebugEntries*debugEntrySize {
		return 0, nil, fault(Malformed, "a debug directory of %d bytes", d.Size)
	}
	at, inside := h.offset(d.VirtualAddress, d.Size)
	if !inside || at < int64(h.size) {
		return 0, nil, fault(Malformed, "the debug directory at address %#x lies in no section", d.VirtualAddress)
	}
	table, err := slice(image, at, int64(d.Size), "the debug directory")
	if err != nil {
		return 0, nil, err
	}
	entries := make([]debugEntry, d.Size/debugEntrySize)
	decode(table, entries)
	return at, entries, nil
}

// record gives the data of an entry. What debuggers see in memory and what is in the file have to be the same bytes.
func (h *header) record(image []byte, e debugEntry) ([]byte, error) {
	if e.SizeOfData > maxRecord {
		return nil, fault(Malformed, "a CodeView record of %d bytes, the limit is %d", e.SizeOfData, maxRecord)
	}
	if e.AddressOfRawData != 0 {
		at, inside := h.offset(e.AddressOfRawData, e.SizeOfData)
		if !inside || at != int64(e.PointerToRawData) {
			return nil, fault(Malformed, "the CodeView record's address %#x is not its place in the file, %d", e.AddressOfRawData, e.PointerToRawData)
		}
	}
	return slice(image, int64(e.PointerToRawData), int64(e.SizeOfData), "the CodeView record")
}

// checkRecord wants a record to be whole, and apart from the headers and from the directory between from and to.
func (h *header) checkRecord(record []byte, at, from, to int64) error {
	if len(record) <= pathAt || record[len(record)-1] != 0 {
		return fault(Malformed, "the CodeView record of %d bytes does not end with a path and NUL", len(record))
	}
	end := at + int64(len(record))
	if at < int64(h.size) || at < to && end > from {
		return fault(Overlap, "the record is at %d to %d, the headers end at %d, the debug directory is at %d to %d", at, end, h.size, from, to)
	}
	return nil
}
