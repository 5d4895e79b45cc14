package beacon_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"collet/app/acquire"
	told "collet/app/beacon"
	"collet/app/settings"
	"collet/app/update"
	"collet/netproto/beacon"
	"collet/netproto/dial"
	"collet/netproto/release"
)

// options send to a server in this process.
func options(t *testing.T) (o told.Options, received chan *http.Request) {
	received = make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received <- r
		w.WriteHeader(http.StatusNotFound) // of a CDN without such a file, whose log is enough
	}))
	t.Cleanup(server.Close)
	return told.Options{Address: server.URL + "/beacon", Target: "Linux-x64", Channel: "stable", Dialer: &dial.Dialer{}, Log: zerolog.Nop()}, received
}

// report is that of an attempt to get a release.
func report(number, from uint64, by acquire.Strategy, bytes int64) acquire.Report {
	r := acquire.Report{Release: release.Head{Number: number}, From: from, Fetched: 900 + bytes, Bytes: map[acquire.Strategy]int64{}}
	if bytes > 0 {
		r.Bytes = map[acquire.Strategy]int64{by: bytes, acquire.Copied: 1 << 40}
	}
	return r
}

// TestEvents: what a process sends, event after event.
func TestEvents(t *testing.T) {
	t.Parallel()
	ready := update.Status{Outcome: update.ResourcesReady}
	for name, test := range map[string]struct {
		events func(t *told.Teller)
		want   []string
	}{
		"first install": {func(t *told.Teller) {
			t.Updated(update.Status{Outcome: update.BinariesStaged}, report(12, 0, acquire.Solid, 1_000_000), 75*time.Second)
			t.Updated(ready, report(12, 12, "", 0), time.Second)
			t.Started(true, 2500*time.Millisecond)
		}, []string{"1,first,12,0,confirmed,Linux-x64,stable,none,0,2", "1,update,12,0,ready,Linux-x64,stable,solid,1000000,75"}},
		"nothing new": {func(t *told.Teller) {
			t.Updated(ready, report(12, 12, "", 0), time.Second)
			t.Started(false, 0)
		}, []string{"1,start,12,0,confirmed,Linux-x64,stable,none,0,0"}},
		"an update that fails to start": {func(t *told.Teller) {
			t.Updated(ready, report(12, 11, acquire.Patched, 500), time.Second)
			t.Failed()
		}, []string{"1,first,12,11,failed,Linux-x64,stable,none,0,0", "1,update,12,11,ready,Linux-x64,stable,patch,1400,1"}},
		"a repair": {func(t *told.Teller) {
			t.Updated(ready, report(12, 12, acquire.Entire, 500), time.Second)
		}, []string{"1,update,12,12,ready,Linux-x64,stable,whole,1400,1"}},
		"offline": {func(t *told.Teller) {
			t.Updated(update.Status{Outcome: update.Failed, Fault: &update.Fault{Cause: update.Unreachable}}, acquire.Report{}, 3*time.Second)
			t.Started(false, 0) // of which release is not known
		}, []string{"1,update,0,0,unreachable,Linux-x64,stable,none,0,3"}},
		"blocked, redirected": {func(t *told.Teller) {
			t.Updated(update.Status{Outcome: update.ResourcesReady, Blocked: true}, report(12, 11, "", 0), 0)
			t.Updated(update.Status{Outcome: update.Redirected}, acquire.Report{}, 0)
			t.Started(false, 0)
		}, []string{"1,start,11,0,confirmed,Linux-x64,stable,none,0,0"}},
		"a full disk": {func(t *told.Teller) {
			t.Updated(update.Status{Outcome: update.Failed, Fault: &update.Fault{Cause: update.DiskFull}}, report(12, 11, acquire.Chunked, 90), 3*time.Second)
			t.Started(false, time.Second)
		}, []string{"1,start,11,0,confirmed,Linux-x64,stable,none,0,1", "1,update,12,11,diskfull,Linux-x64,stable,chunks,990,3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, received := options(t)
			teller := told.New(o)
			test.events(teller)
			var got []string
			for range test.want {
				r := <-received
				if r.Method != http.MethodGet || r.URL.Path != "/beacon" || r.UserAgent() != "Collet" || r.ContentLength != 0 || len(r.Cookies()) != 0 || len(r.Header) != 2 {
					t.Errorf("%s %s: %v", r.Method, r.URL, r.Header)
				}
				got = append(got, r.URL.RawQuery)
			}
			teller.Close()
			if slices.Sort(got); !slices.Equal(got, test.want) || len(received) > 0 {
				t.Errorf("%q instead of %q, and %d more", got, test.want, len(received))
			}
		})
	}
}

// TestOff: nothing is sent without an address, or where no way leads there.
func TestOff(t *testing.T) {
	t.Parallel()
	for _, o := range []told.Options{{Dialer: &dial.Dialer{}}, {Address: settings.BeaconOff, Dialer: &dial.Dialer{}}, {Address: "https://example.org/beacon"}} {
		teller := told.New(o)
		if teller != nil {
			t.Errorf("%+v sends", o)
		}
		teller.Updated(update.Status{}, report(2, 1, acquire.Entire, 5), 0)
		teller.Started(true, 0)
		teller.Failed()
		teller.Close()
	}
}

// TestBounds: events never wait for a server that says nothing, the end waits for Grace at most, a beacon is tried once, and a process sends so many.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		o := told.Options{Address: "http://deaf.example/beacon", Target: "Linux-x64", Channel: "stable", Log: zerolog.Nop(), Dialer: &dial.Dialer{
			Direct: func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
		began := time.Now()
		teller := told.New(o)
		teller.Updated(update.Status{}, report(2, 1, acquire.Entire, 5), 0)
		if took := time.Since(began); took != 0 {
			t.Errorf("an event took %s", took)
		}
		teller.Close()
		if took := time.Since(began); took != told.Grace || dials.Load() != 1 {
			t.Errorf("the end took %s, with %d attempts", took, dials.Load())
		}
		teller.Started(true, 0) // after the end
		teller.Close()

		dials.Store(0)
		teller = told.New(o)
		for range 200 {
			teller.Updated(update.Status{}, report(2, 1, acquire.Entire, 5), 0)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		began = time.Now()
		if teller.Close(); dials.Load() != 50 || time.Since(began) != 0 {
			t.Errorf("%d attempts, and the end took %s", dials.Load(), time.Since(began))
		}
	})
}

// TestWords: every end of an update has its word in the format, and every strategy, too.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, end := range update.Ends() {
		if end.Outcome == update.BinariesStaged || end.Outcome == update.Redirected {
			continue
		}
		if word := strings.TrimPrefix(end.Key, "end."); !slices.Contains(beacon.Outcomes(beacon.Update), word) {
			t.Errorf("%v has no word: %q", end.Outcome, word)
		}
	}
	if n := len(beacon.Outcomes(beacon.Update)); n != len(update.Ends())-2 {
		t.Errorf("%d words for %d ends", n, len(update.Ends())-2)
	}
	for _, by := range []acquire.Strategy{acquire.Copied, acquire.Patched, acquire.Expanded, acquire.Chunked, acquire.Solid, acquire.Entire} {
		if !slices.Contains(beacon.Strategies(), string(by)) {
			t.Errorf("%q is no strategy of the format", by)
		}
	}
	if beacon.MaxNumber != release.MaxNumber {
		t.Error("the largest numbers of releases differ")
	}
}
