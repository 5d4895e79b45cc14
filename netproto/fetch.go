package netproto

import (
	"context"
	"fmt"
	"math"
	"time"
)

// FetchRange asks for the bytes [Offset, End) of a file. Size is the file's whole size as listed.
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

// check refuses a range that is not one.
func (r FetchRange) check() error {
	if r.Offset < 0 || r.Offset > r.end() || r.end() > r.Size {
		return fmt.Errorf("offset %d to %d of %d bytes", r.Offset, r.end(), r.Size)
	}
	return nil
}

// Fetch gets every range, in order, and hands the bytes over in order: all of reqs[0], then all of reqs[1]. A range of
// which nothing is missing is delivered once, with no bytes. deliver runs on the caller's goroutine, one call at a time,
// and must not keep data.
//
// In C1 a window of requests, sized to the line, is kept unanswered, across the borders of ranges, and what came before
// its turn waits. In
// an engine generation one portion is asked for at a time, also where nothing is missing, as the engine's clients do; such
// a server knows no ends, so what its last portion brings beyond the end of a range is dropped.
//
// An error of deliver is returned unchanged. It ends the session, like any other: requests may be unanswered. A
// cancelled ctx is noticed at once, but not inside deliver.
func (c *Client) Fetch(ctx context.Context, reqs []FetchRange, deliver func(i int, data []byte) error) error {
	if err := c.mayTransfer(); err != nil {
		return err
	}
	select {
	case <-c.done: // what an earlier call left unanswered may lie in the channels
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
	count   int // requests unanswered at most
	portion int64
	window  window
	held    int64 // bytes in queue
	pending bool  // a request that begins a round is unanswered
	file    int   // the plan: the range that the next piece comes from
	planned int64 // bytes of that range that have a piece already
	queue   []*piece
	asked   map[uint32]*piece
}

// engine asks for one portion at a time.
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
			if err := f.hand(i, data, got.frame); err != nil {
				return err
			}
			offset += int64(len(data))
		}
	}
	return nil
}

// hand delivers bytes and gives their memory back.
func (f *fetch) hand(i int, data, frame []byte) error {
	if len(data) == 0 {
		data = nil
	}
	if err := f.deliver(i, data); err != nil {
		return err
	}
	f.c.conn.in.spare.give(frame)
	return nil
}

// piece is one request of C1, or a range of which nothing is missing.
type piece struct {
	file    int
	offset  int64
	size    int64
	data    []byte
	frame   []byte
	arrived bool
	asked   time.Time // of a request that begins a round; else zero
}

// own keeps a window of requests and delivers from its head.
func (f *fetch) own(ctx context.Context) error {
	f.count, f.portion = f.c.pace()
	f.window = newWindow(int64(f.c.opt.Buffer))
	f.c.opt.Stride.begin()
	f.asked = make(map[uint32]*piece)
	for {
		f.fill()
		if len(f.queue) == 0 {
			return ctx.Err()
		}
		head := f.queue[0]
		for !head.arrived {
			if err := f.receive(ctx); err != nil {
				return err
			}
		}
		if err := f.hand(head.file, head.data, head.frame); err != nil {
			return err
		}
		f.c.opt.Stride.delivered(head.size)
		f.held -= head.size
		f.queue[0], f.queue = nil, f.queue[1:]
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// receive takes the next answer and finds its piece.
func (f *fetch) receive(ctx context.Context) error {
	got, err := f.c.await(ctx, f.c.data)
	if err != nil {
		return err
	}
	m := got.message.(*RangeData)
	p := f.asked[m.Request]
	delete(f.asked, m.Request)
	p.data, p.frame, p.arrived = m.Data, got.frame, true
	if !p.asked.IsZero() {
		f.window.round(time.Since(p.asked))
		f.pending = false
	}
	return nil
}

// fill plans pieces until the window is full, and asks for all of them in one batch. It waits until there is room for a
// quarter of a window, so that neither side wakes up for every single request.
func (f *fetch) fill() {
	if len(f.queue) > f.count*3/4 || f.held > f.window.size*3/4 {
		return
	}
	var batch []Message
	for len(f.queue) < f.count && f.held < f.window.size && f.file < len(f.reqs) {
		p := f.plan()
		f.queue, f.held = append(f.queue, p), f.held+p.size
		if p.arrived {
			continue
		}
		if !f.pending {
			f.pending, p.asked = true, time.Now()
		}
		f.c.request++
		f.asked[f.c.request] = p
		m := &GetRange{Request: f.c.request, Index: f.reqs[p.file].Index, Offset: uint64(p.offset), Length: uint32(p.size)}
		f.c.ledger.expect(ask{id: IDRangeData, request: m.Request}, due{offset: m.Offset, length: p.size})
		batch = append(batch, m)
	}
	if len(batch) > 0 {
		f.c.out.add(batch...)
	}
}

// plan cuts the next piece off the ranges.
func (f *fetch) plan() *piece {
	r := f.reqs[f.file]
	p := &piece{file: f.file, offset: r.Offset + f.planned}
	share := max(f.window.size/int64(f.count), smallestPortion)
	if p.size = min(r.end()-p.offset, f.portion, share); p.size > 0 {
		p.size = f.c.opt.Stride.ask(p.size)
	}
	p.arrived = p.size == 0
	if f.planned += p.size; r.Offset+f.planned == r.end() {
		f.file, f.planned = f.file+1, 0
	}
	return p
}

// pace is how many requests of C1 may be unanswered and how many bytes each asks for: within what the server allows,
// and together not more than the buffer.
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
