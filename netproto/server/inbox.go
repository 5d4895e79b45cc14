package server

import (
	"sync/atomic"

	"collet/netproto"
	"collet/netproto/server/limits"
)

// inbox is the reading half of a session. Its goroutine alone reads from the peer, and counts what a C1 client has outstanding.
type inbox struct {
	wire     *netproto.Conn
	pings    *pings
	messages chan netproto.Message // closed by the reader when it stops
	err      error                 // why the reader stopped; read only after messages is closed
	closing  chan struct{}         // closed when messages is no longer read

	allowed    atomic.Int32 // C1 range requests that the client may have unanswered, as announced
	unanswered atomic.Int32 // C1 range requests that were read and whose answer has not begun
}

func newInbox(wire *netproto.Conn, pings *pings, requests int) *inbox {
	i := &inbox{wire: wire, pings: pings, messages: make(chan netproto.Message, requests), closing: make(chan struct{})}
	i.allowed.Store(int32(requests))
	return i
}

// readMessages passes messages on until the stream ends, fails, or exceeds a limit.
func (i *inbox) readMessages() {
	defer close(i.messages)
	for {
		m, err := i.wire.Read()
		if err == nil {
			err = i.count(m)
		}
		if err != nil {
			i.err = err
			return
		}
		select {
		case i.messages <- m:
		case <-i.closing:
			return
		}
	}
}

// overrunError says that a C1 client sent more than allowed. It is the client's fault.
type overrunError struct {
	cause   limits.Cause
	reason  netproto.RefuseReason
	request uint32
	text    string
}

func (e *overrunError) Error() string { return e.text }

// count counts what a C1 client has outstanding. Requests and questions count from their reading until their answer begins. A
// client that counts until it has received the whole answer therefore never exceeds the limit.
func (i *inbox) count(m netproto.Message) error {
	switch m := m.(type) {
	case *netproto.Ping:
		if m.Answer {
			i.pings.recordAnswer()
		} else if i.wire.Generation() == netproto.C1 && i.pings.peerPending.Swap(true) {
			return &overrunError{cause: limits.CauseMalformed, reason: netproto.RefuseMalformed, text: "a second ping question before the first was answered"}
		}
	case *netproto.GetRange:
		return i.countRequest(m.Request)
	case *netproto.GetObject:
		return i.countRequest(m.Request)
	}
	return nil
}

func (i *inbox) countRequest(number uint32) error {
	if i.unanswered.Add(1) > i.allowed.Load() {
		return &overrunError{cause: limits.CauseInFlight, reason: netproto.RefuseTooMany, request: number, text: "more requests unanswered than allowed"}
	}
	return nil
}
