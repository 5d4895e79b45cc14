package netproto

import (
	"bytes"
	"errors"
	"math"
)

// Entry is one file of an engine descriptor (fonline reference, section 2.5).
type Entry struct {
	Name  string // 1 to 32 767 bytes, forward slashes
	Size  uint64 // bytes
	Hash  uint64 // FNV-1a-64 of the whole file
	Role  uint8  // release.Role: 0 resource, 1 binary; clients ignore others
	Index uint32 // names the file in GetUpdateFile; engine clients accept it up to 2^31 - 1
}

// endOfEntries takes the place of the next entry's name length.
const endOfEntries int16 = -1

var errNameLength = errors.New("a name has 1 to 32767 bytes")

// ParseDescriptor reads the list of files in InitData. An empty descriptor is an empty list. A name length of 0 or below
// -1, a missing end mark, bytes behind it and more than lim.List entries are a *FormatError, whose offset counts from
// the start of the descriptor.
func ParseDescriptor(descriptor []byte, lim Limits) ([]Entry, error) {
	if len(descriptor) == 0 {
		return nil, nil
	}
	c := &coder{mode: reading, lim: lim.orDefault(ClientSide), id: IDInitData, buf: descriptor, ks: new(keystream)}
	entries := codeEntries(c, nil)
	if err := c.finish(); err != nil {
		return nil, err
	}
	return entries, nil
}

// EncodeDescriptor writes a list of files. An empty list is the two bytes of the end mark. A name that the format can't hold is an error.
func EncodeDescriptor(entries []Entry) ([]byte, error) {
	var out bytes.Buffer
	c := &coder{mode: writing, id: IDInitData, out: &out, ks: new(keystream)}
	codeEntries(c, entries)
	return out.Bytes(), c.err
}

// codeEntries codes the entries and their end mark. When reading, it appends to entries.
func codeEntries(c *coder, entries []Entry) []Entry {
	for i := 0; c.err == nil; i++ {
		n := endOfEntries
		if i < len(entries) {
			n = nameLength(entries[i].Name)
		}
		c.i16("name length", &n)
		if n == endOfEntries {
			break
		}
		c.require("name length", n > 0, errNameLength)
		if c.mode == reading {
			c.require("entries", i < c.lim.List, tooLarge(uint64(i+1), uint64(c.lim.List)))
			entries = append(entries, Entry{})
		}
		entries[i].code(c, int(n))
	}
	return entries
}

// nameLength is the length of a name, or 0, which is rejected, for one that is too long.
func nameLength(name string) int16 {
	if len(name) > math.MaxInt16 {
		return 0
	}
	return int16(len(name))
}

func (e *Entry) code(c *coder, nameLength int) {
	c.chars("name", &e.Name, nameLength)
	c.u64("size", &e.Size)
	c.u64("hash", &e.Hash)
	c.u8("role", &e.Role)
	c.u32("file index", &e.Index)
}
