package desk

import (
	"slices"
	"sync"
)

// outbox queues the effects of a session for its sender, in order. It has no bound of its own: the state machines hand
// out no more than MaxUnconfirmed. Safe for concurrent use.
type outbox struct {
	mu    sync.Mutex
	items []effect
	ready chan struct{} // one tick while there may be items
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

func (o *outbox) add(e effect) {
	o.mu.Lock()
	o.items = append(o.items, e)
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// removeAll removes everything.
func (o *outbox) removeAll() []effect {
	o.mu.Lock()
	defer o.mu.Unlock()
	items := o.items
	o.items = nil
	return items
}

// drop removes the effects of runs before the given one.
func (o *outbox) drop(run int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = slices.DeleteFunc(o.items, func(e effect) bool { return stale(e, run) })
}

// stale reports whether an effect belongs to a run before the given one.
func stale(e effect, run int) bool {
	of := 0
	switch e := e.(type) {
	case sendEffect:
		of = e.run
	case blockEffect:
		of = e.run
	case batchEffect:
		of = e.run
	case hashEffect:
		of = e.run
	}
	return of != 0 && of < run
}
