package den

import "time"

// engine is the protocol of one established connection. The connection's lock guards it. It has no clock, no socket and no goroutine.
type engine interface {
	// input takes one datagram, which is valid during the call. An error is the peer's fault and ends the connection.
	input(datagram []byte, now time.Time) error
	// output writes the datagrams due at now, until the batch is full. more reports whether there are more.
	output(now time.Time, out *batch) (more bool)
	// deadline is when output must be called again without other events; zero means never.
	deadline(now time.Time) time.Time
	// silent is since when an answer is overdue; zero if none is.
	silent() time.Time

	send(payload []byte)              // queues a reliable message, of which it keeps a copy
	unreliable(payload []byte)        // queues an unreliable message, of which it keeps a copy
	link(request linkState)           // queues a request for a link
	linkMessage(p packet)             // queues a linkUp, linkDown or linkUpdate
	addClose(out *batch)              // writes the close
	pending() int                     // bytes queued and not acknowledged
	idle() bool                       // nothing is queued and everything was acknowledged
	reliableLinks() bool              // link messages are reliable
	stats(s *Stats)                   // adds the engine's counters
	consumed(bytes int) (notify bool) // the application read that many bytes; notify: the peer should be notified
}

// sink receives the engine's input in order. Its methods are called with the connection locked.
type sink interface {
	// room reports whether the application keeps up.
	room() bool
	// deliver passes a message to the application, which owns it.
	deliver(payload []byte, reliable bool)
	// linkRequested handles a request for a link. The engine owns its bytes.
	linkRequested(request linkState)
	// linkAnswered handles a linkUp or linkDown.
	linkAnswered(link uint16, up bool)
	// linkUpdated handles a linkUpdate, which begins with its command.
	linkUpdated(update []byte) error
}

// peerInput is the sink of a Conn: messages go to its inbox, links to its states.
type peerInput struct {
	*inbox
	*links
}

var _ sink = peerInput{}

// batch is a sequence of datagrams for one peer in one buffer.
type batch struct {
	buf  []byte
	ends []int // where each datagram ends
}

// The size of one batch: what one system call can send at once (UDP_SEGMENT: 64 datagrams, 64 KiB).
const (
	batchBytes     = maxSend // leaves room for a seal
	batchDatagrams = 64
)

func (b *batch) reset() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

// fits reports whether another datagram of n bytes fits. An empty batch accepts any size.
func (b *batch) fits(n int) bool {
	return len(b.ends) == 0 || (len(b.buf)+n <= batchBytes && len(b.ends) < batchDatagrams)
}

// close ends the current datagram.
func (b *batch) close() { b.ends = append(b.ends, len(b.buf)) }

// add encodes p as one datagram. It returns false, and adds nothing, if there is no room. A packet that can't be encoded
// was rejected earlier, so it is left out.
func (b *batch) add(p packet) bool {
	start := len(b.buf)
	buf, err := encode(b.buf, p)
	if err != nil {
		return true
	}
	if len(b.ends) > 0 && (len(buf) > batchBytes || len(b.ends) >= batchDatagrams) {
		b.buf = buf[:start]
		return false
	}
	b.buf = buf
	b.close()
	return true
}
