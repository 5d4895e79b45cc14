package soak

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// maxFaults is how many faults are kept in words; all are counted. The first ones tell most.
const maxFaults = 10

// Counts states what clients did, and with which results. It is a value.
type Counts struct {
	Pairs     map[string]int // downloads that were checked to their last byte, by generation and transport: "C1 over TLS"; those that had no turn yet, too
	Files     int            // of these downloads
	Bytes     int64          // of all downloads, checked
	Done      map[string]int // everything else that clients did, by its name
	Published int            // catalogues after the first
	Refused   int            // reloads of what can't be offered, refused as they should be
	Disturbed int            // downloads that a publication ended between its renames and its reload
	Faults    []string       // the first of them
	Faulty    int            // all of them
}

// Downloads is their number.
func (t Counts) Downloads() (n int) {
	for _, times := range t.Pairs {
		n += times
	}
	return n
}

// counter keeps the counts of one run. It is safe for concurrent use.
type counter struct {
	began  time.Time
	mu     sync.Mutex
	counts Counts
}

func newCounter() *counter {
	return &counter{began: time.Now(), counts: Counts{Pairs: map[string]int{}, Done: map[string]int{}}}
}

// change calls do with the numbers, alone.
func (c *counter) change(do func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(&c.counts)
}

// did counts something that a client did.
func (c *counter) did(what string) { c.change(func(n *Counts) { n.Done[what]++ }) }

// fault notes that the server did what it should not.
func (c *counter) fault(format string, values ...any) {
	text := fmt.Sprintf("after %v: ", time.Since(c.began).Round(time.Millisecond)) + fmt.Sprintf(format, values...)
	c.change(func(n *Counts) {
		if n.Faulty++; len(n.Faults) < maxFaults {
			n.Faults = append(n.Faults, text)
		}
	})
}

// recordFirst notes a fault that explains others: it comes before them.
func (c *counter) recordFirst(text string) {
	c.change(func(n *Counts) {
		n.Faulty++
		n.Faults = append([]string{text}, n.Faults[:min(len(n.Faults), maxFaults-1)]...)
	})
}

// now returns a copy of the counts.
func (c *counter) now() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.counts
	now.Pairs, now.Done = maps.Clone(now.Pairs), maps.Clone(now.Done)
	now.Faults = append([]string(nil), now.Faults...)
	return now
}
