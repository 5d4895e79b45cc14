package host

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// gcPause is how long the garbage collector is off after the start. gcPauseLimit is the memory limit in bytes at which it
	// runs all the same. Reading the install takes a quarter less time so, and memory stays well below the benchmarks' bound of 64 MB.
	gcPause      = 2 * time.Second
	gcPauseLimit = 40 << 20
)

// collector owns the settings of the garbage collector, which are those of the whole process. It changes none if GOGC=off or
// GOMEMLIMIT is set. A nil collector changes none, either. It is safe for concurrent use.
//
//	at the start   off, up to a limit of gcPauseLimit
//	with reserved  up to a limit of gcPauseLimit and the reserved bytes
//	else           as the environment says
type collector struct {
	percent int   // of the environment
	limit   int64 // of the environment
	timer   *time.Timer

	mu       sync.Mutex
	starting bool
	reserved int64
}

// pauseGC turns the garbage collector off for the start. The caller calls close.
func pauseGC() *collector {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	if limit != math.MaxInt64 || percent < 0 {
		debug.SetGCPercent(percent)
		return nil
	}
	c := &collector{percent: percent, limit: limit, starting: true}
	c.apply()
	c.timer = time.AfterFunc(gcPause, c.endStart)
	return c
}

// apply sets what the state asks for. The caller holds mu, or is the only user.
func (c *collector) apply() {
	percent, limit := c.percent, c.limit
	if c.starting {
		percent = -1
	}
	if c.starting || c.reserved > 0 {
		limit = gcPauseLimit + c.reserved
	}
	debug.SetMemoryLimit(limit) // first, so that the collector is never off without a limit
	debug.SetGCPercent(percent)
}

// endStart turns the garbage collector on.
func (c *collector) endStart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting {
		c.starting = false
		c.apply()
	}
}

// reserve limits memory to what bytes for large buffers need. The buffers are garbage when release is called, once; it collects them,
// because else they would count for the next collection, and as much garbage as they have bytes would pile up first.
func (c *collector) reserve(bytes int64) (release func()) {
	if c == nil {
		return func() {}
	}
	c.addReserved(bytes)
	return func() {
		runtime.GC()
		c.addReserved(-bytes)
	}
}

func (c *collector) addReserved(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved += bytes
	c.apply()
}

// close restores the settings of the environment.
func (c *collector) close() {
	if c == nil {
		return
	}
	c.timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting, c.reserved = false, 0
	c.apply()
}
