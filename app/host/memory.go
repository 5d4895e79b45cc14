package host

import (
	"math"
	"runtime/debug"
	"time"
)

const (
	// fastStart is how long the garbage collector is off after the start. fastMemory is the memory limit in bytes at which it
	// runs all the same. Reading the install takes a quarter less time so, and memory stays well below the benchmarks' bound of 64 MB.
	fastStart  = 2 * time.Second
	fastMemory = 40 << 20
)

// startFast turns the garbage collector off for the start. The returned function turns it on again; after fastStart it is on anyway.
func startFast() (end func()) {
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(fastMemory)
	if limit != math.MaxInt64 || percent < 0 { // GOGC=off or GOMEMLIMIT is set
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		return func() {}
	}
	restore := func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
	timer := time.AfterFunc(fastStart, restore)
	return func() {
		if timer.Stop() {
			restore()
		}
	}
}
