package dentest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Plain is an App that keeps what arrives: the transport alone, without Remote Launcher. States are what it links, by
// the text of the link message. It may be read from any goroutine.
type Plain struct {
	States map[string]*State

	mu       sync.Mutex
	messages [][]byte
	stale    [][]byte
	changes  int
	woken    chan struct{}
}

// Receive keeps the message, stored copies of old ones apart from the others.
func (p *Plain) Receive(_ time.Time, payload []byte, _, stale bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stale {
		p.stale = append(p.stale, payload)
	} else {
		p.messages = append(p.messages, payload)
	}
	p.wake()
}

// Link finds the state of the message.
func (p *Plain) Link(message []byte, _ bool) *State { return p.States[string(message)] }

// Changed counts updates.
func (p *Plain) Changed(time.Time, *State, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes++
	p.wake()
}

// Tick does nothing.
func (p *Plain) Tick(time.Time) {}

// Closed wakes who waits.
func (p *Plain) Closed(error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

func (p *Plain) wake() {
	if p.woken != nil {
		close(p.woken)
	}
	p.woken = nil
}

// Stale are the stored copies that came out a lap late (2.4).
func (p *Plain) Stale() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.stale...)
}

// Messages are all that arrived so far, without stored copies that came out a lap late.
func (p *Plain) Messages() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.messages...)
}

// Changes is how many value updates arrived.
func (p *Plain) Changes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

// Wait returns the messages when there are n of them.
func (p *Plain) Wait(ctx context.Context, n int) ([][]byte, error) {
	for {
		p.mu.Lock()
		if len(p.messages) >= n {
			defer p.mu.Unlock()
			return append([][]byte(nil), p.messages...), nil
		}
		if p.woken == nil {
			p.woken = make(chan struct{})
		}
		woken, have := p.woken, len(p.messages)
		p.mu.Unlock()
		select {
		case <-woken:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d messages came: %w", have, n, ctx.Err())
		}
	}
}
