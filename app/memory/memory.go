// Package memory limits the memory of the client's process by the settings of Go's garbage collector: it is off for the first moments of a
// start, when next to nothing is garbage, and large buffers raise the limit for as long as they are used.
package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// pause is how long the garbage collector is off after the start. pauseLimit is the memory limit in bytes at which it
	// runs all the same. Reading the install takes a quarter less time so, and memory stays well below the benchmarks' bound of 64 MB.
	pause      = 2 * time.Second
	pauseLimit = 40 << 20
	// slack is what garbage may take beside large buffers in bytes. A collection costs next to nothing then: buffers hold no pointers.
	slack = 6 << 20
)

// Collector owns the settings of the garbage collector, which are those of the whole process. It changes none if GOGC=off or
// GOMEMLIMIT is set. A nil Collector changes none, either. It is safe for concurrent use.
//
//	at the start   off, up to a limit of pauseLimit
//	with reserved  as often as slack asks for, or the environment
//	else           as the environment says
type Collector struct {
	percent int   // of the environment
	limit   int64 // of the environment
	timer   *time.Timer

	mu       sync.Mutex
	starting bool
	reserved int64
}

// Pause turns the garbage collector off for the start. The caller calls Close.
func Pause() *Collector {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	if limit != math.MaxInt64 || percent < 0 {
		debug.SetGCPercent(percent)
		return nil
	}
	c := &Collector{percent: percent, limit: limit, starting: true}
	c.apply()
	c.timer = time.AfterFunc(pause, c.endStart)
	return c
}

// apply sets what the state asks for. The caller holds mu, or is the only user.
func (c *Collector) apply() {
	percent, limit := c.percent, c.limit
	switch {
	case c.reserved > 0:
		percent = min(percent, int(max(slack*100/c.reserved, 1)))
	case c.starting:
		percent, limit = -1, pauseLimit
	}
	debug.SetMemoryLimit(limit) // first, so that the collector is never off without a limit
	debug.SetGCPercent(percent)
}

// endStart turns the garbage collector on.
func (c *Collector) endStart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting {
		c.starting = false
		c.apply()
	}
}

// Reserve makes room for large buffers of so many bytes, which the caller makes behind it: what is garbage goes back to the system, and little
// more may pile up beside them. The buffers are garbage when release is called, once; it collects them, because else they would count for the
// next collection, and as much garbage as they have bytes would pile up first.
func (c *Collector) Reserve(bytes int64) (release func()) {
	if c == nil {
		return func() {}
	}
	c.addReserved(bytes)
	debug.FreeOSMemory() // it collects first
	return func() {
		runtime.GC()
		c.addReserved(-bytes)
	}
}

func (c *Collector) addReserved(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved += bytes
	c.apply()
}

// Close restores the settings of the environment.
func (c *Collector) Close() {
	if c == nil {
		return
	}
	c.timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting, c.reserved = false, 0
	c.apply()
}
