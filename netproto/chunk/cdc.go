package chunk

// Grain is the average size of a file's chunks, as a power of two. It is part of the format: publisher and client find the
// same chunks only with the same grain. So the index of a file states it, and a file should keep it from release to release.
type Grain uint8

const (
	// Fine is 4 KiB, for files up to 32 MiB. There the index stays below 90 KB, and small scattered edits cost least: 9
	// % less than Coarse on a 5 MB deflated pack.
	Fine Grain = 12
	// Medium is 8 KiB, for files up to 256 MiB.
	Medium Grain = 13
	// Coarse is 16 KiB, for larger files. At 64 KiB a pack of 2 GiB with 5,243 edits of 4 KiB would cost 548 MB, three
	// times as much. A finer grain would make its index larger than most updates.
	Coarse Grain = 14
)

// Largest sizes of files with fine and medium grain, in bytes.
const (
	maxFine   = 32 << 20
	maxMedium = 256 << 20
)

// GrainFor returns the grain for a new file of so many bytes. A published file keeps its grain even if its size changes.
func GrainFor(size int64) Grain {
	switch {
	case size <= maxFine:
		return Fine
	case size <= maxMedium:
		return Medium
	default:
		return Coarse
	}
}

// Sizes of a chunk of any grain, in bytes. They are part of the format.
const (
	// MinChunk is the smallest chunk of the finest grain, except for the last one of a file.
	MinChunk = 1 << 10
	// MaxChunk is the largest chunk of every grain. It bounds the memory for one chunk.
	MaxChunk = 64 << 10
)

// valid reports whether g is a defined grain.
func (g Grain) valid() bool { return g >= Fine && g <= Coarse }

// average is the target size of the cutter. min is the smallest chunk except the last: at a quarter of the average,
// close edits do not produce chunks whose index entries cost more than their data.
func (g Grain) average() int { return 1 << g }
func (g Grain) min() int     { return 1 << (g - 2) }

// Cut returns the length of the first chunk of data: at least a quarter of the average and at most MaxChunk, or all of
// data if it is shorter. Unless data ends with its file, it must have MaxChunk bytes or more, because the boundary
// depends on them. Cut does not allocate and is safe for concurrent use.
//
// A boundary is where the upper bits of a rolling hash are zero; these bits depend on all of the last 64 bytes. This is FastCDC's
// normalised chunking at level 2: below the average size two more bits must be zero than the average demands, above it two fewer.
func (g Grain) Cut(data []byte) int {
	if len(data) <= g.min() {
		return len(data)
	}
	data = data[:min(len(data), MaxChunk)]
	hard, easy := uint64(1)<<(64-g-2), uint64(1)<<(64-g+2)
	at, hash, found := boundary(data[:min(len(data), g.average())], g.min(), 0, hard)
	if !found && at < len(data) {
		at, _, _ = boundary(data, at, hash, easy)
	}
	return at
}

// boundary rolls hash over data from the byte at. It returns the position behind the first byte that brings it below limit, or
// the end of data. One step takes two bytes, because the second hash does not depend on the first: that halves the dependency
// chain. Both ranges from Cut have even length, except at the end of a file, where a last odd byte changes nothing.
func boundary(data []byte, at int, hash, limit uint64) (end int, rolled uint64, found bool) {
	for ; at+1 < len(data); at += 2 {
		first, second := gear[data[at]], gear[data[at+1]]
		if hash<<1+first < limit {
			return at + 1, 0, true
		}
		if hash = hash<<2 + (first<<1 + second); hash < limit {
			return at + 2, 0, true
		}
	}
	return len(data), hash, false
}
