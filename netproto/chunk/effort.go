package chunk

// Effort is how much processor time packing may take. It changes sizes only: readers take the results of every effort. The
// numbers are measured on modules, packs of text and small files, for each MB of a compressible file. An incompressible
// file takes less than 0.01 s.
type Effort uint8

const (
	// EffortBest packs whole objects by zstd at its best level and by brotli at its best quality: 1 to 3 CPU-seconds.
	// Chunks are packed at zstd's better level with the whole context: 0.06 to 0.09 s.
	EffortBest Effort = 0
	// EffortBalanced packs whole objects by brotli of quality 6: 0.06 to 0.09 s, and 8 to 14 % more bytes than the best.
	// Chunks are packed at zstd's default level with the whole context: 0.03 s, and 2 to 10 % more bytes. The better level fills
	// tables of 4 MiB anew for each chunk.
	EffortBalanced Effort = 1
	// EffortFast packs whole objects by zstd: 0.02 s, and a quarter more bytes than the best. Chunks are packed at zstd's
	// fastest level with an eighth of their context: 0.01 s, and 7 to 24 % more bytes.
	EffortFast Effort = 2
)

const (
	// balancedQuality is brotli's quality for EffortBalanced. Measured on a module of esbuild, against
	// 6: quality 7 has 0.8 % fewer bytes and takes 1.8 times the time, 9 has 1.5 % fewer in 7 times the time, 10 has 9 % fewer in
	// 24 times the time, and 11 has 12 % fewer in 46 times the time.
	balancedQuality = 6
	// smallest is the size in bytes from which a file is probed: brotli's built-in dictionary helps smaller ones.
	smallest = 4 << 10
)

// contextOf is how many bytes of a chunk's context the encoder uses: its end. The decoder takes the whole context either way.
func (e Effort) contextOf() int {
	if e == EffortFast {
		return maxContext / 8
	}
	return maxContext
}
