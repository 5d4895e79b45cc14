package den

import (
	"time"

	"collet/netproto/wire"
)

// helloRepeat is how often a client repeats its token until the server answers.
const helloRepeat = 250 * time.Millisecond

// stream is the engine of ProtocolCollet. Both directions carry a sequence of records: u32 length, u8 command, fields.
// The client chooses a token, which every datagram carries; datagrams with another one are dropped.
type stream struct {
	out   streamOut
	in    streamIn
	pool  *buffers
	token uint32
	known bool // the token is agreed
	hello time.Time
	room  uint32
	loose [][]byte
	bytes int     // of loose
	note  receipt // scratch for output
	heard receipt // scratch for input
	wrong uint64  // datagrams that were dropped
}

// newStream makes the engine. token is 0 for a server, which receives it. room is the size of the own socket's buffer,
// near whether the peer is on the same machine.
func newStream(s sink, o *Options, pool *buffers, token uint32, near bool, room int, now time.Time) *stream {
	window := uint64(min(streamWindow, o.ReceiveBytes))
	return &stream{
		out:   newStreamOut(near, now),
		in:    streamIn{sink: s, maxMessage: o.MaxMessage, window: window, limit: max(window, firstLimit), pool: pool},
		pool:  pool,
		token: token,
		room:  uint32(room),
	}
}

// input takes one datagram.
func (s *stream) input(datagram []byte, now time.Time) error {
	if datagram[0] == cmdClose && !s.known {
		return &ClosedError{Remote: true} // of a client that did not get the answer to its request
	}
	datagram, whole := unseal(datagram)
	c := wire.Reader(datagram)
	var kind uint8
	var token uint32
	c.U8("command", &kind)
	c.U32("token", &token)
	if !whole || c.Err() != nil || kind < kindSegment || kind > kindEnd || !s.agree(token) {
		s.wrong++
		return nil
	}
	switch kind {
	case kindSegment:
		var p segment
		if decode(datagram, &p) == nil {
			return s.in.handleSegment(&p, now)
		}
	case kindReceipt:
		if decode(datagram, &s.heard) == nil {
			s.out.handleReceipt(&s.heard, now)
			return nil
		}
	case kindLoose:
		if s.in.sink.room() {
			var payload []byte
			c.Rest("payload", &payload)
			s.in.unread += len(payload)
			s.in.sink.deliver(append([]byte{}, payload...), false)
		}
		return nil
	case kindEnd:
		return &ClosedError{Remote: true}
	}
	s.wrong++
	return nil
}

// agree reports whether token is the connection's. A server adopts the first one that it receives, and answers it.
func (s *stream) agree(token uint32) bool {
	if !s.known && token != 0 && (s.token == 0 || s.token == token) {
		s.known = true
		s.in.ackSoon = s.in.ackSoon || s.token == 0
		s.token = token
	}
	return s.known && s.token == token
}

func (s *stream) output(now time.Time, out *batch) (more bool) {
	if s.token == 0 {
		return false
	}
	if s.in.ackSoon || s.helloDue(now) {
		s.in.receipt(&s.note, now)
		s.note.Token, s.note.Room = s.token, s.room
		out.addSealed(&s.note)
	}
	for len(s.loose) > 0 {
		if !out.addSealed(&loose{Token: s.token, Payload: s.loose[0]}) {
			return true
		}
		s.loose = s.loose[1:]
	}
	s.loose, s.bytes = nil, 0
	return s.out.output(now, s.token, out)
}

// helloDue reports whether the token has to be sent to the server.
func (s *stream) helloDue(now time.Time) bool {
	if s.known || now.Before(s.hello) {
		return false
	}
	s.hello = now.Add(helloRepeat)
	return true
}

func (s *stream) deadline(now time.Time) time.Time {
	if s.token == 0 {
		return time.Time{}
	}
	next := s.out.deadline(now)
	if !s.known {
		next = earlier(next, s.hello)
	}
	return next
}

func (s *stream) silent() time.Time { return s.out.silent() }

// record writes the header of a record with a body of n bytes.
func (s *stream) record(command byte, n int) {
	header := putRecord(command, n)
	s.out.buf.write(header[:])
}

func (s *stream) send(payload []byte) {
	s.record(cmdReliable, len(payload))
	s.out.buf.write(payload)
}

func (s *stream) unreliable(payload []byte) {
	if s.bytes+len(payload) > maxLoose {
		return
	}
	s.bytes += len(payload)
	s.loose = append(s.loose, append([]byte{}, payload...))
}

func (s *stream) link(request linkState) {
	body, err := encode(nil, &request)
	if err != nil {
		return // rejected when the application called
	}
	s.record(cmdLinkState, len(body))
	s.out.buf.write(body)
}

func (s *stream) linkMessage(p packet) {
	body, err := encode(nil, p)
	if err != nil {
		return
	}
	s.record(body[0], len(body)-1)
	s.out.buf.write(body[1:])
}

func (s *stream) addClose(out *batch)          { out.addSealed(&end{Token: s.token}) }
func (s *stream) pending() int                 { return s.out.buf.held() }
func (s *stream) idle() bool                   { return s.out.buf.held() == 0 }
func (s *stream) reliableLinks() bool          { return true }
func (s *stream) consumed(n int) (notify bool) { return s.in.consumed(n) }

func (s *stream) stats(st *Stats) {
	st.RTT = s.out.rtt.mean
	st.PartSize = s.out.sizes.size
	st.Window = s.out.window()
	st.Resent = s.out.resent
	st.Duplicates, st.Dropped = s.in.duplicates, s.in.dropped+s.wrong
}
