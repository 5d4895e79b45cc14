package dentest

import (
	"context"
	"fmt"
	"sync"
)

// Overheard are the messages that come from a device, beside what the session does with them. It may be read from any
// goroutine.
type Overheard struct {
	mu    sync.Mutex
	queue []Message
	more  chan struct{}
}

// Overhear collects what this device says from now on, for tests that ask for things themselves.
func (d *Session) Overhear() *Overheard {
	o := &Overheard{more: make(chan struct{}, 1)}
	locked(d, func() bool {
		d.overheard = o
		return true
	})
	return o
}

func (o *Overheard) add(m Message) {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// Next is the next message with this code; others before it are dropped.
func (o *Overheard) Next(ctx context.Context, code byte) (Message, error) {
	for {
		o.mu.Lock()
		for len(o.queue) > 0 {
			m := o.queue[0]
			if o.queue = o.queue[1:]; m.Code == code {
				o.mu.Unlock()
				return m, nil
			}
		}
		o.mu.Unlock()
		select {
		case <-o.more:
		case <-ctx.Done():
			return Message{}, fmt.Errorf("no %s came: %w", Message{Code: code}.Name(), ctx.Err())
		}
	}
}
