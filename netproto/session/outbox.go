package session

import (
	"sync"

	"collet/netproto"
)

// maxAnswers is how many pings are answered in one batch. Further ones wait.
const maxAnswers = 64

// outbox queues a session's outgoing messages. Its memory is bounded: requests by the window, pings because they are only counted.
type outbox struct {
	ready chan struct{} // has an element after a change

	mu       sync.Mutex
	messages []netproto.Message
	answers  int  // unanswered pings of the server
	ping     bool // a ping of ours is to be sent
	pinged   bool // a ping of ours is unanswered
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
func (o *outbox) add(ms ...netproto.Message) {
	o.change(func() { o.messages = append(o.messages, ms...) })
}

// addPing queues a ping, unless one is unanswered.
func (o *outbox) addPing() { o.change(func() { o.ping, o.pinged = !o.pinged || o.ping, true }) }

// recordPing records a ping of the server, or its answer.
func (o *outbox) recordPing(answer bool) {
	o.change(func() {
		if answer {
			o.pinged = o.ping
		} else {
			o.answers++
		}
	})
}

// nextBatch returns what is to be sent now. Pings come after the queued messages, so a hello precedes the first ping.
func (o *outbox) nextBatch() []netproto.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.messages
	o.messages = nil
	n := min(o.answers, maxAnswers)
	o.answers -= n
	for range n {
		batch = append(batch, &netproto.Ping{Answer: true})
	}
	if o.ping {
		batch = append(batch, &netproto.Ping{})
		o.ping = false
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
