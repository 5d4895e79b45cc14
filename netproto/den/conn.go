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
	Payload  []byte // the receiver's own; see Release
	Reliable bool   // it came in order and exactly once

	give func([]byte)
}

// Release gives the memory of the payload back for another message, which saves the collector work. It is optional;
// the payload must not be used afterwards.
func (m Message) Release() {
	if m.give != nil {
		m.give(m.Payload)
	}
}

// Stats is a snapshot of what a connection did.
type Stats struct {
	Protocol        uint16
	RTT             time.Duration // smoothed round trip; 0 before the first measurement
	PartSize        int           // bytes of one part now
	Window          int           // bytes that may be under way now
	Sent, Received  uint64        // datagrams
	SentBytes       uint64        // UDP payload, everything counted
	ReceivedBytes   uint64
	Resent          uint64 // datagrams that were sent again
	Duplicates      uint64 // received datagrams that had come before
	Dropped         uint64 // received datagrams that were of no use
	Fillers         uint64 // harmless messages on numbers that may carry nothing else
	ImplicitlyAcked uint64 // acknowledged by a later number's acknowledgement
}

// Conn is one connection. All methods may be called from several goroutines at once, but Close not from a callback.
//
//	open ─(Close)→ closing ─(all acknowledged, or Linger over)→ over
//	open, closing ─(Abort, the peer's close, silence, a fault)→ over
type Conn struct {
	options  *Options
	remote   netip.AddrPort
	protocol uint16
	socket   *socket
	ended    func(*Conn) // called when the connection is over, by its goroutine

	wake     chan struct{} // there may be something to send
	done     chan struct{} // closed when err is set
	finished chan struct{} // closed when the goroutine ended
	release  func([]byte)  // of messages; nil if their memory is not used again

	mu       sync.Mutex
	engine   engine
	pool     buffers
	links    links
	inbox    []Message
	unread   int    // bytes in inbox
	readable signal // inbox, err
	writable signal // what is pending, err
	verified bool   // the peer said something else than that it wants to connect
	opened   time.Time
	message  time.Time // of the last message from the peer, or of our keep-alive
	closing  bool
	err      error
	counts   Stats
	out      batch // of the goroutine alone
}

// newConn makes a connection; run must be called.
func newConn(o *Options, s *socket, remote netip.AddrPort, protocol uint16, client bool, now time.Time) *Conn {
	c := &Conn{
		options: o, remote: remote, protocol: protocol, socket: s,
		wake: make(chan struct{}, 1), done: make(chan struct{}), finished: make(chan struct{}),
		opened: now, message: now,
	}
	c.engine = c.newEngine(client, now)
	return c
}

// newEngine makes what speaks the protocol that was agreed.
func (c *Conn) newEngine(client bool, now time.Time) engine {
	if c.protocol != ProtocolCollet {
		return newRelease(c, c.options)
	}
	c.release = c.reuse
	var token uint32
	for client && token == 0 {
		token = rand.Uint32()
	}
	near := c.remote.Addr().IsLoopback() || c.remote.Addr() == c.socket.conn.local().Addr()
	return newStream(c, c.options, &c.pool, token, near, c.socket.conn.room(), now)
}

// reuse takes the memory of a message back.
func (c *Conn) reuse(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool.put(b)
}

// now is the time.
func (c *Conn) now() time.Time { return time.Now() }

func (c *Conn) reliableLinks() bool { return c.engine.reliableLinks() }

// wakeUp makes the goroutine look what there is to send.
func (c *Conn) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Send queues a reliable message, which arrives in order behind everything sent before. It copies payload, which may be
// reused at once. It blocks while Options.QueueBytes are waiting; a message longer than that is taken when the queue is
// empty. It returns the error of ctx, that of the connection once it is over, or ErrTooLong above MaxReliable bytes.
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

// SendUnreliable sends payload in one datagram, once, without waiting. It is ErrTooLong above MaxUnreliable bytes.
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

// Receive returns the next message. When the connection is over and everything that came before its end was received,
// it is the error of Err: a *ClosedError that is io.EOF if the peer closed it in order, a *TimeoutError, a *PeerError.
func (c *Conn) Receive(ctx context.Context) (m Message, err error) {
	err = c.awaitAll(ctx, &c.readable, func() (bool, error) {
		if len(c.inbox) == 0 {
			return c.err != nil, c.err
		}
		m = c.inbox[0]
		c.inbox[0] = Message{}
		if c.inbox = c.inbox[1:]; len(c.inbox) == 0 {
			c.inbox = nil
		}
		c.unread -= len(m.Payload)
		if c.engine.released(len(m.Payload)) {
			c.wakeUp()
		}
		return true, nil
	})
	return m, err
}

// Flush waits until everything that was sent is acknowledged.
func (c *Conn) Flush(ctx context.Context) error {
	return c.await(ctx, &c.writable, func() (bool, error) { return c.engine.idle(), nil })
}

// await calls try, with the connection locked, whenever s fires, until it says that it is done, or the connection or ctx
// is over.
func (c *Conn) await(ctx context.Context, s *signal, try func() (bool, error)) error {
	return c.awaitAll(ctx, s, func() (bool, error) {
		if c.err != nil {
			return true, c.err
		}
		return try()
	})
}

// awaitAll is await for what also works on a connection that is over.
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

// Pending is the number of bytes of reliable messages that are queued or not acknowledged yet.
func (c *Conn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.pending()
}

// Close ends the connection in order: it waits at most Options.Linger for what is under way, tells the peer, and waits
// for the connection's goroutines. What has been received can still be read. It returns nil.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), max(0, c.options.Linger))
	defer cancel()
	_ = c.Flush(ctx) // what can't be delivered in time is lost, as the caller chose
	c.Abort()
	<-c.finished
	c.socket.wait()
	return nil
}

// Abort ends the connection at once. It tells the peer, but does not wait for anything under way.
func (c *Conn) Abort() { c.end(&ClosedError{Addr: c.remote}) }

// end makes err the reason why the connection is over, unless it was before.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(err)
}

func (c *Conn) endLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.readable.fire()
	c.writable.fire()
	for _, l := range c.links.all {
		l.settle(l.up, err)
	}
	c.wakeUp()
}

// Done is closed when the connection is over, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil until the connection is over, then why.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// Protocol is what was agreed: ProtocolRelease or ProtocolCollet.
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

// signal tells goroutines that something changed. The lock of what it is about guards it.
type signal struct{ fired chan struct{} }

// wait returns what is closed when the signal fires next.
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
