package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/session"
	"collet/platform/interrupt"
)

const (
	// deedTime is the time limit for one client's task. A download of some MB takes a fraction of a second.
	deedTime = 60 * time.Second
	// slowRead and slowPause make a reader of about 400 KB a second: slow, and faster than what the server lets go of.
	slowRead, slowPause = 8 << 10, 20 * time.Millisecond
	// leaveTime is how long a client that talks garbage listens to what comes of it.
	leaveTime = 300 * time.Millisecond
	// busyPing is how often a client asks that asks often.
	busyPing = 10 * time.Millisecond
)

// generations lists all generations.
func generations() []netproto.Generation {
	return []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b}
}

// pair is a generation over a transport.
type pair struct {
	generation netproto.Generation
	way        way
}

func (p pair) String() string { return fmt.Sprintf("%v over %s", p.generation, p.way.name) }

// pairs are all combinations.
func (h *host) pairs() (all []pair) {
	for _, g := range generations() {
		for _, w := range h.ways {
			all = append(all, pair{g, w})
		}
	}
	return all
}

// options are a client's.
func (p pair) options(target string) session.Options {
	return session.Options{
		Addr: p.way.addr, Dial: p.way.dialer.DialContext, Generation: p.generation, Compatibility: compatibility, Target: target,
		Log: zerolog.Nop(),
	}
}

// worker performs random tasks in sequence.
type worker struct {
	h      *host
	shelf  *shelf
	tally  *tally
	random *rand.Rand
	pairs  []pair // those that are still to come before all come again
}

// deeds returns the weighted tasks of a worker.
func (w *worker) deeds() []func(context.Context, pair) {
	download := func(ctx context.Context, p pair) { w.download(ctx, p, nil) }
	return []func(context.Context, pair){
		download, download, download, download, download,
		w.vanish, w.vanish, w.slow, w.garbage, w.garbage, w.ping, w.knock,
	}
}

// work runs until ctx ends.
func (w *worker) work(ctx context.Context, rest time.Duration) {
	deeds := w.deeds()
	for ctx.Err() == nil {
		if len(w.pairs) == 0 {
			w.pairs = w.h.pairs()
			w.random.Shuffle(len(w.pairs), func(i, j int) { w.pairs[i], w.pairs[j] = w.pairs[j], w.pairs[i] })
		}
		deeds[w.random.IntN(len(deeds))](ctx, w.pairs[0])
		w.pairs = w.pairs[1:]
		_ = interrupt.Sleep(ctx, time.Duration(w.random.ExpFloat64()*float64(rest)))
	}
}

// download fetches all files that a client of its kind is offered. between is called after every piece; its error ends the download on
// purpose.
func (w *worker) download(ctx context.Context, p pair, between func() error) {
	target := []string{linux, windows, mobile}[w.random.IntN(3)]
	o := p.options(target)
	if w.random.IntN(4) == 0 {
		o.Compatibility = outdated
	}
	o.Auto = w.random.IntN(4) == 0
	if o.Auto {
		o.Generation = netproto.C1
		p.generation = netproto.C1 // which every probe leads to here
	}
	since := w.shelf.currentView()
	got, err := w.fetch(ctx, o, since, between)
	var wrong *wrongError
	switch {
	case err == nil:
		w.tally.change(func(t *Tally) {
			if got == nil {
				t.Done["told to get another program"]++
				return
			}
			t.Pairs[p.String()]++
			t.Files += len(got.files)
			t.Bytes += got.total
		})
	case errors.Is(err, errAway):
		w.tally.did("went away in the middle")
	case errors.As(err, &wrong):
		w.tally.fault("%v: %v", p, err)
	case ctx.Err() != nil:
		w.tally.did("broken off by a pause")
	case !w.shelf.calm(since):
		w.tally.change(func(t *Tally) { t.Disturbed++ })
	default:
		w.tally.fault("%v, publication %d: %v", p, since.offers, err)
	}
}

// fetch is one session. It returns nil without an error if the server reported that the client can't update here.
func (w *worker) fetch(ctx context.Context, o session.Options, since view, between func() error) (*checked, error) {
	ctx, cancel := context.WithTimeout(ctx, deedTime)
	defer cancel()
	client, err := session.Dial(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	if !netproto.AllowsTransfer(client.Judgement().Verdict) {
		if o.Compatibility == outdated && o.Target == mobile {
			return nil, nil
		}
		return nil, fmt.Errorf("a client of %s for %s is told %v", o.Compatibility, o.Target, client.Judgement().Verdict)
	}
	offers, err := client.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	_, files, err := w.shelf.findPublication(since, o.Target, offers)
	if err != nil {
		return nil, err
	}
	got := &checked{files: files, at: make([]int, len(files))}
	err = client.Fetch(ctx, wholes(offers), func(i int, data []byte) error {
		if err := got.checkPart(i, data); err != nil || between == nil {
			return err
		}
		return between()
	})
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return got, got.whole()
}

// wholes requests every file completely.
func wholes(offers []session.Offer) []session.FetchRange {
	var ranges []session.FetchRange
	for _, o := range offers {
		ranges = append(ranges, session.FetchRange{Index: o.Index, Size: o.Size})
	}
	return ranges
}

// errAway is the error of a client that disconnects on purpose.
var errAway = errors.New("gone away")

// vanish disconnects after some pieces, while more are in transit.
func (w *worker) vanish(ctx context.Context, p pair) {
	left := w.random.IntN(5)
	w.download(ctx, p, func() error {
		if left--; left < 0 {
			return errAway
		}
		return nil
	})
}

// slow reads slowly for a while, then disconnects.
func (w *worker) slow(ctx context.Context, p pair) {
	inner := *p.way.dialer
	inner.Direct = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return dawdler{conn}, nil
	}
	p.way.dialer = &inner
	until := time.Now().Add(time.Second + time.Duration(w.random.IntN(1000))*time.Millisecond)
	w.tally.did("read slowly")
	w.download(ctx, p, func() error {
		if time.Now().After(until) {
			return errAway
		}
		return nil
	})
}

// dawdler is a connection with slow reads.
type dawdler struct{ net.Conn }

// Read implements net.Conn.
func (d dawdler) Read(data []byte) (int, error) {
	n, err := d.Conn.Read(data[:min(len(data), slowRead)])
	if n == slowRead {
		time.Sleep(slowPause)
	}
	return n, err
}

// ping only sends pings.
func (w *worker) ping(ctx context.Context, p pair) {
	o := p.options(linux)
	o.PingPeriod = busyPing
	client, err := session.Dial(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			w.tally.fault("%v, to ask pings: connect: %v", p, err)
		}
		return
	}
	defer client.Close()
	_ = interrupt.Sleep(ctx, time.Duration(w.random.IntN(500))*time.Millisecond)
	w.tally.did("asked pings")
}

// knock connects and disconnects.
func (w *worker) knock(ctx context.Context, p pair) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.way.addr)
	if err != nil {
		if ctx.Err() == nil {
			w.tally.fault("knock at the port for %s: %v", p.way.name, err)
		}
		return
	}
	conn.Close()
	w.tally.did("knocked")
}

// garbage sends invalid bytes, bare or over the transport, before or after a valid hello.
func (w *worker) garbage(ctx context.Context, p pair) {
	way := p.way
	if w.random.IntN(2) == 0 {
		way.dialer = &dial.Dialer{}
	}
	conn, letGo, err := way.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.tally.fault("connect over %s to talk garbage: %v", p.way.name, err)
		}
		return
	}
	defer letGo()
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(leaveTime))
	if p.generation == netproto.C1 && way.dialer == p.way.dialer {
		conn.Write(greeting(netproto.C1)) // the server may close at any byte
	}
	conn.Write(w.nonsense())
	io.Copy(io.Discard, conn)
	w.tally.did("talked garbage")
}

// nonsense returns different invalid bytes each time.
func (w *worker) nonsense() []byte {
	noise := make([]byte, 16+w.random.IntN(2000))
	for i := range noise {
		noise[i] = byte(w.random.Uint32())
	}
	begins := [][]byte{
		{},
		{0x22, 0x94, 0x1e, 0x01, 0xff, 0xff, 0xff, 0xff, 0x01}, // a message of 4 GiB
		{0x22, 0x94, 0x1e, 0x01, 0x10, 0x00, 0x00, 0x00, 0x01}, // a hello that can't be one
		[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		{0x16, 0x03, 0x01, 0x02, 0x00, 0x01}, // TLS begins like this
	}
	return slices.Concat(begins[w.random.IntN(len(begins))], noise)
}
