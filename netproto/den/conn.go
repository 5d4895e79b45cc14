package den

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// Message is one received message.
type Message struct {
	Payload  []byte // owned by the receiver; see Release
	Reliable bool   // delivered in order and exactly once

	give func([]byte)
}

// Release returns the memory of the payload for reuse, which reduces garbage collection. It is optional; the payload
// must not be used afterwards.
func (m Message) Release() {
	if m.give != nil {
		m.give(m.Payload)
	}
}

// Stats is a snapshot of a connection's counters.
type Stats struct {
	Protocol        uint16
	RTT             time.Duration // smoothed round trip; 0 before the first measurement
	PartSize        int           // current size of one part in bytes
	Window          int           // bytes that may be in flight now
	Sent, Received  uint64        // datagrams
	SentBytes       uint64        // UDP payload, including headers
	ReceivedBytes   uint64
	Resent          uint64 // retransmitted datagrams
	Duplicates      uint64 // received duplicates
	Dropped         uint64 // received datagrams that were dropped
	Fillers         uint64 // harmless messages on burnt numbers
	ImplicitlyAcked uint64 // acknowledged by a later number's acknowledgement
}

// Conn is one connection. All methods are safe for concurrent use, but Close must not be called from a callback.
//
//	open ─(Close)→ closing ─(all acknowledged, or Linger over)→ over
//	open, closing ─(Abort, the peer's close, silence, a fault)→ over
type Conn struct {
	options  *Options
	remote   netip.AddrPort
	protocol uint16
	socket   *socket
	ended    func(*Conn) // called by the connection's goroutine at the end

	wake     chan struct{} // ticks when there may be something to send
	done     chan struct{} // closed when err is set
	finished chan struct{} // closed when the goroutine ended

	mu       sync.Mutex
	engine   engine
	pool     buffers
	links    links
	inbox    inbox
	writable signal // changes of what is queued, err
	verified bool   // the peer sent more than its connection request
	closing  bool
	err      error
	counts   Stats
}

// newConn makes a connection; the caller starts its pump.
func newConn(o *Options, s *socket, remote netip.AddrPort, protocol uint16, client bool, now time.Time) *Conn {
	c := &Conn{
		options: o, remote: remote, protocol: protocol, socket: s,
		wake: make(chan struct{}, 1), done: make(chan struct{}), finished: make(chan struct{}),
		inbox: inbox{limit: o.ReceiveBytes, lastMessage: now},
	}
	c.links.conn = c
	received := peerInput{&c.inbox, &c.links}
	if protocol != ProtocolCollet {
		c.engine = newRelease(received, o)
		return c
	}
	c.inbox.release = c.reuse
	var token uint32
	for client && token == 0 {
		token = rand.Uint32()
	}
	near := remote.Addr().IsLoopback() || remote.Addr() == s.conn.local().Addr()
	c.engine = newStream(received, o, &c.pool, token, near, s.conn.room(), now)
	return c
}

// reuse returns the memory of a message.
func (c *Conn) reuse(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool.put(b)
}

// wakeUp makes the goroutine check for data to send.
func (c *Conn) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Send queues a reliable message, which arrives in order after everything sent before. It copies payload, which may be
// reused at once. It blocks while Options.QueueBytes are queued; a longer message is accepted when the queue is empty.
// It returns the error of ctx, that of the connection once it has ended, or ErrTooLong above MaxReliable bytes.
func (c *Conn) Send(ctx context.Context, payload []byte) error {
	if len(payload) > MaxReliable {
		return ErrTooLong
	}
	return c.await(ctx, &c.writable, func() (bool, error) {
		if c.closing {
			return true, &ClosedError{Addr: c.remote}
		}
		if p := c.engine.pending(); p > 0 && p+len(payload) > c.options.QueueBytes {
			return false, nil
		}
		c.engine.send(payload)
		c.wakeUp()
		return true, nil
	})
}

// SendUnreliable sends payload in one datagram, once, without blocking. The error is ErrTooLong above MaxUnreliable bytes.
func (c *Conn) SendUnreliable(payload []byte) error {
	if len(payload) > MaxUnreliable {
		return ErrTooLong
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.engine.unreliable(payload)
	c.wakeUp()
	return nil
}

// Receive returns the next message. After the end of the connection, and of the messages before it, the error is that of
// Err: a *ClosedError that is io.EOF if the peer closed in order, a *TimeoutError, a *PeerError.
func (c *Conn) Receive(ctx context.Context) (m Message, err error) {
	err = c.awaitAll(ctx, &c.inbox.readable, func() (bool, error) {
		next, ok := c.inbox.next()
		if !ok {
			return c.err != nil, c.err
		}
		m = next
		if c.engine.consumed(len(m.Payload)) {
			c.wakeUp()
		}
		return true, nil
	})
	return m, err
}

// Flush waits until all sent messages are acknowledged.
func (c *Conn) Flush(ctx context.Context) error {
	return c.await(ctx, &c.writable, func() (bool, error) { return c.engine.idle(), nil })
}

// await calls try, with the connection locked, whenever s fires, until it reports done, or the connection or ctx ends.
func (c *Conn) await(ctx context.Context, s *signal, try func() (bool, error)) error {
	return c.awaitAll(ctx, s, func() (bool, error) {
		if c.err != nil {
			return true, c.err
		}
		return try()
	})
}

// awaitAll is await for operations that also work after the connection's end.
func (c *Conn) awaitAll(ctx context.Context, s *signal, try func() (bool, error)) error {
	for {
		c.mu.Lock()
		done, err := try()
		if done {
			c.mu.Unlock()
			return err
		}
		fired := s.wait()
		c.mu.Unlock()
		select {
		case <-fired:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Pending is the number of bytes of reliable messages that are queued or unacknowledged.
func (c *Conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.pending()
}

// Close ends the connection in order. It waits at most Options.Linger for unacknowledged messages, notifies the peer,
// and waits for the connection's goroutines. Received messages can still be read. It returns nil.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), max(0, c.options.Linger))
	defer cancel()
	_ = c.Flush(ctx) // undelivered messages are lost after Linger
	c.Abort()
	<-c.finished
	c.socket.wait()
	return nil
}

// Abort ends the connection at once. It notifies the peer, but does not wait for unacknowledged messages.
func (c *Conn) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(&ClosedError{Addr: c.remote})
}

// endLocked ends the connection with err, unless it has ended before.
func (c *Conn) endLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.inbox.readable.fire()
	c.writable.fire()
	for _, l := range c.links.all {
		l.resolve(l.up, err)
	}
	c.wakeUp()
}

// Done is closed when the connection has ended, for any reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil until the connection has ended, then the reason.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Protocol is the agreed protocol: ProtocolRelease or ProtocolCollet.
func (c *Conn) Protocol() uint16 { return c.protocol }

// Stats is a snapshot.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.counts
	s.Protocol = c.protocol
	c.engine.stats(&s)
	return s
}

// signal notifies waiting goroutines of a change. The lock of the changed state guards it.
type signal struct{ fired chan struct{} }

// wait returns a channel that is closed when the signal fires next.
func (s *signal) wait() <-chan struct{} {
	if s.fired == nil {
		s.fired = make(chan struct{})
	}
	return s.fired
}

func (s *signal) fire() {
	if s.fired != nil {
		close(s.fired)
		s.fired = nil
	}
}
