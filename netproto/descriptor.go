package netproto

import (
	"errors"
	"math"

	"collet/netproto/wire"
)

// Entry is one file of an engine descriptor (docs/PROTOCOL.md).
type Entry struct {
	Name  string // 1 to 32 767 bytes, forward slashes
	Size  uint64 // bytes
	Hash  uint64 // FNV-1a-64 of the whole file
	Role  uint8  // release.Role: 0 resource, 1 binary; clients ignore others
	Index uint32 // names the file in GetUpdateFile; engine clients accept it up to 2^31 - 1
}

// endOfEntries takes the place of the next entry's name length.
const endOfEntries uint16 = 0xFFFF

var errNameLength = errors.New("a name has 1 to 32767 bytes")

// ParseDescriptor reads the list of files in InitData. An empty descriptor is an empty list. A name length of 0 or below
// -1, a missing end mark, bytes behind it and more than lim.List entries are a *FormatError, whose offset counts from
// the start of the descriptor.
func ParseDescriptor(descriptor []byte, lim Limits) ([]Entry, error) {
	if len(descriptor) == 0 {
		return nil, nil
	}
	c := &coder{Coder: wire.Reader(descriptor), lim: lim.OrDefault(ClientSide), id: IDInitData}
	entries := codeEntries(c, nil)
	if err := c.finish(); err != nil {
		return nil, err
	}
	return entries, nil
}

// EncodeDescriptor writes a list of files. An empty list is the two bytes of the end mark. A name that the format can't hold is an error.
func EncodeDescriptor(entries []Entry) ([]byte, error) {
	c := writer(wire.Writer(nil), 0, IDInitData)
	codeEntries(c, entries)
	return c.Written(), c.finish()
}

// codeEntries codes the entries and their end mark. When reading, it appends to entries.
func codeEntries(c *coder, entries []Entry) []Entry {
	for i := 0; c.Err() == nil; i++ {
		n := endOfEntries
		if i < len(entries) {
			n = nameLength(entries[i].Name)
		}
		c.U16("name length", &n)
		if n == endOfEntries {
			break
		}
		c.Require("name length", n > 0 && n <= math.MaxInt16, errNameLength)
		if c.Reading() {
			c.Require("entries", i < c.lim.List, wire.TooLarge(uint64(i+1), uint64(c.lim.List)))
			entries = append(entries, Entry{})
		}
		entries[i].code(c, int(n))
	}
	return entries
}

// nameLength is the length of a name, or 0, which is rejected, for one that is too long.
func nameLength(name string) uint16 {
	if len(name) > math.MaxInt16 {
		return 0
	}
	return uint16(len(name))
}

func (e *Entry) code(c *coder, nameLength int) {
	c.Chars("name", &e.Name, nameLength)
	c.U64("size", &e.Size)
	c.U64("hash", &e.Hash)
	c.U8("role", &e.Role)
	c.U32("file index", &e.Index)
}
