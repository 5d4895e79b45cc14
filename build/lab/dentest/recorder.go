package dentest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Recorder is an App that keeps what arrives: the transport alone, without the Remote Launcher. It is safe for concurrent
// use.
type Recorder struct {
	states map[string]*State // what it links, by the text of the link message
	events chan struct{}

	mu       sync.Mutex
	messages [][]byte
	updates  int
}

// NewRecorder makes a Recorder that accepts links of these states, by the text of the link message.
func NewRecorder(states map[string]*State) *Recorder {
	return &Recorder{states: states, events: make(chan struct{}, 1)}
}

// Events holds a token after each message and each change of a link. One goroutine may receive.
func (p *Recorder) Events() <-chan struct{} { return p.events }

func notify(events chan struct{}) {
	select {
	case events <- struct{}{}:
	default:
	}
}

// Receive implements App. It drops stored copies of old messages.
func (p *Recorder) Receive(_ time.Time, payload []byte, stale bool) {
	if stale {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, payload)
	notify(p.events)
}

// Link implements App.
func (p *Recorder) Link(message []byte) *State { return p.states[string(message)] }

// Changed implements App.
func (p *Recorder) Changed(written bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if written {
		p.updates++
	}
	notify(p.events)
}

// Closed implements App.
func (p *Recorder) Closed(error) {}

// Updates is how many values the peer wrote, repetitions included.
func (p *Recorder) Updates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.updates
}

// Messages are all that arrived so far, without stored copies that came a lap late.
func (p *Recorder) Messages() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.messages)
}

// Wait returns the messages once there are n of them.
func (p *Recorder) Wait(ctx context.Context, n int) ([][]byte, error) {
	for {
		all := p.Messages()
		if len(all) >= n {
			return all, nil
		}
		select {
		case <-p.events:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d messages came: %w", len(all), n, ctx.Err())
		}
	}
}
