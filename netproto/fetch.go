package netproto

import (
	"context"
	"fmt"
	"math"
	"time"
)

// FetchRange requests the bytes [Offset, End) of a file. Size is the file's whole size as listed.
type FetchRange struct {
	Index  uint32
	Offset int64
	Size   int64
	End    int64 // 0 means Size
}

// end is where the range ends.
func (r FetchRange) end() int64 {
	if r.End == 0 {
		return r.Size
	}
	return r.End
}

// check rejects an invalid range.
func (r FetchRange) check() error {
	if r.Offset < 0 || r.Offset > r.end() || r.end() > r.Size {
		return fmt.Errorf("offset %d to %d of %d bytes", r.Offset, r.end(), r.Size)
	}
	return nil
}

// Fetch fetches the ranges and delivers their bytes in order: all of reqs[0], then all of reqs[1]. An empty range is
// delivered once, with no bytes. deliver runs on the caller's goroutine, one call at a time, and must not keep data.
//
// In C1 a window of outstanding requests, sized to the path, spans several ranges. Responses that arrive out of order
// are buffered. In an engine generation one portion is requested at a time, even for an empty range, as the engine's
// clients do. Engine requests have no end, so surplus bytes of the last portion are dropped.
//
// An error of deliver is returned unchanged. It ends the session like any other error, because requests may be
// outstanding. A cancelled ctx takes effect at once, except inside deliver.
func (c *Client) Fetch(ctx context.Context, reqs []FetchRange, deliver func(i int, data []byte) error) error {
	if err := c.mayTransfer(); err != nil {
		return err
	}
	select {
	case <-c.done: // the channels may still hold answers to an earlier call
		return c.err
	default:
	}
	for i, r := range reqs {
		if err := r.check(); err != nil {
			return fmt.Errorf("range %d: %w", i, err)
		}
	}
	f := &fetch{c: c, reqs: reqs, deliver: deliver}
	run := f.own
	if c.Generation().Engine() {
		run = f.engine
	}
	err := run(ctx)
	if err != nil {
		c.opt.Stride.end(err)
		c.end(err)
	}
	return err
}

// fetch is one call of Fetch.
type fetch struct {
	c       *Client
	reqs    []FetchRange
	deliver func(i int, data []byte) error

	// C1 only
	held    int64 // bytes in queue
	file    int   // the plan: the range of the next piece
	planned int64 // bytes of that range that are already planned
	left    int64 // bytes of all ranges that are not planned yet
	queue   []*piece
	back    []*piece // pieces of queue to request again, because their connection ended
	asked   map[uint32]*piece
}

// engine requests one portion at a time.
func (f *fetch) engine(ctx context.Context) error {
	for i, r := range f.reqs {
		for offset, first := r.Offset, true; first || offset < r.end(); first = false {
			f.c.ledger.expect(ask{id: IDUpdateFileData}, due{length: r.Size - offset})
			f.c.out.add(&GetUpdateFile{Index: r.Index, Offset: uint64(offset)})
			got, err := f.c.await(ctx, f.c.data)
			if err != nil {
				return err
			}
			data := got.message.(*UpdateFileData).Data
			data = data[:min(int64(len(data)), r.end()-offset)]
			if err := f.hand(f.c, i, data, got.frame); err != nil {
				return err
			}
			offset += int64(len(data))
		}
	}
	return nil
}

// hand delivers bytes received by c and frees their buffer.
func (f *fetch) hand(c *Client, i int, data, frame []byte) error {
	if len(data) == 0 {
		data = nil
	}
	if err := f.deliver(i, data); err != nil {
		return err
	}
	c.conn.in.spare.give(frame)
	return nil
}

// piece is one request of C1, or an empty range.
type piece struct {
	file    int
	offset  int64
	size    int64
	on      *line  // the connection of the request; nil before the request, and for an empty range
	request uint32 // its number
	data    []byte
	frame   []byte
	arrived bool
	asked   time.Time // set for a request that measures a round trip; else zero
}

// own keeps a window of requests on each connection and delivers from the head of the queue.
func (f *fetch) own(ctx context.Context) error {
	c := f.c
	if len(c.lines) < 2 {
		c.lines = []*line{newLine(c, newWindow(int64(c.opt.Buffer)))}
	}
	for _, r := range f.reqs {
		f.left += r.end() - r.Offset
	}
	c.opt.Stride.begin()
	f.asked = make(map[uint32]*piece)
	for {
		f.heed()
		f.fill()
		if len(f.queue) == 0 {
			return ctx.Err()
		}
		step := f.receive
		if f.queue[0].arrived {
			step = f.pass
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
}

// pass delivers the head of the queue.
func (f *fetch) pass(ctx context.Context) error {
	head, by := f.queue[0], f.c
	if head.on != nil {
		by = head.on.c
	}
	if err := f.hand(by, head.file, head.data, head.frame); err != nil {
		return err
	}
	f.c.opt.Stride.delivered(head.size)
	f.held -= head.size
	f.queue[0], f.queue = nil, f.queue[1:]
	if len(f.c.lines) > 1 {
		f.drain() // the other connections can continue without waiting for the head
	}
	return ctx.Err()
}

// receive waits for the next answer, or for an event of a connection.
func (f *fetch) receive(ctx context.Context) error {
	select {
	case e := <-f.c.events:
		f.note(e)
		return nil
	case got := <-f.c.data:
		f.arrived(got)
		return nil
	case <-ctx.Done():
	case <-f.c.done:
	}
	got, err := f.c.await(ctx, f.c.data)
	if err == nil {
		f.arrived(got)
	}
	return err
}

// arrived assigns an answer to its piece.
func (f *fetch) arrived(got arrival) {
	m := got.message.(*RangeData)
	p := f.asked[m.Request]
	delete(f.asked, m.Request)
	p.data, p.frame, p.arrived = m.Data, got.frame, true
	l := p.on
	l.flying, l.flight = l.flying-1, l.flight-p.size
	l.window.came(p.size, time.Now())
	if !p.asked.IsZero() {
		l.window.round(time.Since(p.asked))
		l.pending = false
	}
}

// fill sends requests on every connection with room.
func (f *fetch) fill() {
	for _, l := range f.c.lines {
		f.fillLine(l)
	}
}

// fillLine plans pieces until the window of l is full, and requests all of them in one batch. It waits until a quarter
// of the window is free, so that neither side wakes up for every single request. Pieces of a lost connection come first
// and always, because one may be the head of a full queue.
func (f *fetch) fillLine(l *line) {
	pieces, bytes := f.bounds()
	room := l.window.bound()
	fresh := len(f.queue) <= pieces*3/4 && f.held <= bytes*3/4
	if l.flying > l.count*3/4 || l.flight > room*3/4 || !fresh && len(f.back) == 0 {
		return
	}
	var batch []Message
	for l.flying < l.count && l.flight < room {
		var p *piece
		switch {
		case len(f.back) > 0:
			p, f.back = f.back[0], f.back[1:]
		case fresh && len(f.queue) < pieces && f.held < bytes && f.file < len(f.reqs):
			p = f.plan(l)
			f.queue, f.held = append(f.queue, p), f.held+p.size
		}
		if p == nil {
			break
		}
		if !p.arrived {
			batch = append(batch, f.ask(l, p))
		}
	}
	if len(batch) > 0 {
		l.c.out.add(batch...)
	}
}

// ask returns the request for p and assigns it to l. All connections share one sequence of request numbers.
func (f *fetch) ask(l *line, p *piece) *GetRange {
	if !l.pending {
		l.pending, p.asked = true, time.Now()
	}
	f.c.request++
	p.on, p.request = l, f.c.request
	f.asked[p.request] = p
	l.flying, l.flight = l.flying+1, l.flight+p.size
	m := &GetRange{Request: p.request, Index: f.reqs[p.file].Index, Offset: uint64(p.offset), Length: uint32(p.size)}
	l.c.ledger.expect(ask{id: IDRangeData, request: m.Request}, due{offset: m.Offset, length: p.size})
	return m
}

// plan takes the next piece from the ranges, in a size for l.
func (f *fetch) plan(l *line) *piece {
	r := f.reqs[f.file]
	p := &piece{file: f.file, offset: r.Offset + f.planned}
	share := l.window.size
	if len(f.c.lines) > 1 {
		share = l.window.bound() // limits what a slow connection can delay
	}
	share = max(share/int64(l.count), smallestPortion)
	if p.size = min(r.end()-p.offset, l.portion, share); p.size > 0 {
		p.size = f.c.opt.Stride.ask(p.size)
	}
	p.arrived = p.size == 0
	f.left -= p.size
	if f.planned += p.size; r.Offset+f.planned == r.end() {
		f.file, f.planned = f.file+1, 0
	}
	return p
}

// pace returns how many requests of C1 may be outstanding and how many bytes each asks for: within the server's limits,
// and together within the buffer.
func (c *Client) pace() (window int, portion int64) {
	window = min(c.opt.Window, int(c.answer.MaxInFlight))
	if c.answer.Capabilities&CapPipeline == 0 {
		window = 1
	}
	const overhead = frameHeader + 4 + 8 + 4
	portion = min(max(int64(c.opt.Buffer/window), smallestPortion), largestPortion)
	portion = min(portion, int64(c.answer.MaxPortion), max(int64(c.opt.Limits.Frame-overhead), 1), math.MaxUint32)
	return window, portion
}
