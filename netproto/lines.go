package netproto

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"collet/netproto/compat"
)

// On a line that loses packets one connection is slow, whatever its window: TCP takes every loss for a full line. Several
// connections share the losses. Only the server sees them, so it is the server who asks for more connections, by Spread;
// the client opens them and lets all of them take pieces of one plan. What one of them owes when it breaks goes to the
// others. The first connection remains the session: when it ends, everything does.
//
//	reader of the first ── Spread ──> owner of the others ── joined, lost ──> Fetch
//	                                        ^── there is enough left to fetch ──┘
const (
	// MaxLines is how many connections a server may make a client open in all. Under 1 % loss four of them were five
	// times as fast as one (perf reference, section 5); beyond eight they would only fight one another.
	MaxLines = 8
	// lineRequests is how many requests each connection but the first has unanswered at most. A connection that needs
	// company is slow: eight of its smallest requests are half a second of 1 % loss at 100 ms.
	lineRequests = 8
	// lineStart and lineFloor are in bytes what the window of each of several connections is at first, and what it is asked
	// for at least. Less than of a single one, because what the slowest of them still owes is what the others wait for.
	lineStart = 256 << 10
	lineFloor = 64 << 10
	// maxQueue is how many pieces of several connections are held at most, those that bring no bytes included: as many
	// as DefaultBuffer has room for of the smallest requests, and a few more.
	maxQueue = 2048
	// spreadWorth is how many bytes must be missing for more connections to be opened: those that one connection brings
	// at 1 % loss and 20 ms, about 1 MB/s, while the others are being opened.
	spreadWorth = 1 << 20
	// spreadWorthFile is how many more must be missing for each file of the list, which every connection brings again at
	// about 100 bytes a file.
	spreadWorthFile = 1 << 10
)

// line is one connection that takes part in a fetch. It is for the goroutine that fetches.
type line struct {
	c       *Client
	count   int   // requests unanswered at most
	portion int64 // bytes of one request at most
	window  window
	flying  int   // requests unanswered
	flight  int64 // bytes that they ask for
	pending bool  // a request that begins a round is unanswered
}

func newLine(c *Client, w window) *line {
	l := &line{c: c, window: w}
	l.count, l.portion = c.pace()
	return l
}

// resize gives the connection another window, which knows what the one before it learnt of the line: a request that is
// under way may have waited behind more than the new one would ask for, and is no measure.
func (l *line) resize(w window) {
	w.base, w.full = l.window.base, true
	l.window = w
}

// event is what Fetch is told about connections: one of the fields is set.
type event struct {
	asked  int     // the server asked for so many
	joined *Client // one was opened
	lost   *Client // one has ended, and what it brought lies in the channel of data
}

// maxEvents is how many there can be in the life of a session, so that telling never waits.
const maxEvents = 1 + 2*(MaxLines-1)

// spread takes what the server asks for. It runs on the session's reader, which is what makes it safe to add goroutines
// to those that Close waits for.
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

// company opens the other connections when Fetch says that it is worth while, and owns them until the session ends. They
// are opened one after the other: a server that refuses one is not asked again, and only one list is in memory at a time.
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

// attend waits for the end of a connection, closes it and tells.
func (c *Client) attend(other *Client) {
	select {
	case <-other.done:
		c.opt.Log.Info().Err(other.err).Str("peer", c.opt.Addr).Msg("one of several connections ended; the others go on")
	case <-c.done:
	}
	_ = other.Close() // always nil
	c.events <- event{lost: other}
}

// errOtherOffer says that another connection led to another server, or to the same one with another catalogue.
var errOtherOffer = errors.New("another connection is offered something else")

// another opens one of n connections. It is like the first, and must be offered the same.
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

// sameOffer reports whether two connections of one client were judged alike. What else they were told may differ: time passes.
func sameOffer(a, b compat.Judgement) bool {
	return a.Verdict == b.Verdict && a.Rule == b.Rule && a.Compatibility == b.Compatibility
}

// heed takes note of what happened to connections since the last time.
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

// widen lets connections be opened that the server asked for, once, if there is enough left for them to do.
func (f *fetch) widen() {
	c := f.c
	if c.wanted && c.offers != nil && f.left >= spreadWorth+int64(len(c.offers))*spreadWorthFile {
		c.wanted = false
		c.widen <- c.offers
	}
}

// join lets one more connection take part. The first one, which had the window of a single one, becomes one of several.
func (f *fetch) join(other *Client) {
	c := f.c
	top := int64(other.opt.Buffer)
	if len(c.lines) == 1 {
		c.lines[0].resize(newLineWindow(top))
	}
	c.lines = append(c.lines, newLine(other, newLineWindow(top)))
}

// lose takes what a connection owed back into the plan.
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

// drain takes what has arrived, without waiting.
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

// bounds is how many pieces may be in the queue, and how many bytes. What arrived over one connection waits for what
// comes over a slower one, so several of them may run ahead as far as memory allows.
func (f *fetch) bounds() (pieces int, bytes int64) {
	if first := f.c.lines[0]; len(f.c.lines) == 1 {
		return first.count, first.window.bound()
	}
	return maxQueue, int64(f.c.opt.Buffer)
}
