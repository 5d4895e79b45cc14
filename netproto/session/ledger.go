package session

import (
	"fmt"
	"sync"
	"time"

	"collet/netproto"
)

// replyKey identifies a message that the server owes.
type replyKey struct {
	id      netproto.MessageID
	request uint32 // C1 ranges
}

// reply is the expected content of a message. The zero value accepts anything.
type reply struct {
	offset uint64 // C1 ranges
	length int64  // C1 ranges: exactly; portions: at most, and at least 1 unless it is 0; objects: at most
	named  bool   // C1: a range of an object, which may be shorter or missing
}

// ledger tracks the messages that the server owes. The zero value is ready.
type ledger struct {
	mu    sync.Mutex
	owed  map[replyKey]reply
	moved time.Time // when an owed message last arrived, or the first of them was requested
	greet bool      // the hello was answered
}

// expect records that the server owes d under a.
func (l *ledger) expect(a replyKey, d reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owed == nil {
		l.owed = make(map[replyKey]reply)
	}
	if len(l.owed) == 0 {
		l.moved = time.Now()
	}
	l.owed[a] = d
}

// cancel removes an expected message that is optional and was not sent.
func (l *ledger) cancel(a replyKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed, a)
}

// settle removes m from the expected messages, or returns its fault. Offset in the fault counts from the start of the body.
func (l *ledger) settle(m netproto.Message) *netproto.FormatError {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := replyKey{id: m.ID()}
	switch m := m.(type) {
	case *netproto.RangeData:
		a.request = m.Request
	case *netproto.NoObject:
		a.id, a.request = netproto.IDRangeData, m.Request
	}
	d, owed := l.owed[a]
	if _, absent := m.(*netproto.NoObject); !owed || absent && !d.named {
		return &netproto.FormatError{Field: "request", Err: errUnasked}
	}
	delete(l.owed, a)
	l.moved = time.Now()
	switch m := m.(type) {
	case *netproto.HandshakeAnswer:
		l.greet = true
	case *netproto.UpdateFileData:
		return d.checkPortion(int64(len(m.Data)))
	case *netproto.RangeData:
		return d.checkRange(m.Offset, int64(len(m.Data)))
	}
	return nil
}

// checkPortion checks an engine's answer: it must not be empty if bytes are missing, nor longer than the missing part.
func (d reply) checkPortion(n int64) *netproto.FormatError {
	if n > d.length || n == 0 && d.length > 0 {
		return &netproto.FormatError{Field: "portion size", Err: fmt.Errorf("%d bytes where %d are missing", n, d.length)}
	}
	return nil
}

// checkRange checks a C1 answer. Requests stay within the server's limits and the file, so a shorter answer is a fault.
func (d reply) checkRange(offset uint64, n int64) *netproto.FormatError {
	const offsetAt, lengthAt = 4, 4 + 8
	if offset != d.offset {
		return &netproto.FormatError{Field: "offset", Offset: offsetAt, Err: fmt.Errorf("%d where %d was requested", offset, d.offset)}
	}
	if n != d.length && !(d.named && n < d.length) {
		return &netproto.FormatError{Field: "length", Offset: lengthAt, Err: fmt.Errorf("%d bytes where %d were requested", n, d.length)}
	}
	return nil
}

// isAnswered reports whether the hello was answered.
func (l *ledger) isAnswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greet
}

// isStalled reports whether an owed message is overdue by limit. It is called when an unrelated message came: frames are
// sequential, so no large one is in transit then.
func (l *ledger) isStalled(limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.owed) > 0 && time.Since(l.moved) > limit
}
