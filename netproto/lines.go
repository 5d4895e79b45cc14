package netproto

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"collet/netproto/compat"
)

// On a path with packet loss one connection is slow, whatever its window: TCP treats every loss as congestion. Several
// connections share the losses. Only the server sees them, so the server requests more connections with Spread. The
// client opens them, and all of them take pieces of one plan. The outstanding pieces of a broken connection are
// reassigned. The first connection remains the session: its end ends all.
//
//	reader of the first ── Spread ──> owner of the others ── joined, lost ──> Fetch
//	                                        ^── there is enough left to fetch ──┘
const (
	// MaxLines is the largest total number of connections that a server may request. Under 1 % loss four of them were
	// five times as fast as one (perf reference, section 5); beyond eight they would only compete.
	MaxLines = 8
	// lineRequests is the largest number of outstanding requests on each connection but the first. Such connections are
	// slow: eight of the smallest requests are half a second at 1 % loss and 100 ms.
	lineRequests = 8
	// lineStart and lineFloor are the initial and the smallest window of each of several connections, in bytes. They are
	// smaller than for a single one, because all connections wait for the outstanding data of the slowest.
	lineStart = 256 << 10
	lineFloor = 64 << 10
	// maxQueue is the largest number of pieces queued for several connections, including empty ones: the number of
	// smallest requests in DefaultBuffer, with a margin.
	maxQueue = 2048
	// spreadWorth is how many bytes must be missing for more connections to pay off: the amount that one connection
	// transfers while the others are opened, at 1 % loss and 20 ms, about 1 MB/s.
	spreadWorth = 1 << 20
	// spreadWorthFile is the addition to it for each file of the list, which every connection receives again at about
	// 100 bytes a file.
	spreadWorthFile = 1 << 10
)

// line is one connection of a fetch. It belongs to the fetching goroutine.
type line struct {
	c       *Client
	count   int   // outstanding requests at most
	portion int64 // bytes of one request at most
	window  window
	flying  int   // outstanding requests
	flight  int64 // their bytes
	pending bool  // a request that measures a round trip is outstanding
}

func newLine(c *Client, w window) *line {
	l := &line{c: c, window: w}
	l.count, l.portion = c.pace()
	return l
}

// resize gives the connection another window that keeps the measured round trip. It counts as full once: a request in
// flight may have queued behind more than the new window, and its time is not comparable.
func (l *line) resize(w window) {
	w.base, w.full = l.window.base, true
	l.window = w
}

// event is a message to Fetch about connections: exactly one field is set.
type event struct {
	asked  int     // the requested number of connections
	joined *Client // a new connection
	lost   *Client // a connection that ended; its data is already in the channel
}

// maxEvents is the largest number of events in a session, so that sending one never blocks.
const maxEvents = 1 + 2*(MaxLines-1)

// spread handles the server's request. It runs on the session's reader; that makes it safe to add goroutines to those
// that Close waits for.
func (c *Client) spread(m *Spread, size int) error {
	if !c.spreads {
		return &FormatError{Message: m.ID(), Field: "message", Offset: c.conn.in.offset - int64(size), Err: errUnasked}
	}
	c.spreads = false
	n := min(int(m.Connections), c.opt.Lines)
	c.opt.Log.Debug().Str("peer", c.opt.Addr).Uint8("asked", m.Connections).Int("allowed", n).Msg("the server asks for more connections")
	if n > 1 {
		c.events <- event{asked: n}
		c.work.Go(func() { c.company(n) })
	}
	return nil
}

// company opens the other connections when Fetch allows it, and owns them until the session ends. It opens them one
// after the other: after a refusal it stops, and only one list is in memory at a time.
func (c *Client) company(n int) {
	var offers []Offer
	select {
	case offers = <-c.widen:
	case <-c.done:
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { <-c.done; cancel() })
	opened := 1
	for ; opened < n; opened++ {
		other, err := c.another(ctx, n, offers)
		if err != nil && ctx.Err() == nil {
			c.opt.Log.Info().Err(err).Str("peer", c.opt.Addr).Int("connection", opened+1).Msg("no further connection to the server")
		}
		if err != nil {
			break
		}
		c.events <- event{joined: other}
		work.Go(func() { c.attend(other) })
	}
	if opened > 1 {
		c.opt.Log.Info().Str("peer", c.opt.Addr).Int("connections", opened).Msg("the line loses packets: fetching over several connections")
	}
}

// attend waits for the end of a connection, closes it and sends an event.
func (c *Client) attend(other *Client) {
	select {
	case <-other.done:
		c.opt.Log.Info().Err(other.err).Str("peer", c.opt.Addr).Msg("one of several connections ended; the others go on")
	case <-c.done:
	}
	_ = other.Close() // always nil
	c.events <- event{lost: other}
}

// errOtherOffer says that another connection reached another server, or another catalogue of the same server.
var errOtherOffer = errors.New("another connection is offered something else")

// another opens one of n connections. It uses the same options, and must receive the same offers.
func (c *Client) another(ctx context.Context, n int, offers []Offer) (*Client, error) {
	opt := c.opt.anonymous()
	opt.Generation, opt.Auto, opt.Lines, opt.Stride = C1, false, 1, nil
	opt.Window, opt.Buffer, opt.data = min(opt.Window, lineRequests), max(opt.Buffer/n, 1), c.data
	other, err := open(ctx, opt)
	if err != nil {
		return nil, err
	}
	theirs, err := other.List(ctx)
	if err == nil && (!sameOffer(other.judgement, c.judgement) || other.answer.MaxPortion != c.answer.MaxPortion || !slices.Equal(theirs, offers)) {
		err = errOtherOffer
	}
	if err != nil {
		_ = other.Close() // always nil
		return nil, err
	}
	other.offers = nil
	return other, nil
}

// sameOffer reports whether two connections of one client have the same verdict. Other parts of the answer may change over time.
func sameOffer(a, b compat.Judgement) bool {
	return a.Verdict == b.Verdict && a.Rule == b.Rule && a.Compatibility == b.Compatibility
}

// heed handles the pending events of connections.
func (f *fetch) heed() {
	for {
		select {
		case e := <-f.c.events:
			f.note(e)
		default:
			f.widen()
			return
		}
	}
}

func (f *fetch) note(e event) {
	switch {
	case e.joined != nil:
		f.join(e.joined)
	case e.lost != nil:
		f.lose(e.lost)
	default:
		f.c.wanted = true
	}
}

// widen allows the requested connections to be opened, once, if enough data is left.
func (f *fetch) widen() {
	c := f.c
	if c.wanted && c.offers != nil && f.left >= spreadWorth+int64(len(c.offers))*spreadWorthFile {
		c.wanted = false
		c.widen <- c.offers
	}
}

// join adds a connection. The first one then gets the window for one of several.
func (f *fetch) join(other *Client) {
	c := f.c
	top := int64(other.opt.Buffer)
	if len(c.lines) == 1 {
		c.lines[0].resize(newLineWindow(top))
	}
	c.lines = append(c.lines, newLine(other, newLineWindow(top)))
}

// lose puts the outstanding pieces of a connection back into the plan.
func (f *fetch) lose(other *Client) {
	c := f.c
	f.drain()
	for _, p := range f.queue {
		if p.on != nil && p.on.c == other && !p.arrived {
			delete(f.asked, p.request)
			p.on, p.asked = nil, time.Time{}
		}
	}
	c.lines = slices.DeleteFunc(c.lines, func(l *line) bool { return l.c == other })
	if len(c.lines) == 1 {
		c.lines[0].resize(newWindow(int64(c.opt.Buffer)))
	}
	f.back = f.back[:0]
	for _, p := range f.queue {
		if p.on == nil && !p.arrived {
			f.back = append(f.back, p)
		}
	}
}

// drain handles the received answers without waiting.
func (f *fetch) drain() {
	for {
		select {
		case got := <-f.c.data:
			f.arrived(got)
		default:
			return
		}
	}
}

// bounds is the largest number of pieces in the queue, and of their bytes. Data of a fast connection waits for that of a
// slower one, so several connections may run ahead as far as the buffer allows.
func (f *fetch) bounds() (pieces int, bytes int64) {
	if first := f.c.lines[0]; len(f.c.lines) == 1 {
		return first.count, first.window.bound()
	}
	return maxQueue, int64(f.c.opt.Buffer)
}
