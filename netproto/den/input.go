package den

import "time"

// handleDatagram handles one datagram from the connection's peer. The socket's goroutine calls it.
func (c *Conn) handleDatagram(datagram []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(datagram) == 0 {
		return
	}
	c.verified = true
	c.counts.Received++
	c.counts.ReceivedBytes += uint64(len(datagram))
	before := c.engine.pending()
	if err := c.engine.input(datagram, now); err != nil {
		switch e := err.(type) {
		case *PeerError:
			e.Addr = c.remote
		case *ClosedError:
			e.Addr = c.remote
		}
		c.endLocked(err)
		return
	}
	if c.engine.pending() < before || c.engine.idle() {
		c.writable.fire()
	}
	c.wakeUp()
}

func (c *Conn) isVerified() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verified
}

// inbox holds the received messages that the application has not read. The connection's lock guards it.
type inbox struct {
	limit       int // bytes
	messages    []Message
	unread      int          // bytes in messages
	readable    signal       // fires for a message, and for the end of the connection
	lastMessage time.Time    // of the peer, or of our keep-alive
	release     func([]byte) // returns the memory of messages; nil if it is not reused
}

// room reports whether the application keeps up.
func (b *inbox) room() bool { return b.unread < b.limit }

// deliver adds a message.
func (b *inbox) deliver(payload []byte, reliable bool) {
	b.lastMessage = time.Now()
	b.messages = append(b.messages, Message{Payload: payload, Reliable: reliable, give: b.release})
	b.unread += len(payload)
	b.readable.fire()
}

// next removes the oldest message.
func (b *inbox) next() (m Message, ok bool) {
	if len(b.messages) == 0 {
		return Message{}, false
	}
	m = b.messages[0]
	b.messages[0] = Message{}
	if b.messages = b.messages[1:]; len(b.messages) == 0 {
		b.messages = nil
	}
	b.unread -= len(m.Payload)
	return m, true
}
