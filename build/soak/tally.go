package soak

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// maxFaults is how many faults are kept in words; all are counted. The first ones tell most.
const maxFaults = 10

// Tally is what was done and what came of it. It is a value.
type Tally struct {
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
func (t Tally) Downloads() (n int) {
	for _, times := range t.Pairs {
		n += times
	}
	return n
}

// tally counts, for several goroutines.
type tally struct {
	began time.Time
	mu    sync.Mutex
	t     Tally
}

func newTally() *tally {
	return &tally{began: time.Now(), t: Tally{Pairs: map[string]int{}, Done: map[string]int{}}}
}

// change does one thing to the numbers.
func (t *tally) change(do func(*Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do(&t.t)
}

// did counts something that a client did.
func (t *tally) did(what string) { t.change(func(t *Tally) { t.Done[what]++ }) }

// fault notes that the server did what it should not.
func (t *tally) fault(format string, values ...any) {
	text := fmt.Sprintf("after %v: ", time.Since(t.began).Round(time.Millisecond)) + fmt.Sprintf(format, values...)
	t.change(func(t *Tally) {
		if t.Faulty++; len(t.Faults) < maxFaults {
			t.Faults = append(t.Faults, text)
		}
	})
}

// recordFirst notes a fault that explains others: it comes before them.
func (t *tally) recordFirst(text string) {
	t.change(func(t *Tally) {
		t.Faulty++
		t.Faults = append([]string{text}, t.Faults[:min(len(t.Faults), maxFaults-1)]...)
	})
}

// now is a copy.
func (t *tally) now() Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.t
	now.Pairs, now.Done = maps.Clone(now.Pairs), maps.Clone(now.Done)
	now.Faults = append([]string(nil), now.Faults...)
	return now
}
