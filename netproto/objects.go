package netproto

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// firstObjectRequest is the number of the first request for an object. Ranges of listed files count from 1, so the two
// sequences don't overlap.
const firstObjectRequest = 1 << 31

var (
	errUnlisted  = errors.New("this session was opened without a list")
	errNoObjects = errors.New("this server hands out no release folder")
)

// unlisted reports whether no list follows the answer: this client requested that, and the server agreed.
func (c *Client) unlisted(m *HandshakeAnswer) bool {
	return !c.Generation().Engine() && m.Capabilities&c.opt.capabilities()&CapUnlisted != 0
}

// Objects reports whether the server serves a release folder, so that Object may be called. It is false unless the options enable it.
func (c *Client) Objects() bool {
	return !c.Generation().Engine() && c.Transfers() &&
		c.answer.Capabilities&c.opt.capabilities()&CapObjects != 0
}

// Object fetches length bytes from offset of a file of the server's release folder, and delivers them in order; a length
// below 0 means the rest of the file. deliver runs on the caller's goroutine and must not keep data. The data is not
// verified. name must pass IsObjectName.
//
// The timestamp, and the absence of a next root, are known from the server's answer and need no request.
//
// Several calls may run concurrently, also with List, but not with Fetch; they share the window of the connection. A call
// that ends early, by ctx or an error of deliver, does not end the session: its outstanding responses are dropped. A missing
// file is a *MissingObjectError, and one that ends early an *ObjectEndError; an error of the session ends all calls.
func (c *Client) Object(ctx context.Context, name string, offset, length int64, deliver func(data []byte) error) error {
	switch {
	case !c.Objects():
		return errNoObjects
	case !IsObjectName(name):
		return fmt.Errorf("%q is no name of a file in a release folder", name)
	case offset < 0 || length > math.MaxInt64-offset:
		return fmt.Errorf("%q: %d bytes from %d are no range", name, length, offset)
	}
	if told, err := c.told(name, offset, length, deliver); told {
		return err
	}
	want := offset + length
	if length < 0 {
		want = math.MaxInt64
	}
	call := &objectCall{name: name, next: offset, at: offset, want: want, end: want, open: length < 0, wake: make(chan struct{}, 1)}
	c.objects.begin(c, call)
	defer c.objects.leave(call)
	return call.run(ctx, c, deliver)
}

const (
	timestampName = "metadata/timestamp.json"
	rootSuffix    = ".root.json"
	// maxTold is the size of the largest accepted timestamp in an answer, in bytes; a release folder's has less than 4 KiB.
	maxTold = 16 << 10
)

// told serves a request from the server's answer: the timestamp, and the absence of a root. Both belong to the catalogue
// at the time of the handshake, and stay the same for the session.
func (c *Client) told(name string, offset, length int64, deliver func(data []byte) error) (told bool, err error) {
	if number, isRoot := strings.CutSuffix(strings.TrimPrefix(name, "metadata/"), rootSuffix); isRoot {
		newest, known := c.answer.Tags.Get(TagRoot)
		version, err := strconv.ParseUint(number, 10, 64)
		if known && len(newest) == 8 && err == nil && version > binary.LittleEndian.Uint64(newest) {
			return true, &MissingObjectError{Name: name}
		}
		return false, nil
	}
	data, known := c.answer.Tags.Get(TagTimestamp)
	if name != timestampName || !known || len(data) > maxTold {
		return false, nil
	}
	size := int64(len(data))
	from, to := min(offset, size), size
	if length >= 0 {
		to = min(offset+length, size)
	}
	if from < to {
		if err := deliver(bytes.Clone(data[from:to])); err != nil {
			return true, err
		}
	}
	if length > 0 && offset+length > size {
		return true, &ObjectEndError{Name: name, At: max(offset, size), Want: offset + length}
	}
	return true, nil
}

// run requests and delivers until the range is complete.
func (o *objectCall) run(ctx context.Context, c *Client, deliver func(data []byte) error) error {
	var last error // what ended the session; data that arrived before is still delivered
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, head, over, err := c.objects.step(c, o)
		if len(batch) > 0 {
			c.out.add(batch...)
		}
		switch {
		case head != nil:
			if err := c.objects.hand(c, o, head, deliver); err != nil {
				return err
			}
			continue
		case over:
			return err
		case last != nil:
			c.objects.broke(c, last)
			return last
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
		case <-c.done:
			last = c.err
		}
	}
}

// objectCall is one call of Object. Its desk's lock guards it.
type objectCall struct {
	name     string
	next, at int64 // where the next request begins, and the next delivery
	want     int64 // where the range should end; the largest number if unspecified
	end      int64 // the same, or the end of the file as far as known, if that is before
	open     bool  // the end of the range is unspecified, and the end of the file unknown
	absent   bool
	flying   int   // outstanding requests
	flight   int64 // their bytes
	held     int64 // bytes requested and not delivered
	queue    []*objectPart
	wake     chan struct{} // holds an element after a change
}

// objectPart is one request.
type objectPart struct {
	call         *objectCall // nil: the call has ended
	offset, size int64
	asked        time.Time // set for a request that measures a round trip; else zero
	data, frame  []byte
	arrived      bool
}

// objectDesk shares a session's connection among calls of Object. The session's reader passes responses to it and never
// blocks. The zero value is ready.
type objectDesk struct {
	mu      sync.Mutex
	spare   *spare
	stride  *Stride
	count   int   // outstanding requests at most
	portion int64 // bytes of one request at most
	most    int64 // bytes requested and not delivered at most; each call may exceed it by one request
	window  window
	number  uint32 // number of requests so far
	asked   map[uint32]*objectPart
	calls   map[*objectCall]struct{}
	flying  int
	flight  int64
	held    int64
	pending bool // a request that measures a round trip is outstanding
}

// begin registers a call.
func (d *objectDesk) begin(c *Client, call *objectCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked == nil {
		d.asked, d.calls = make(map[uint32]*objectPart), make(map[*objectCall]struct{})
		d.count, d.portion = c.pace()
		d.most, d.spare, d.stride = int64(c.opt.Buffer), &c.conn.in.spare, c.opt.Stride
		d.window = newWindow(d.most)
		d.stride.begin()
	}
	d.calls[call] = struct{}{}
}

// leave removes a call. Its outstanding responses are dropped on arrival.
func (d *objectDesk) leave(call *objectCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, call)
	d.held -= call.held
	for _, p := range call.queue {
		p.call = nil
		d.spare.give(p.frame)
	}
	d.wakeAll()
}

func (d *objectDesk) wakeAll() {
	for call := range d.calls {
		select {
		case call.wake <- struct{}{}:
		default:
		}
	}
}

// step returns the next actions of a call: requests to send, and a part to deliver, or the end with its error.
func (d *objectDesk) step(c *Client, o *objectCall) (batch []Message, head *objectPart, over bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(o.queue) > 0 && o.queue[0].arrived && !o.absent {
		head, o.queue = o.queue[0], o.queue[1:]
		return d.fill(c, o), head, false, nil
	}
	switch {
	case o.absent:
		return nil, nil, true, &MissingObjectError{Name: o.name}
	case o.at >= o.end:
		if o.at < o.want && o.want != math.MaxInt64 {
			err = &ObjectEndError{Name: o.name, At: o.at, Want: o.want}
		}
		return nil, nil, true, err
	default:
		return d.fill(c, o), nil, false, nil
	}
}

// fill requests as much as the call's share of the window allows, once a quarter of it is free. For a file of unknown
// size it sends a single request first: most such files are small.
func (d *objectDesk) fill(c *Client, o *objectCall) (batch []Message) {
	sharers := max(len(d.calls), 1)
	count, room := max(d.count/sharers, 1), d.window.bound()/int64(sharers)
	if o.flying > 0 && (o.flying > count*3/4 || o.flight > room*3/4) {
		return nil
	}
	for o.next < o.end && !o.absent && d.flying < d.count && o.flying < count && (o.flight < room || o.flying == 0) &&
		(d.held < d.most || o.held == 0) && !(o.open && o.next > o.at) {
		batch = append(batch, d.ask(c, o))
	}
	return batch
}

// ask creates the next request of a call.
func (d *objectDesk) ask(c *Client, o *objectCall) Message {
	share := max(d.window.size/int64(d.count), smallestPortion)
	if o.open {
		share = d.portion
	}
	p := &objectPart{call: o, offset: o.next, size: d.stride.ask(min(o.end-o.next, d.portion, share))}
	if !d.pending {
		d.pending, p.asked = true, time.Now()
	}
	number := firstObjectRequest + d.number%firstObjectRequest
	d.number++
	d.asked[number] = p
	o.queue = append(o.queue, p)
	o.next += p.size
	o.flying, o.flight, o.held = o.flying+1, o.flight+p.size, o.held+p.size
	d.flying, d.flight, d.held = d.flying+1, d.flight+p.size, d.held+p.size
	c.ledger.expect(ask{id: IDRangeData, request: number}, due{offset: uint64(p.offset), length: p.size, named: true})
	return &GetObject{Request: number, Name: o.name, Offset: uint64(p.offset), Length: uint32(p.size)}
}

// settled removes an outstanding request. The lock is held.
func (d *objectDesk) settled(number uint32) *objectPart {
	p := d.asked[number]
	delete(d.asked, number)
	d.flying, d.flight = d.flying-1, d.flight-p.size
	if p.call != nil {
		p.call.flying, p.call.flight = p.call.flying-1, p.call.flight-p.size
	}
	if !p.asked.IsZero() {
		d.pending = false
	}
	d.wakeAll()
	return p
}

// arrived handles the response to a request. The ledger has checked that it is expected and not too long.
func (d *objectDesk) arrived(number uint32, data, frame []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.settled(number)
	d.window.came(int64(len(data)), time.Now())
	if !p.asked.IsZero() {
		d.window.round(time.Since(p.asked))
	}
	if p.call == nil {
		d.spare.give(frame)
		return
	}
	p.data, p.frame, p.arrived = data, frame, true
	p.call.ended(p)
}

// ended detects the end of the file by a part shorter than requested.
func (o *objectCall) ended(p *objectPart) {
	if n := int64(len(p.data)); n < p.size {
		o.end = min(o.end, p.offset+n)
	}
	o.open = false
}

// missing handles the response that the file does not exist.
func (d *objectDesk) missing(number uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.settled(number); p.call != nil {
		p.call.absent = true
	}
}

// hand delivers a part and frees its buffer.
func (d *objectDesk) hand(c *Client, o *objectCall, p *objectPart, deliver func(data []byte) error) error {
	var err error
	if len(p.data) > 0 {
		err = deliver(p.data)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spare.give(p.frame)
	d.stride.delivered(p.size)
	o.at += int64(len(p.data))
	o.held, d.held = o.held-p.size, d.held-p.size
	d.wakeAll()
	return err
}

// broke records how the session ended.
func (d *objectDesk) broke(c *Client, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.opt.Stride.end(err)
}
