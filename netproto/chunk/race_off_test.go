//go:build !race

package chunk

// raceEnabled says that the race detector multiplies memory.
const raceEnabled = false
