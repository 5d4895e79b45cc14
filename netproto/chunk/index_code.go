package chunk

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/klauspost/compress/zstd"
)

// The layout of an index, in order. Numbers are unsigned LEB128 in their shortest form.
//
//	magic     "CCI1"
//	counts    grain, packs, chunks, runs
//	packs     SHA-256 (32 bytes), size
//	runs      length, pack, offset: that many chunks lie one behind the other from there
//	columns   bytes of a zstd frame, or 0 for none; then the frame, or the 4n bytes themselves:
//	          size-1 low bytes, size-1 high bytes, packed low bytes, packed high bytes; packed is 0 for stored
//	sums      8 bytes for each chunk
//
// A run ends only where the next chunk is not contiguous. The columns are separate because zstd compresses bytes of one
// kind better; the sums are outside because they don't compress.
const indexMagic = "CCI1"

// columnWidth is the number of column bytes for each chunk.
const columnWidth = 4

// leastFrame is the size of the smallest zstd frame in bytes: magic 4, header 2, and a block of 4.
const leastFrame = 10

// run is a sequence of contiguous chunks in a pack.
type run struct {
	count, pack, offset uint64
}

func (ix *Index) runs() []run {
	var rs []run
	end := int64(-1)
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		if i > 0 && c.Pack == ix.Chunks[i-1].Pack && c.Offset == end {
			rs[len(rs)-1].count++
		} else {
			rs = append(rs, run{1, uint64(c.Pack), uint64(c.Offset)})
		}
		end = c.Offset + int64(c.Packed)
	}
	return rs
}

// EncodeIndex returns the encoded index. An invalid index is a fault of the caller.
func EncodeIndex(ix *Index) ([]byte, error) {
	if err := ix.check(); err != nil {
		return nil, err
	}
	rs := ix.runs()
	b := append([]byte(nil), indexMagic...)
	for _, n := range []int{int(ix.Grain), len(ix.Packs), len(ix.Chunks), len(rs)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, p := range ix.Packs {
		b = append(b, p.Digest[:]...)
		b = binary.AppendUvarint(b, uint64(p.Size))
	}
	for _, r := range rs {
		b = binary.AppendUvarint(b, r.count)
		b = binary.AppendUvarint(b, r.pack)
		b = binary.AppendUvarint(b, r.offset)
	}
	b, err := ix.appendColumns(b)
	if err != nil {
		return nil, err
	}
	for i := range ix.Chunks {
		b = append(b, ix.Chunks[i].Sum[:]...)
	}
	return b, nil
}

func (ix *Index) appendColumns(b []byte) ([]byte, error) {
	n := len(ix.Chunks)
	columns := make([]byte, columnWidth*n)
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		size, packed := c.Size-1, c.Packed
		if c.Stored() {
			packed = 0
		}
		columns[i], columns[n+i] = byte(size), byte(size>>8)
		columns[2*n+i], columns[3*n+i] = byte(packed), byte(packed>>8)
	}
	if len(columns) <= leastFrame { // as for nearly all small files, where making an encoder would dominate
		return append(binary.AppendUvarint(b, 0), columns...), nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	if frame := enc.EncodeAll(columns, nil); len(frame) < len(columns) {
		b = binary.AppendUvarint(b, uint64(len(frame)))
		return append(b, frame...), nil
	}
	return append(binary.AppendUvarint(b, 0), columns...), nil
}

// ParseIndex parses an index; every fault is a *DamageError. It keeps no reference to data. Memory is bounded by
// MaxIndexChunks and by len(data): each chunk takes at least eight bytes there and 40 here.
func ParseIndex(data []byte) (*Index, error) {
	p := indexParser{data: data}
	if !bytes.Equal(p.bytes(len(indexMagic)), []byte(indexMagic)) {
		return nil, indexFault(0, "these are not the bytes of an index")
	}
	grain, packs, chunks, runs := Grain(p.number(int(Coarse))), p.number(MaxIndexPacks), p.number(MaxIndexChunks), p.number(MaxIndexChunks)
	if p.err == nil && (runs > chunks || packs > runs || chunks*8 > len(data) || runs*3 > len(data) || packs*33 > len(data)) {
		p.fault("%d packs, %d chunks, %d runs don't fit together or into %d bytes", packs, chunks, runs, len(data))
	}
	if p.err != nil {
		return nil, p.err
	}
	ix := &Index{Grain: grain}
	for range packs {
		ref := PackRef{}
		copy(ref.Digest[:], p.bytes(32))
		ref.Size = int64(p.number(MaxPack))
		ix.Packs = append(ix.Packs, ref)
	}
	rs := make([]run, runs)
	for i := range rs {
		rs[i] = run{uint64(p.number(MaxIndexChunks)), uint64(p.number(MaxIndexPacks)), uint64(p.number(MaxPack))}
	}
	columns := p.columns(columnWidth * chunks)
	sums := p.bytes(8 * chunks)
	if p.err == nil && p.at != len(data) {
		p.fault("%d bytes too many", len(data)-p.at)
	}
	if p.err != nil {
		return nil, p.err
	}
	return ix, ix.fill(rs, columns, sums, chunks)
}

// fill builds the chunks from the decoded columns and validates the index.
func (ix *Index) fill(rs []run, columns, sums []byte, n int) error {
	if n > 0 {
		ix.Chunks = make([]Chunk, n)
	}
	at := 0
	for _, r := range rs {
		if r.count == 0 || r.count > uint64(n-at) {
			return indexFault(-1, "a run of %d chunks where %d are left", r.count, n-at)
		}
		offset := int64(r.offset)
		for range r.count {
			c := &ix.Chunks[at]
			c.Size = 1 + int32(columns[at]) + int32(columns[n+at])<<8
			c.Packed = int32(columns[2*n+at]) + int32(columns[3*n+at])<<8
			if c.Packed == c.Size {
				return indexFault(-1, "chunk %d is stored and doesn't say so", at)
			}
			if c.Packed == 0 {
				c.Packed = c.Size
			}
			c.Sum = ChunkSum(sums[8*at:])
			c.Pack, c.Offset = int32(r.pack), offset
			offset += int64(c.Packed)
			at++
		}
	}
	if at != n {
		return indexFault(-1, "the runs have %d chunks of %d", at, n)
	}
	if err := ix.check(); err != nil {
		return err
	}
	if len(ix.runs()) != len(rs) {
		return indexFault(-1, "two runs are one")
	}
	return nil
}

// indexParser parses an index sequentially. After the first fault it returns zeroes.
type indexParser struct {
	data []byte
	at   int
	err  error
}

func (p *indexParser) fault(format string, args ...any) {
	if p.err == nil {
		p.err = indexFault(int64(p.at), format, args...)
	}
}

func (p *indexParser) bytes(n int) []byte {
	if p.err == nil && n > len(p.data)-p.at {
		p.fault("%d bytes are missing", n-(len(p.data)-p.at))
	}
	if p.err != nil {
		return nil
	}
	p.at += n
	return p.data[p.at-n : p.at]
}

func (p *indexParser) number(limit int) int {
	if p.err != nil {
		return 0
	}
	v, n := binary.Uvarint(p.data[p.at:min(len(p.data), p.at+binary.MaxVarintLen32)])
	if n <= 0 || v > math.MaxInt32 || int(v) > limit || (n > 1 && p.data[p.at+n-1] == 0) {
		p.fault("no number up to %d", limit)
		return 0
	}
	p.at += n
	return int(v)
}

// columns reads want bytes, compressed or not.
func (p *indexParser) columns(want int) []byte {
	size := p.number(max(0, want-1))
	if size == 0 {
		return p.bytes(want)
	}
	frame := p.bytes(size)
	if p.err != nil {
		return nil
	}
	columns, err := unpackFrame(frame, want)
	if err != nil {
		p.fault("columns: %v", err)
		return nil
	}
	return columns
}
