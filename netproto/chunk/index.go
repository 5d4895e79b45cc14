package chunk

import (
	"encoding/hex"
	"fmt"

	"github.com/minio/sha256-simd"
)

// Caps of an index, which a mirror or a damaged disk may have written.
const (
	// MaxIndexChunks is the most chunks of one file: 2 Mi, about 39 GB of file at the average and 64 MiB of memory here.
	// A larger file has no index and comes as a whole object.
	MaxIndexChunks = 2 << 20
	// MaxIndexPacks is the most packs that one file's chunks may lie in: 4 Ki, one for each release that touched the file
	// and for each MaxPack bytes of it, with much to spare.
	MaxIndexPacks = 4 << 10
	// MaxPack is the largest pack in bytes. 256 MiB stays below what the smallest cache of a CDN keeps as one object
	// (512 MB), and is large enough that a release has few.
	MaxPack = 256 << 20
)

// ChunkSum names a chunk: the first eight bytes of its SHA-256. It finds chunks and catches damage; it doesn't vouch for
// them. Two chunks of one sum make a file whose own SHA-256 is wrong, and then its whole object is fetched.
type ChunkSum [8]byte

// SumChunk returns the sum of one chunk.
func SumChunk(data []byte) ChunkSum {
	full := sha256.Sum256(data)
	return ChunkSum(full[:8])
}

// String is the sum in hexadecimal.
func (s ChunkSum) String() string { return hex.EncodeToString(s[:]) }

// PackRef is a pack as an index names it: the object's SHA-256 and its size in bytes.
type PackRef struct {
	Digest [32]byte
	Size   int64
}

// Chunk is one chunk of a file and where its packed bytes lie.
type Chunk struct {
	Sum    ChunkSum
	Size   int32 // bytes of the file, 1..MaxChunk
	Packed int32 // bytes in the pack, 1..Size; Size means stored as it is
	Pack   int32 // number in Index.Packs
	Offset int64 // of the packed bytes in that pack
}

// Stored says that the pack holds the chunk's own bytes, which need no context.
func (c *Chunk) Stored() bool { return c.Packed == c.Size }

// Index says how to build one file from chunks. It is a value without methods that change it; a reader may share it among
// goroutines. The index of the
// empty file has a grain and nothing else.
type Index struct {
	Grain  Grain     // what the file was cut with
	Packs  []PackRef // each used by some chunk, in the order of first use, no two alike
	Chunks []Chunk   // in the order of the file
}

// Size is the file's size in bytes.
func (ix *Index) Size() int64 {
	size := int64(0)
	for i := range ix.Chunks {
		size += int64(ix.Chunks[i].Size)
	}
	return size
}

// DamageError says that bytes from outside are not what their format says: the fault of who gave them. What names the
// format and what in it ("chunk index", "pack 1f…", "object"), Offset is a byte in it, or -1.
type DamageError struct {
	What   string
	Offset int64
	Why    string
}

func (e *DamageError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.What, e.Why)
	}
	return fmt.Sprintf("%s: %s at byte %d", e.What, e.Why, e.Offset)
}

// check holds an index to its rules. Encoding and parsing both go through it, so that nothing is written that would not
// be read.
func (ix *Index) check() error {
	if !ix.Grain.known() {
		return indexFault(-1, "grain %d is not one of %d to %d", ix.Grain, Fine, Coarse)
	}
	if len(ix.Chunks) > MaxIndexChunks || len(ix.Packs) > MaxIndexPacks {
		return indexFault(-1, "%d chunks in %d packs, at most %d in %d are allowed", len(ix.Chunks), len(ix.Packs), MaxIndexChunks, MaxIndexPacks)
	}
	seen := map[PackRef]bool{}
	for i, p := range ix.Packs {
		if p.Size < 1 || p.Size > MaxPack || seen[p] {
			return indexFault(-1, "pack %d has %d bytes or stands there twice", i, p.Size)
		}
		seen[p] = true
	}
	used := int32(0)
	for i := range ix.Chunks {
		c := &ix.Chunks[i]
		if c.Size < 1 || c.Size > MaxChunk || c.Packed < 1 || c.Packed > c.Size {
			return indexFault(-1, "chunk %d has %d bytes packed as %d", i, c.Size, c.Packed)
		}
		if c.Pack < 0 || c.Pack > used || int(c.Pack) >= len(ix.Packs) {
			return indexFault(-1, "chunk %d is in pack %d of %d, out of order", i, c.Pack, len(ix.Packs))
		}
		if c.Pack == used {
			used++
		}
		if c.Offset < 0 || c.Offset > ix.Packs[c.Pack].Size-int64(c.Packed) {
			return indexFault(-1, "chunk %d ends behind its pack", i)
		}
	}
	if int(used) != len(ix.Packs) {
		return indexFault(-1, "%d packs are named and %d used", len(ix.Packs), used)
	}
	return nil
}

func indexFault(offset int64, format string, args ...any) error {
	return &DamageError{What: "chunk index", Offset: offset, Why: fmt.Sprintf(format, args...)}
}

// contextOf returns how many bytes before chunk i are its context: the longest row of whole chunks right before it that
// has at most maxContext bytes.
func (ix *Index) contextOf(i int) int {
	size := 0
	for i--; i >= 0 && size+int(ix.Chunks[i].Size) <= maxContext; i-- {
		size += int(ix.Chunks[i].Size)
	}
	return size
}
