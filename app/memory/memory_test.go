package memory

import (
	"math"
	"runtime/debug"
	"testing"
)

// collects reads the settings of the garbage collector.
func collects() (percent int, limit int64) {
	percent = debug.SetGCPercent(-1)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

// TestCollector: the settings follow from the start and the reserved buffers, in any order of events, and those of the environment return.
func TestCollector(t *testing.T) {
	before, unlimited := collects()
	if before < 0 || unlimited != math.MaxInt64 {
		t.Skip("GOGC=off or GOMEMLIMIT is set")
	}
	want := func(when string, percent int, limit int64) {
		t.Helper()
		if p, l := collects(); p != percent || l != limit {
			t.Errorf("%s: %d %%, up to %d bytes", when, p, l)
		}
	}
	c := Pause()
	want("at the start", -1, pauseLimit)
	release := c.Reserve(100 << 20)
	want("with a buffer", slack/(1<<20), unlimited)
	c.endStart()
	want("with a buffer after the start", slack/(1<<20), unlimited)
	second := c.Reserve(1 << 20)
	release()
	want("with another one", before, unlimited)
	second()
	want("without", before, unlimited)
	c.endStart()
	want("when the timer is late", before, unlimited)

	c.Close()
	c = Pause()
	c.Reserve(1 << 20)()
	want("at the start, after a buffer", -1, pauseLimit)
	c.Close()
	want("at the end", before, unlimited)

	debug.SetMemoryLimit(1 << 30)
	defer debug.SetMemoryLimit(unlimited)
	if c := Pause(); c != nil {
		t.Error("the limit of the environment was changed")
	}
	c = nil
	c.Reserve(1 << 20)()
	c.Close()
	want("with a limit of the environment", before, 1<<30)
}
