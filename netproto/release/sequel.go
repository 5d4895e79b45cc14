package release

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A sequel is a delta index with what a client of one release needs for the newest one, in one file. The client can
// compute its name before the first request. It contains the signed lists behind the timestamp, the head, and a small
// set patch or the lists. Each part is a copy of another file of the release folder and trusted exactly as that file. An
// outdated, wrong or missing sequel only costs time.
//
//	"CQ" 1 · uvarint count · count × (uvarint length · name · uvarint size) · the bytes of all, in this order
const (
	// MaxSequel is the size in bytes of the largest sequel: lists of a large folder, and a set patch whose transfer
	// takes about the round trip that it saves (1 MiB at 50 Mbit/s and 100 ms).
	MaxSequel = 1536 << 10
	// MaxSequelParts is the largest number of parts: two signed lists, a head, and at most a listing and a list of sources.
	MaxSequelParts = 8
	// sequelBegin is the magic number; its last byte is the version.
	sequelBegin = "CQ\x01"
	// maxSequelName is the length of the longest name of a part; netproto.MaxObjectName is the same.
	maxSequelName = 128
)

// SequelPart is one file of a sequel. In a table from ReadSequelTable, Data is nil for the parts whose bytes follow.
type SequelPart struct {
	Name string // path below the release folder
	Size int64  // bytes
	Data []byte
}

// SequelPath is the path of the sequel to an entry below the release folder: sequels/<64 hex>.sequel, the SHA-256 of the
// entry's path in the signed list.
func (e Entry) SequelPath() string { return "sequels/" + sumOf([]byte(e.Path())).Hex() + ".sequel" }

// EncodeSequel joins parts, in the order in which a client needs them.
func EncodeSequel(parts []SequelPart) ([]byte, error) {
	if len(parts) > MaxSequelParts {
		return nil, fmt.Errorf("a sequel has at most %d parts, not %d", MaxSequelParts, len(parts))
	}
	out := binary.AppendUvarint([]byte(sequelBegin), uint64(len(parts)))
	for _, p := range parts {
		if reason := partNameFault(p.Name); reason != "" {
			return nil, fmt.Errorf("part %q of a sequel %s", p.Name, reason)
		}
		out = binary.AppendUvarint(out, uint64(len(p.Name)))
		out = append(out, p.Name...)
		out = binary.AppendUvarint(out, uint64(len(p.Data)))
	}
	for _, p := range parts {
		out = append(out, p.Data...)
	}
	if len(out) > MaxSequel {
		return nil, fmt.Errorf("a sequel has at most %d bytes, not %d", MaxSequel, len(out))
	}
	return out, nil
}

// partNameFault returns the fault of a part's name, or nothing. Files that a server must never serve have no valid name.
func partNameFault(name string) string {
	switch {
	case len(name) > maxSequelName:
		return "has a name that is too long"
	case strings.HasPrefix(name, "objects/"), strings.HasPrefix(name, "releases/"), strings.HasPrefix(name, "metadata/"):
		return ""
	default:
		return "is no file that a sequel has"
	}
}

// ReadSequelTable reads the names and sizes at the beginning of a sequel, plain, packed or relative. The bytes of the parts
// without Data follow in r, in the same order. has is called for a relative sequel; ErrOtherKnownData says that this leaves out
// something else. A malformed table is a *FormatError; errors of r are returned.
func ReadSequelTable(r *bufio.Reader, has func() SequelReader) ([]SequelPart, error) {
	begin := make([]byte, len(sequelBegin))
	if _, err := io.ReadFull(r, begin); err != nil {
		return nil, tableError(err)
	}
	switch string(begin) {
	case sequelBegin:
	case packedBegin:
		return readPackedTable(r, nil)
	case relativeBegin:
		known, err := readKnownData(r, has)
		if err != nil {
			return nil, err
		}
		return readPackedTable(r, known)
	default:
		return nil, sequelFault("begins with %q", begin)
	}
	count, err := sequelNumber(r, "count", MaxSequelParts)
	if err != nil {
		return nil, err
	}
	parts := make([]SequelPart, count)
	left := int64(MaxSequel)
	for i := range parts {
		if err := parts[i].read(r, left); err != nil {
			return nil, err
		}
		left -= parts[i].Size
	}
	return parts, nil
}

func (p *SequelPart) read(r *bufio.Reader, left int64) error {
	n, err := sequelNumber(r, "length of a name", maxSequelName)
	if err != nil {
		return err
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(r, name); err != nil {
		return tableError(err)
	}
	if reason := partNameFault(string(name)); reason != "" {
		return sequelFault("part %q %s", name, reason)
	}
	p.Name = string(name)
	p.Size, err = sequelNumber(r, "size", left)
	return err
}

// sequelNumber reads a uvarint of minimal length.
func sequelNumber(r *bufio.Reader, what string, most int64) (n int64, err error) {
	for shift := 0; ; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, tableError(err)
		}
		n |= int64(b&0x7f) << shift
		switch {
		case n > most:
			return 0, sequelFault("%s is %d or more, and may be %d", what, n, most)
		case b == 0 && shift > 0, shift > 21:
			return 0, sequelFault("%s has more bytes than it needs", what)
		case b < 0x80:
			return n, nil
		}
	}
}

func sequelFault(format string, values ...any) error {
	return &FormatError{Document: "sequel", Reason: fmt.Sprintf(format, values...)}
}

// tableError turns an early end into a format error.
func tableError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return sequelFault("ends in its table")
	}
	return err
}
