package den

import "time"

// engine is one connection's protocol once it is set up. Its connection's lock guards it. It has no clock, no socket and
// no goroutine.
type engine interface {
	// input takes one datagram, which is valid during the call. An error is the peer's fault and ends the connection.
	input(datagram []byte, now time.Time) error
	// output writes what is to be sent at now, until the batch is full. more reports that there was more.
	output(now time.Time, out *batch) (more bool)
	// deadline is when output should be called though nothing happened; zero means never.
	deadline(now time.Time) time.Time
	// silent is since when an answer is missing; zero if none is.
	silent() time.Time

	send(payload []byte)            // queues a reliable message, of which it keeps a copy
	unreliable(payload []byte)      // queues an unreliable message, of which it keeps a copy
	link(request linkState)         // queues a request for a link
	tell(p packet)                  // queues a linkUp, linkDown or linkUpdate
	farewell(out *batch)            // writes the close
	pending() int                   // bytes queued and not acknowledged
	idle() bool                     // nothing is queued and everything was acknowledged
	reliableLinks() bool            // what tell says arrives
	stats(s *Stats)                 // fills in what it knows
	released(bytes int) (tell bool) // the application read that many bytes; tell: the peer should hear of it
}

// sink is where an engine hands out what arrived, in order. Its methods are called with the connection locked.
type sink interface {
	// room reports whether the application keeps up.
	room() bool
	// deliver takes a message, which becomes the application's.
	deliver(payload []byte, reliable bool)
	// asked takes a request for a link, whose bytes are the engine's.
	asked(request linkState)
	// answered takes a linkUp or linkDown.
	answered(link uint16, up bool)
	// updated takes a linkUpdate, which begins with its command.
	updated(update []byte) error
}

// batch is a row of datagrams for one peer, one behind the other.
type batch struct {
	buf  []byte
	ends []int // where each datagram ends
}

// How much one batch takes: what one call of the system can send at once (UDP_SEGMENT: 64 datagrams, 64 KiB).
const (
	batchBytes     = maxSend // so that a seal has room behind it
	batchDatagrams = 64
)

func (b *batch) reset() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

// fits reports whether another datagram of n bytes has room. An empty batch has room for anything.
func (b *batch) fits(n int) bool {
	return len(b.ends) == 0 || (len(b.buf)+n <= batchBytes && len(b.ends) < batchDatagrams)
}

// close ends the datagram that is being written.
func (b *batch) close() { b.ends = append(b.ends, len(b.buf)) }

// add encodes p as one datagram. It reports false, and adds nothing, if there is no room. What can't be encoded was
// refused when the application gave it to us, so it is left out.
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
