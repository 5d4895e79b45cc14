// Package notify tells watchers that something has changed, without waiting for them.
package notify

import (
	"context"
	"sync"
)

// Watchers are channels that receive a tick after a change. The zero value is ready; it is safe for concurrent use.
type Watchers struct {
	mu     sync.Mutex
	stops  map[chan struct{}]func() bool // detaches a channel from its context
	closed bool
}

// Add returns a channel with one tick in it. It is closed when ctx ends or Close is called.
func (w *Watchers) Add(ctx context.Context) <-chan struct{} {
	ticks := make(chan struct{}, 1)
	ticks <- struct{}{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(ticks)
		return ticks
	}
	if w.stops == nil {
		w.stops = make(map[chan struct{}]func() bool)
	}
	w.stops[ticks] = context.AfterFunc(ctx, func() { w.remove(ticks) })
	return ticks
}

func (w *Watchers) remove(ticks chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.stops[ticks]; there {
		delete(w.stops, ticks)
		close(ticks)
	}
}

// Notify ticks every channel and never blocks: a channel that still holds a tick needs no second one.
func (w *Watchers) Notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ticks := range w.stops {
		select {
		case ticks <- struct{}{}:
		default:
		}
	}
}

// Close closes all channels, including those of later calls of Add. A tick that a channel still holds stays in it.
func (w *Watchers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ticks, stop := range w.stops {
		stop()
		close(ticks)
	}
	w.stops, w.closed = nil, true
}
