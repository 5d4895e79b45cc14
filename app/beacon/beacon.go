// Package beacon tells the publisher, at an address that the settings name, how updates and starts went: one line of figures without an id
// (package netproto/beacon; docs/PRIVACY.md).
//
// A Teller never delays a start or an update, and nothing fails because of it: each beacon is one attempt in the background with a time limit. A
// beacon that can't be sent is lost; nothing is kept for later. Only the end of the process waits, at most until Grace after the last
// event. Without an address there is no Teller: a nil one does nothing.
package beacon

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/acquire"
	"collet/app/settings"
	"collet/app/update"
	"collet/netproto/beacon"
	"collet/netproto/dial"
)

const (
	// timeout limits a beacon, with the connection to its server.
	timeout = 5 * time.Second
	// Grace is how long after an event the end of the process waits for its beacon: some round trips to another continent.
	Grace = time.Second
	// maxSent is how many beacons one process sends. A player who tries again and again makes no flood.
	maxSent = 50
	// maxAnswer is how many bytes of an answer are read, so that HTTP/1.1 connections end in order.
	maxAnswer = 4 << 10
)

// Options say where beacons go and what they have in common.
type Options struct {
	Address         string // as settings.BeaconFault accepts it; empty or settings.BeaconOff: nowhere
	Target, Channel string
	Dialer          *dial.Dialer // nil: no way leads there that is allowed
	TLS             *tls.Config  // nil: the system's authorities
	Log             zerolog.Logger
}

// Teller sends beacons. A nil Teller sends none. It is safe for concurrent use.
type Teller struct {
	o      Options
	client *http.Client
	ctx    context.Context // of all requests; see Close
	cancel context.CancelFunc
	under  sync.WaitGroup // requests under way

	mu        sync.Mutex
	sent      int
	last      time.Time // of the last event
	installed uint64    // number of the installed release; 0 is unknown
	before    uint64    // the one that it replaced in this process
}

// New returns a Teller, or nil where no beacons are sent. The caller calls Close.
func New(o Options) *Teller {
	if o.Address == "" || o.Address == settings.BeaconOff || o.Dialer == nil {
		return nil
	}
	t := &Teller{o: o}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.client = &http.Client{
		Transport: &http.Transport{TLSClientConfig: o.TLS, DisableKeepAlives: true, DisableCompression: true, DialContext: t.dial}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t
}

// dial connects. The transport would go on with it after the end of a request.
func (t *Teller) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	return t.o.Dialer.DialContext(ctx, network, addr)
}

// Close waits for beacons under way until Grace after the last event, and then gives them up.
func (t *Teller) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	left := time.Until(t.last.Add(Grace))
	t.mu.Unlock()
	late := time.AfterFunc(left, t.cancel)
	defer late.Stop()
	t.under.Wait()
	t.cancel()
}

// Updated tells how an update attempt ended. One that finds nothing new tells nothing, and so does one of a release that is blocked here.
func (t *Teller) Updated(s update.Status, r acquire.Report, took time.Duration) {
	if t == nil || s.Outcome == update.Redirected {
		return
	}
	b := beacon.Beacon{Kind: beacon.Update, Release: r.Release.Number, From: r.From, Outcome: word(s), Strategy: strategy(r), Bytes: r.Fetched, Seconds: seconds(took)}
	news := r.Release.Number != r.From || b.Strategy != beacon.NoStrategy || b.Outcome != beacon.Ready
	t.mu.Lock()
	if t.installed == 0 {
		t.installed = r.From
	}
	if b.Outcome == beacon.Ready && !s.Blocked && r.Release.Number != t.installed {
		t.before, t.installed = r.From, r.Release.Number
	}
	t.mu.Unlock()
	if news && !s.Blocked {
		t.send(b)
	}
}

// Started tells that the game has proven that it runs, after a time. first means that its release had not proven itself before.
func (t *Teller) Started(first bool, after time.Duration) {
	kind := beacon.Start
	if first {
		kind = beacon.First
	}
	t.start(kind, beacon.Confirmed, after)
}

// Failed tells that a first start failed, or that nothing is known of how it ended.
func (t *Teller) Failed() { t.start(beacon.First, beacon.Failed, 0) }

// start tells of a start of the installed release, where its number is known.
func (t *Teller) start(kind beacon.Kind, outcome string, after time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	b := beacon.Beacon{Kind: kind, Release: t.installed, Outcome: outcome, Strategy: beacon.NoStrategy, Seconds: seconds(after)}
	if kind == beacon.First {
		b.From = t.before
	}
	t.mu.Unlock()
	if b.Release != 0 {
		t.send(b)
	}
}

// send sends a beacon in the background.
func (t *Teller) send(b beacon.Beacon) {
	b.Target, b.Channel = t.o.Target, t.o.Channel
	query, err := b.Encode()
	if err != nil {
		t.o.Log.Debug().Err(err).Msg("no beacon has these figures")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent++; t.sent > maxSent || t.ctx.Err() != nil {
		return
	}
	t.last = time.Now()
	t.under.Go(func() {
		if err := t.get(query); err != nil {
			t.o.Log.Info().Err(err).Str("beacon", query).Msg("beacon not sent; it is not sent again")
			return
		}
		t.o.Log.Info().Str("beacon", query).Msg("beacon sent to the address of Release.Beacon")
	})
}

// get makes one request.
func (t *Teller) get(query string) error {
	r, err := http.NewRequestWithContext(t.ctx, http.MethodGet, t.o.Address+"?"+query, nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "Collet") // without a version, which tells more than the figures
	answer, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.CopyN(io.Discard, answer.Body, maxAnswer)
	if err == io.EOF {
		return nil
	}
	return err
}

// word is the outcome of an update. What is staged is there when the attempt goes on.
func word(s update.Status) string {
	if s.Outcome == update.BinariesStaged {
		return beacon.Ready
	}
	cause := update.NoCause
	if s.Fault != nil {
		cause = s.Fault.Cause
	}
	return strings.TrimPrefix(update.EndOf(s.Outcome, cause).Key, "end.")
}

// strategy is the one that most bytes came by. Copies on the disk count only if nothing else did.
func strategy(r acquire.Report) string {
	most := beacon.NoStrategy
	received := func(by string) int64 {
		if by == string(acquire.Copied) {
			return min(r.Bytes[acquire.Copied], 1)
		}
		return r.Bytes[acquire.Strategy(by)]
	}
	for _, by := range beacon.Strategies() {
		if received(by) > received(most) {
			most = by
		}
	}
	return most
}

// seconds are whole seconds, at least 0.
func seconds(d time.Duration) int64 { return max(int64(d/time.Second), 0) }
