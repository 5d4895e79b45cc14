package chunk

// Grain is the average size of a file's chunks, as a power of two. It is format: a client and a publisher find the same
// chunks only with the same grain, so the index of a file states it, and a file should keep it from release to release.
type Grain uint8

const (
	// Fine is 4 KiB, for files up to 32 MiB: there the index stays below 90 KB, and small edits that lie far apart cost
	// least. On a 5 MB deflated pack it saves 9 % of what Coarse needs.
	Fine Grain = 12
	// Medium is 8 KiB, for files up to 256 MiB.
	Medium Grain = 13
	// Coarse is 16 KiB, for all that is larger. At 64 KiB a pack of 2 GiB with 5,243 edits of 4 KiB would cost 548 MB,
	// three times as much (perf reference, section 9); a finer grain would make its index larger than most updates.
	Coarse Grain = 14
)

// Upper sizes of files that GrainFor calls fine and medium, in bytes.
const (
	maxFine   = 32 << 20
	maxMedium = 256 << 20
)

// GrainFor returns the grain for a new file of so many bytes. A file that was published before keeps the grain that it
// has, though its size may have changed.
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

// Sizes of a chunk of any grain, in bytes. They are format, too.
const (
	// MinChunk is the smallest chunk of the finest grain, but for the last one of a file.
	MinChunk = 1 << 10
	// MaxChunk is the largest chunk of every grain. It bounds what one chunk takes in memory.
	MaxChunk = 64 << 10
)

// known reports whether g is one of the three.
func (g Grain) known() bool { return g >= Fine && g <= Coarse }

// average is the size that the cutter steers to, min the smallest chunk but for the last one: a quarter of the average
// keeps edits that lie close together from making chunks that cost more in the index than they carry.
func (g Grain) average() int { return 1 << g }
func (g Grain) min() int     { return 1 << (g - 2) }

// Cut returns the length of the first chunk of data: at least a quarter of the average and at most MaxChunk, or all of
// data when it is shorter. Unless data ends with its file, it has to hold MaxChunk bytes or more, because the boundary
// depends on them. Cut allocates nothing and may be called by many goroutines.
//
// A boundary is where the upper bits of a rolling hash are zero; those are the bits that depend on all of the last 64
// bytes. Below the average two bits more are wanted than give the average by themselves, from there on two bits less:
// FastCDC's normalised chunking at level 2.
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

// boundary rolls hash over data from the byte at, and returns the place behind the first byte that brings it below limit,
// or the end of data. Two bytes are taken in one step, because the hash of the second is known without the first one's:
// the chain of dependent operations is then half as long. Both ranges that Cut gives are even but for the end of a file,
// where a last odd byte changes nothing.
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
