package netproto

import (
	"fmt"
	"sync"
	"time"
)

// maxAnswers is how many pings are answered in one batch. A peer that asks more often waits.
const maxAnswers = 64

// outbox holds what a session is about to send. Its memory is bounded: requests by the window, pings by counting them.
type outbox struct {
	ready chan struct{} // has an element when there may be something to take

	mu       sync.Mutex
	messages []Message
	answers  int  // the server's questions not answered yet
	ask      bool // a question of ours is to be sent
	asked    bool // a question of ours is unanswered
	err      error
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// change runs f under the lock and wakes the writer.
func (o *outbox) change(f func()) {
	o.mu.Lock()
	f()
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// add queues messages.
func (o *outbox) add(ms ...Message) { o.change(func() { o.messages = append(o.messages, ms...) }) }

// question queues a ping, unless one is unanswered.
func (o *outbox) question() { o.change(func() { o.ask, o.asked = !o.asked || o.ask, true }) }

// ping notes a ping of the server.
func (o *outbox) ping(answer bool) {
	o.change(func() {
		if answer {
			o.asked = o.ask
		} else {
			o.answers++
		}
	})
}

// take returns the next batch. It keeps its order: a hello comes before the ping that was queued behind it.
func (o *outbox) take() []Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.messages
	o.messages = nil
	n := min(o.answers, maxAnswers)
	o.answers -= n
	for range n {
		batch = append(batch, &Ping{Answer: true})
	}
	if o.ask {
		batch = append(batch, &Ping{})
		o.ask = false
	}
	return batch
}

// fail keeps what sending ran into.
func (o *outbox) fail(err error) { o.change(func() { o.err = err }) }

// failure is what sending ran into, nil if nothing.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// ask names a message that a server owes us.
type ask struct {
	id      MessageID
	request uint32 // C1 ranges
}

// due is what its content must be. The zero value is anything.
type due struct {
	offset uint64 // C1 ranges
	length int64  // C1 ranges: exactly; portions: at most, and at least 1 unless it is 0; objects: at most
	named  bool   // C1: a range of an object, which may end before, or not be there
}

// ledger knows what the server owes. The zero value is ready.
type ledger struct {
	mu    sync.Mutex
	owed  map[ask]due
	moved time.Time // the last time that something owed came, or that something came to be owed at all
	greet bool
}

// expect notes that the server owes d under a.
func (l *ledger) expect(a ask, d due) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owed == nil {
		l.owed = make(map[ask]due)
	}
	if len(l.owed) == 0 {
		l.moved = time.Now()
	}
	l.owed[a] = d
}

// excuse strikes out what the server may send and did not.
func (l *ledger) excuse(a ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed, a)
}

// settle strikes out m, or says what is wrong with it. Offset in the fault counts from the start of the body.
func (l *ledger) settle(m Message) *FormatError {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := ask{id: m.ID()}
	switch m := m.(type) {
	case *RangeData:
		a.request = m.Request
	case *NoObject:
		a.id, a.request = IDRangeData, m.Request
	}
	d, owed := l.owed[a]
	if _, absent := m.(*NoObject); !owed || absent && !d.named {
		return &FormatError{Field: "request", Err: errUnasked}
	}
	delete(l.owed, a)
	l.moved = time.Now()
	switch m := m.(type) {
	case *HandshakeAnswer:
		l.greet = true
	case *UpdateFileData:
		return d.portion(int64(len(m.Data)))
	case *RangeData:
		return d.exactly(m.Offset, int64(len(m.Data)))
	}
	return nil
}

// portion checks an engine's answer: it brings something where something is missing, and not more than is missing.
func (d due) portion(n int64) *FormatError {
	if n > d.length || n == 0 && d.length > 0 {
		return &FormatError{Field: "portion size", Err: fmt.Errorf("%d bytes where %d are missing", n, d.length)}
	}
	return nil
}

// exactly checks a C1 answer. We ask within the server's limits and within the file, so it has no reason to send less.
func (d due) exactly(offset uint64, n int64) *FormatError {
	const offsetAt, lengthAt = 4, 4 + 8
	if offset != d.offset {
		return &FormatError{Field: "offset", Offset: offsetAt, Err: fmt.Errorf("%d where %d was asked for", offset, d.offset)}
	}
	if n != d.length && !(d.named && n < d.length) {
		return &FormatError{Field: "length", Offset: lengthAt, Err: fmt.Errorf("%d bytes where %d were asked for", n, d.length)}
	}
	return nil
}

// answered reports whether the hello was answered.
func (l *ledger) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greet
}

// stalled reports whether something is owed and nothing owed has come for longer than limit. It is asked when a message
// of no consequence came: frames follow one another, so then no large one is on its way.
func (l *ledger) stalled(limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.owed) > 0 && time.Since(l.moved) > limit
}
