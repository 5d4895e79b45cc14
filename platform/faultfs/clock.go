package faultfs

import "time"

// step is how far the disk's own clock goes with each look at it: the finest step in which systems stamp is smaller,
// the coarsest that has inodes is ten times that.
const step = time.Millisecond

// birth is where the disk's own clock begins.
var birth = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// clock stamps files. It is a clock of its own unless now is set.
type clock struct {
	now   func() time.Time
	ticks time.Duration
}

// time is the time of the next stamp.
func (c *clock) time() time.Time {
	if c.now != nil {
		return c.now()
	}
	c.ticks += step
	return birth.Add(c.ticks)
}

// stamp sets the times of files whose content changed, and of folders whose names changed.
func (c *clock) stamp(nodes ...*node) {
	for _, n := range nodes {
		n.now.modified = c.time()
		n.now.changed = n.now.modified
	}
}
