package netproto

import (
	"fmt"
	"sync"
	"time"
)

// maxAnswers is how many pings are answered in one batch. Further ones wait.
const maxAnswers = 64

// outbox queues a session's outgoing messages. Its memory is bounded: requests by the window, pings because they are only counted.
type outbox struct {
	ready chan struct{} // has an element after a change

	mu       sync.Mutex
	messages []Message
	answers  int  // unanswered pings of the server
	ask      bool // a ping of ours is to be sent
	asked    bool // a ping of ours is unanswered
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

// ping records a ping of the server, or its answer.
func (o *outbox) ping(answer bool) {
	o.change(func() {
		if answer {
			o.asked = o.ask
		} else {
			o.answers++
		}
	})
}

// take returns the next batch. Pings come after the queued messages, so a hello precedes the first ping.
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

// fail records an error of sending.
func (o *outbox) fail(err error) { o.change(func() { o.err = err }) }

// failure is the error of sending, or nil.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// ask identifies a message that the server owes.
type ask struct {
	id      MessageID
	request uint32 // C1 ranges
}

// due is the expected content. The zero value accepts anything.
type due struct {
	offset uint64 // C1 ranges
	length int64  // C1 ranges: exactly; portions: at most, and at least 1 unless it is 0; objects: at most
	named  bool   // C1: a range of an object, which may be shorter or missing
}

// ledger tracks the messages that the server owes. The zero value is ready.
type ledger struct {
	mu    sync.Mutex
	owed  map[ask]due
	moved time.Time // when an owed message last arrived, or the first of them was requested
	greet bool
}

// expect records that the server owes d under a.
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

// excuse removes an expected message that is optional and was not sent.
func (l *ledger) excuse(a ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed, a)
}

// settle removes m from the expected messages, or returns its fault. Offset in the fault counts from the start of the body.
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

// portion checks an engine's answer: it must not be empty if bytes are missing, nor longer than the missing part.
func (d due) portion(n int64) *FormatError {
	if n > d.length || n == 0 && d.length > 0 {
		return &FormatError{Field: "portion size", Err: fmt.Errorf("%d bytes where %d are missing", n, d.length)}
	}
	return nil
}

// exactly checks a C1 answer. Requests stay within the server's limits and the file, so a shorter answer is a fault.
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

// stalled reports whether an owed message is overdue by limit. It is called when an unrelated message came: frames are
// sequential, so no large one is in transit then.
func (l *ledger) stalled(limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.owed) > 0 && time.Since(l.moved) > limit
}
