package chunk

import (
	"encoding/hex"
	"fmt"

	"github.com/minio/sha256-simd"
)

// Caps of an index. It may come from a mirror or a damaged disk.
const (
	// MaxIndexChunks is the largest number of chunks of one file: 2 Mi, about 39 GB of file at the average and 64 MiB of
	// memory. A larger file has no index and is transferred as a whole object.
	MaxIndexChunks = 2 << 20
	// MaxIndexPacks is the largest number of packs for one file: 4 Ki. One is needed for each release that touched the
	// file and for each MaxPack bytes of it; the cap leaves ample room.
	MaxIndexPacks = 4 << 10
	// MaxPack is the size of the largest pack in bytes. 256 MiB is below the largest object that CDN caches store (512
	// MB at the least), and large enough that a release has few packs.
	MaxPack = 256 << 20
)

// ChunkSum identifies a chunk: the first eight bytes of its SHA-256. It finds chunks and detects damage, but is not
// authentic. Two chunks with the same sum give a file with a wrong SHA-256, which is then fetched as a whole object.
type ChunkSum [8]byte

// SumChunk returns the sum of one chunk.
func SumChunk(data []byte) ChunkSum {
	full := sha256.Sum256(data)
	return ChunkSum(full[:8])
}

// String is the sum in hexadecimal.
func (s ChunkSum) String() string { return hex.EncodeToString(s[:]) }

// PackRef is an index's reference to a pack: the object's SHA-256 and its size in bytes.
type PackRef struct {
	Digest [32]byte
	Size   int64
}

// Chunk is one chunk of a file and the place of its packed bytes.
type Chunk struct {
	Sum    ChunkSum
	Size   int32 // bytes of the file, 1..MaxChunk
	Packed int32 // bytes in the pack, 1..Size; Size means stored uncompressed
	Pack   int32 // number in Index.Packs
	Offset int64 // of the packed bytes in that pack
}

// Stored reports whether the pack holds the chunk's own bytes, which need no context.
func (c *Chunk) Stored() bool { return c.Packed == c.Size }

// Index describes how to build one file from chunks. It is immutable and may be shared among goroutines. The index of
// the empty file has only a grain.
type Index struct {
	Grain  Grain     // of the file's chunks
	Packs  []PackRef // each used by a chunk, in the order of first use, without duplicates
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

// DamageError says that input breaks its format; it is the fault of the input's source. What names the format and the
// object ("chunk index", "pack 1f…", "object"), Offset is a byte in it, or -1.
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

// check validates an index. Encoding and parsing both use it, so every index that is written can be read.
func (ix *Index) check() error {
	if !ix.Grain.valid() {
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

// contextOf returns how many bytes before chunk i are its context: the longest sequence of whole chunks directly before
// it with at most maxContext bytes.
func (ix *Index) contextOf(i int) int {
	size := 0
	for i--; i >= 0 && size+int(ix.Chunks[i].Size) <= maxContext; i-- {
		size += int(ix.Chunks[i].Size)
	}
	return size
}
