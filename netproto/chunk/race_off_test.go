//go:build !race

package chunk

// raceEnabled says that the race detector multiplies memory and time.
const raceEnabled = false
