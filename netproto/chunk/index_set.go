package chunk

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The layout of an index set, which is one object: the indexes of the files that one release added or changed. An
// unchanged file keeps its place in an earlier set.
//
//	magic    "CCS1"
//	size     of the body in bytes, at most MaxIndexSet
//	body     one zstd frame: number of indexes; the size of each; the indexes, one behind the other
//
// Packs shared by many small files compress to almost nothing this way.
const indexSetMagic = "CCS1"

const (
	// MaxIndexSet is the size of the largest body in bytes. 32 MiB is the index of some 45 GB of coarse files, and half
	// of the memory that applying an update may use. A publisher splits larger sets.
	MaxIndexSet = 32 << 20
	// maxSetEntries is the largest number of indexes in one set: the number of files in the largest release.
	maxSetEntries = 200_000
	// indexSetWindow is the largest window of an encoded set, as a power of two. The encoder allocates two windows.
	indexSetWindow = 23
)

// EncodeIndexSet returns the encoded set; an entry's number is its position in indexes. Invalid or too many indexes are
// a fault of the caller.
func EncodeIndexSet(indexes []*Index) ([]byte, error) {
	if len(indexes) > maxSetEntries {
		return nil, fmt.Errorf("%d chunk indexes in one set, at most %d are allowed", len(indexes), maxSetEntries)
	}
	body := binary.AppendUvarint(nil, uint64(len(indexes)))
	var all []byte
	for i, ix := range indexes {
		data, err := EncodeIndex(ix)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		body = binary.AppendUvarint(body, uint64(len(data)))
		all = append(all, data...)
		if len(body)+len(all) > MaxIndexSet {
			return nil, fmt.Errorf("chunk indexes of more than %d bytes in one set: make two", MaxIndexSet)
		}
	}
	body = append(body, all...)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(1<<WindowFor(len(body), indexSetWindow)))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	out := binary.AppendUvarint([]byte(indexSetMagic), uint64(len(body)))
	return enc.EncodeAll(body, out), nil
}

// IndexSet is a parsed set. Its indexes are parsed on demand. It is safe for concurrent use.
type IndexSet struct {
	entries [][]byte
}

// ParseIndexSet parses a set; every fault is a *DamageError. Memory is the body, at most MaxIndexSet, and 24 bytes for
// each entry. The entries themselves are not parsed.
func ParseIndexSet(data []byte) (*IndexSet, error) {
	p := indexParser{data: data}
	if !bytes.Equal(p.bytes(len(indexSetMagic)), []byte(indexSetMagic)) {
		return nil, indexFault(0, "these are not the bytes of a set of indexes")
	}
	size := p.number(MaxIndexSet)
	if p.err != nil {
		return nil, p.err
	}
	body, err := unpackFrame(data[p.at:], size)
	if err != nil {
		return nil, indexFault(int64(p.at), "body: %v", err)
	}
	p = indexParser{data: body}
	n := p.number(min(maxSetEntries, len(body)))
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = p.number(len(body))
	}
	set := &IndexSet{entries: make([][]byte, n)}
	for i, size := range sizes {
		set.entries[i] = p.bytes(size)
	}
	if p.err == nil && p.at != len(body) {
		p.fault("%d bytes behind the last index", len(body)-p.at)
	}
	if p.err != nil {
		return nil, p.err
	}
	return set, nil
}

// Len is the number of indexes.
func (s *IndexSet) Len() int { return len(s.entries) }

// Index parses entry n, counted from 0. A missing entry is a *DamageError like a damaged one, because both numbers and
// bytes come from outside.
func (s *IndexSet) Index(n uint32) (*Index, error) {
	if uint64(n) >= uint64(len(s.entries)) {
		return nil, indexFault(-1, "entry %d of a set that has %d", n, len(s.entries))
	}
	return ParseIndex(s.entries[n])
}

// unpackFrame decodes one zstd frame of exactly size bytes.
func unpackFrame(frame []byte, size int) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(max(uint64(size), zstd.MinWindowSize)), zstd.WithDecoderMaxWindow(MaxIndexSet))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	out, err := dec.DecodeAll(frame, make([]byte, 0, size))
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes instead of %d", len(out), size)
	}
	return out, err
}
