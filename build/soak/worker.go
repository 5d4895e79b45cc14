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
	// taskTime is the time limit for one client's task. A download of some MB takes a fraction of a second.
	taskTime = 60 * time.Second
	// slowRead and slowPause make a reader of about 400 KB a second: slow, and faster than the server requires.
	slowRead, slowPause = 8 << 10, 20 * time.Millisecond
	// leaveTime is how long a client that sends invalid bytes reads the answer.
	leaveTime = 300 * time.Millisecond
	// busyPing is the period of the pings of sendPings.
	busyPing = 10 * time.Millisecond
)

// generations lists all generations.
func generations() []netproto.Generation {
	return []netproto.Generation{netproto.C1, netproto.G1, netproto.G2a, netproto.G2b}
}

// pair is a generation over a transport.
type pair struct {
	generation netproto.Generation
	transport  transport
}

func (p pair) String() string { return fmt.Sprintf("%v over %s", p.generation, p.transport.name) }

// pairs are all combinations.
func (h *host) pairs() (all []pair) {
	for _, g := range generations() {
		for _, w := range h.transports {
			all = append(all, pair{g, w})
		}
	}
	return all
}

// options are a client's.
func (p pair) options(target string) session.Options {
	return session.Options{
		Addr: p.transport.addr, Dial: p.transport.dialer.DialContext, Generation: p.generation, Compatibility: compatibility, Target: target,
		Log: zerolog.Nop(),
	}
}

// worker performs random tasks in sequence.
type worker struct {
	h      *host
	folder *packageFolder
	counts *counter
	random *rand.Rand
	pairs  []pair // those that are still to come before all come again
}

// tasks returns the weighted tasks of a worker.
func (w *worker) tasks() []func(context.Context, pair) {
	download := func(ctx context.Context, p pair) { w.download(ctx, p, nil) }
	return []func(context.Context, pair){
		download, download, download, download, download,
		w.disconnect, w.disconnect, w.readSlowly, w.sendInvalid, w.sendInvalid, w.sendPings, w.connectOnly,
	}
}

// work runs until ctx ends.
func (w *worker) work(ctx context.Context, rest time.Duration) {
	tasks := w.tasks()
	for ctx.Err() == nil {
		if len(w.pairs) == 0 {
			w.pairs = w.h.pairs()
			w.random.Shuffle(len(w.pairs), func(i, j int) { w.pairs[i], w.pairs[j] = w.pairs[j], w.pairs[i] })
		}
		tasks[w.random.IntN(len(tasks))](ctx, w.pairs[0])
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
	since := w.folder.currentView()
	got, err := w.fetch(ctx, o, since, between)
	var wrong *wrongError
	switch {
	case err == nil:
		w.counts.change(func(n *Counts) {
			if got == nil {
				n.Done["told to update its program"]++
				return
			}
			n.Pairs[p.String()]++
			n.Files += len(got.files)
			n.Bytes += got.total
		})
	case errors.Is(err, errAway):
		w.counts.did("disconnected during a download")
	case errors.As(err, &wrong):
		w.counts.fault("%v: %v", p, err)
	case ctx.Err() != nil:
		w.counts.did("ended by a pause")
	case !w.folder.unchangedSince(since):
		w.counts.change(func(n *Counts) { n.Disturbed++ })
	default:
		w.counts.fault("%v, publication %d: %v", p, since.offers, err)
	}
}

// fetch is one session. It returns nil without an error if the server reported that the client can't update here.
func (w *worker) fetch(ctx context.Context, o session.Options, since view, between func() error) (*checked, error) {
	ctx, cancel := context.WithTimeout(ctx, taskTime)
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
	_, files, err := w.folder.findPublication(since, o.Target, offers)
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

// disconnect disconnects after some pieces, while more are in transit.
func (w *worker) disconnect(ctx context.Context, p pair) {
	left := w.random.IntN(5)
	w.download(ctx, p, func() error {
		if left--; left < 0 {
			return errAway
		}
		return nil
	})
}

// readSlowly downloads slowly for a while, then disconnects.
func (w *worker) readSlowly(ctx context.Context, p pair) {
	inner := *p.transport.dialer
	inner.Direct = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return slowReader{conn}, nil
	}
	p.transport.dialer = &inner
	until := time.Now().Add(time.Second + time.Duration(w.random.IntN(1000))*time.Millisecond)
	w.counts.did("read slowly")
	w.download(ctx, p, func() error {
		if time.Now().After(until) {
			return errAway
		}
		return nil
	})
}

// slowReader is a connection with slow reads.
type slowReader struct{ net.Conn }

// Read implements net.Conn.
func (d slowReader) Read(data []byte) (int, error) {
	n, err := d.Conn.Read(data[:min(len(data), slowRead)])
	if n == slowRead {
		time.Sleep(slowPause)
	}
	return n, err
}

// sendPings only sends pings.
func (w *worker) sendPings(ctx context.Context, p pair) {
	o := p.options(linux)
	o.PingPeriod = busyPing
	client, err := session.Dial(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			w.counts.fault("%v, to send pings: connect: %v", p, err)
		}
		return
	}
	defer client.Close()
	_ = interrupt.Sleep(ctx, time.Duration(w.random.IntN(500))*time.Millisecond)
	w.counts.did("sent pings")
}

// connectOnly connects and disconnects.
func (w *worker) connectOnly(ctx context.Context, p pair) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.transport.addr)
	if err != nil {
		if ctx.Err() == nil {
			w.counts.fault("connect over %s, to disconnect: %v", p.transport.name, err)
		}
		return
	}
	conn.Close()
	w.counts.did("connected and disconnected")
}

// sendInvalid sends invalid bytes, bare or over the transport, before or after a valid hello.
func (w *worker) sendInvalid(ctx context.Context, p pair) {
	via := p.transport
	if w.random.IntN(2) == 0 {
		via.dialer = &dial.Dialer{}
	}
	conn, detach, err := via.dial(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.counts.fault("connect over %s to send invalid bytes: %v", p.transport.name, err)
		}
		return
	}
	defer detach()
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(leaveTime))
	if p.generation == netproto.C1 && via.dialer == p.transport.dialer {
		conn.Write(encodeHello(netproto.C1)) // the server may close at any byte
	}
	conn.Write(w.invalidBytes())
	io.Copy(io.Discard, conn)
	w.counts.did("sent invalid bytes")
}

// invalidBytes returns different invalid bytes each time.
func (w *worker) invalidBytes() []byte {
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
