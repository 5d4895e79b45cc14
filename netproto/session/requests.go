package session

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"collet/netproto"
)

// maxQueue is the largest number of parts that a call has requested and not delivered. Without it, ranges of few bytes
// would fill memory with parts.
const maxQueue = 2048

// errAbsent says that the server does not have the object of a call.
var errAbsent = errors.New("no such object")

// requests are the requests of a C1 session. All calls of Fetch and Object share its window. The session's reader passes
// responses to it and never blocks.
type requests struct {
	link *link

	mu     sync.Mutex
	window window
	most   int64  // bytes requested and not delivered at most; each call may exceed it by one request
	held   int64  // bytes requested and not delivered
	number uint32 // of the last request
	asked  map[uint32]*part
	calls  map[*call]struct{}
}

// call is one call of Fetch or Object. The lock of requests guards it.
type call struct {
	spans    []span
	current  int           // the span of the next request
	queue    []*part       // requested and not delivered, in order
	requests int           // outstanding
	bytes    int64         // of them
	held     int64         // bytes requested and not delivered
	absent   bool          // the server does not have the object
	wake     chan struct{} // holds an element after a change
}

// span is a range of a file.
type span struct {
	index     uint32 // of a listed file
	name      string // of an object; empty is a listed file
	next, end int64  // where the next request begins, and where the range ends, as far as known
	open      bool   // an object of unknown size, of which nothing has arrived
	begun     bool   // a part was planned
}

// part is one request, or an empty range.
type part struct {
	call         *call // nil: the call has ended
	span         int
	offset, size int64
	asked        time.Time // see window.request
	data, frame  []byte
	arrived      bool
}

// newRequests are those of a session in which the server has given this answer.
func newRequests(l *link, answer *netproto.HandshakeAnswer) *requests {
	count, portion := requestBounds(l.opt, answer)
	l.opt.RequestSize.beginSession()
	return &requests{
		link: l, window: newWindow(count, portion, int64(l.opt.Buffer), l.opt.RequestSize), most: int64(l.opt.Buffer),
		asked: make(map[uint32]*part), calls: make(map[*call]struct{}),
	}
}

// requestBounds returns how many requests of C1 may be outstanding and how many bytes each asks for: within the server's
// limits, and together within the buffer.
func requestBounds(o Options, answer *netproto.HandshakeAnswer) (count int, portion int64) {
	count = min(o.Window, int(answer.MaxInFlight))
	if answer.Capabilities&netproto.CapPipeline == 0 {
		count = 1
	}
	const overhead = netproto.HeaderSize + 4 + 8 + 4
	portion = min(max(int64(o.Buffer/count), smallestPortion), largestPortion)
	portion = min(portion, int64(answer.MaxPortion), max(int64(o.Limits.Frame-overhead), 1), math.MaxUint32)
	return count, portion
}

// run requests the spans of a call and delivers their bytes in order, on the caller's goroutine. An empty span is
// delivered once, with nil. For a missing object the error is errAbsent.
func (r *requests) run(ctx context.Context, o *call, deliver func(i int, data []byte) error) error {
	r.begin(o)
	defer r.leave(o)
	var last error // what ended the session; data that arrived before is still delivered
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, head, over, err := r.step(o)
		if len(batch) > 0 {
			r.link.out.add(batch...)
		}
		switch {
		case head != nil:
			err := deliver(head.span, noBytes(head.data))
			r.release(o, head)
			if err != nil {
				return err
			}
			continue
		case over:
			return err
		case last != nil:
			r.fail(last)
			return last
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
		case <-r.link.done:
			last = r.link.err
		}
	}
}

// begin registers a call.
func (r *requests) begin(o *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.wake = make(chan struct{}, 1)
	r.calls[o] = struct{}{}
}

// leave removes a call. Its outstanding responses are dropped on arrival.
func (r *requests) leave(o *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, o)
	r.held -= o.held
	for _, p := range o.queue {
		p.call = nil
		r.link.conn.Reuse(p.frame)
	}
	r.wakeAll()
}

// wakeAll makes all calls look for their next actions.
func (r *requests) wakeAll() {
	for o := range r.calls {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

// step returns the next actions of a call: requests to send, and a part to deliver, or that the call is over.
func (r *requests) step(o *call) (batch []netproto.Message, head *part, over bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.absent {
		return nil, nil, true, errAbsent
	}
	batch = r.fill(o)
	if len(o.queue) == 0 {
		return batch, nil, o.span() == nil, nil
	}
	head = o.queue[0]
	switch s := o.spans[head.span]; {
	case s.name != "" && head.offset >= s.end && head.size > 0: // behind the end of the object
		return nil, nil, true, nil
	case !head.arrived:
		return batch, nil, false, nil
	}
	o.queue = o.queue[1:]
	return batch, head, false, nil
}

// fill requests as much as the call's share of the window allows, once a quarter of it is free. For a file of unknown
// size it sends a single request first: most such files are small.
func (r *requests) fill(o *call) (batch []netproto.Message) {
	w, sharers := &r.window, max(len(r.calls), 1)
	count, room := max(w.count/sharers, 1), w.bound()/int64(sharers)
	if o.requests > 0 && (o.requests > count*3/4 || o.bytes > room*3/4) {
		return nil
	}
	for w.requests < w.count && o.requests < count && (o.bytes < room || o.requests == 0) &&
		(r.held < r.most || o.held == 0) && len(o.queue) < maxQueue {
		s := o.span()
		if s == nil || s.open && s.begun {
			break
		}
		if m := r.plan(o, s); m != nil {
			batch = append(batch, m)
		}
	}
	return batch
}

// span is the span of the next request, or nil.
func (o *call) span() *span {
	for ; o.current < len(o.spans); o.current++ {
		if s := &o.spans[o.current]; s.next < s.end || !s.begun {
			return s
		}
	}
	return nil
}

// plan queues the next part of a span, and returns its request. An empty range has none.
func (r *requests) plan(o *call, s *span) netproto.Message {
	s.begun = true
	p := &part{call: o, span: o.current, offset: s.next}
	o.queue = append(o.queue, p)
	if s.next >= s.end {
		p.arrived = true
		return nil
	}
	p.size = r.window.piece(s.end-s.next, s.open)
	p.asked = r.window.request(p.size, time.Now())
	s.next += p.size
	o.requests, o.bytes, o.held, r.held = o.requests+1, o.bytes+p.size, o.held+p.size, r.held+p.size
	r.number++
	r.asked[r.number] = p
	r.link.ledger.expect(replyKey{id: netproto.IDRangeData, request: r.number}, reply{offset: uint64(p.offset), length: p.size, named: s.name != ""})
	if s.name != "" {
		return &netproto.GetObject{Request: r.number, Name: s.name, Offset: uint64(p.offset), Length: uint32(p.size)}
	}
	return &netproto.GetRange{Request: r.number, Index: s.index, Offset: uint64(p.offset), Length: uint32(p.size)}
}

// settle removes an outstanding request. The lock is held.
func (r *requests) settle(number uint32) *part {
	p := r.asked[number]
	delete(r.asked, number)
	r.window.complete(p.size, p.asked)
	if p.call != nil {
		p.call.requests, p.call.bytes = p.call.requests-1, p.call.bytes-p.size
	}
	r.wakeAll()
	return p
}

// arrive handles the response to a request. The ledger has checked that it is expected and not too long. A part shorter
// than requested is the end of an object.
func (r *requests) arrive(number uint32, data, frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.settle(number)
	r.window.receive(int64(len(data)), p.asked, time.Now())
	if p.call == nil {
		r.link.conn.Reuse(frame)
		return
	}
	p.data, p.frame, p.arrived = data, frame, true
	s := &p.call.spans[p.span]
	if n := int64(len(data)); n < p.size {
		s.end = min(s.end, p.offset+n)
	}
	s.open = false
}

// miss handles the response that an object does not exist.
func (r *requests) miss(number uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.settle(number); p.call != nil {
		p.call.absent = true
	}
}

// release frees the buffer of a delivered part.
func (r *requests) release(o *call, p *part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.link.conn.Reuse(p.frame)
	r.window.proven.recordDelivery(p.size)
	o.held, r.held = o.held-p.size, r.held-p.size
	r.wakeAll()
}

// fail records how the session ended.
func (r *requests) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window.proven.endSession(err)
}
