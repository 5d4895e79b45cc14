package host

import (
	"math"
	"runtime/debug"
	"time"
)

const (
	// fastStart is how long the collector of garbage stands back after the start, and fastMemory how many bytes the program may
	// have meanwhile before it works after all. Reading what is installed takes a quarter less time so, and the bound of 64 MB
	// of the benchmarks keeps its distance.
	fastStart  = 2 * time.Second
	fastMemory = 40 << 20
)

// startFast lets the start use memory in place of time. The function that it returns ends that at once; time does it, too.
func startFast() (end func()) {
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(fastMemory)
	if limit != math.MaxInt64 || percent < 0 { // somebody has set GOGC or GOMEMLIMIT
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
