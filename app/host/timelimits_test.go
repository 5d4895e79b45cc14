package host

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// TestTimeLimits: only complete answers count, a slow line is no reason to give up, and a drip is.
func TestTimeLimits(t *testing.T) {
	limits := timeLimits{first: 3 * time.Second, next: 3 * time.Second, whole: time.Minute}
	const never = 1000 * time.Second
	connecting := func(time.Duration) update.Status { return update.Status{Phase: update.Connecting} }
	tests := map[string]struct {
		status func(at time.Duration) update.Status
		read   func(at time.Duration) progress
		want   time.Duration
		word   string
	}{
		"nothing comes": {connecting, func(time.Duration) progress { return progress{waiting: true} }, 3 * time.Second, "no answer within 3s"},
		"a byte at a time": {connecting, func(at time.Duration) progress {
			return progress{bytes: int64(at / time.Second), waiting: true}
		}, 3 * time.Second, "no answer within 3s"},
		"much that is no answer": {connecting, func(at time.Duration) progress {
			return progress{bytes: int64(at.Seconds() * 1e6), waiting: true}
		}, 3 * time.Second, "no answer within 3s"},
		"an answer and a drip": {connecting, func(at time.Duration) progress {
			return progress{answers: 1, bytes: int64(at / time.Second), waiting: true}
		}, 3 * time.Second, "no complete answer within 3s, and fewer than 4096 bytes a second"},
		"an answer and a line that is slow": {connecting, func(at time.Duration) progress {
			return progress{answers: 1, bytes: int64(at.Seconds() * 5000), waiting: true}
		}, time.Minute, "the answers took more than 1m0s"},
		"an answer now and then": {connecting, func(at time.Duration) progress {
			return progress{answers: int(at / (2 * time.Second)), waiting: true}
		}, time.Minute, "the answers took more than 1m0s"},
		"pings after the verdict": {func(time.Duration) update.Status { return update.Status{Phase: update.Listing} }, func(at time.Duration) progress {
			return progress{answers: 1, bytes: int64(at.Seconds() * 10), waiting: true}
		}, 3 * time.Second, "no complete answer within 3s"},
		"pauses between attempts": {func(time.Duration) update.Status { return update.Status{Phase: update.Waiting} }, func(time.Duration) progress {
			return progress{}
		}, 3 * time.Second, "no answer within 3s"},
		"this machine works": {connecting, func(time.Duration) progress { return progress{} }, never, ""},
		"the disk is compared": {func(time.Duration) update.Status { return update.Status{Phase: update.Comparing} }, func(time.Duration) progress {
			return progress{waiting: true}
		}, never, ""},
		"the player pauses": {connecting, func(time.Duration) progress { return progress{waiting: true, paused: true} }, never, ""},
		"it fetches": {func(at time.Duration) update.Status {
			if at > 2*time.Second {
				return update.Status{Phase: update.Fetching}
			}
			return update.Status{Phase: update.Connecting}
		}, func(time.Duration) progress { return progress{waiting: true} }, 2 * time.Second, ""},
		"it fetched": {func(at time.Duration) update.Status {
			if at > 2*time.Second {
				return update.Status{Phase: update.Waiting, Files: 3}
			}
			return update.Status{Phase: update.Connecting}
		}, func(time.Duration) progress { return progress{waiting: true} }, 2 * time.Second, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), never)
				defer cancel()
				began := time.Now()
				err := limits.watch(ctx, func() update.Status { return test.status(time.Since(began)) }, func() progress { return test.read(time.Since(began)) })
				took := time.Since(began)
				if took < test.want || took > test.want+3*watchEvery {
					t.Errorf("it took %v, want %v", took, test.want)
				}
				if said := ""; err != nil {
					if said = err.Error(); test.word == "" || !strings.HasPrefix(said, test.word) {
						t.Errorf("it says %q", said)
					}
				} else if test.word != "" {
					t.Error("no limit was exceeded")
				}
			})
		})
	}
}

// TestTimeLimitsBySettings: the settings' time holds where there is something to play, and a restart of the server fits where not.
func TestTimeLimitsBySettings(t *testing.T) {
	for _, offline := range []time.Duration{0, 3 * time.Second, time.Minute, time.Millisecond, settings.MaxOfflineAfter} {
		h := hostWith(setup{}, func(h *host) { h.signed.offline = offline })
		if l := h.timeLimits(); h.patience() != 0 || l.first < update.RefusedPatience+update.RefusedCap || l.first < h.signed.offline || l.next < time.Second || l.whole < l.next || l.whole < l.first {
			t.Errorf("nothing to play, %v: %+v", h.signed.offline, l)
		}
	}
}

// idleDestination is an install that is never asked for anything.
type idleDestination struct{ update.Destination }

func (idleDestination) Abandon() error { return nil }

// dripping is a connection that writes a byte every 25 s once it is switched to that.
type dripping struct {
	net.Conn
	drips atomic.Bool
}

func (d *dripping) Write(p []byte) (n int, err error) {
	if !d.drips.Load() {
		return d.Conn.Write(p)
	}
	for ; n < len(p) && err == nil; n++ {
		time.Sleep(25 * time.Second)
		_, err = d.Conn.Write(p[n : n+1])
	}
	return n, err
}

// drippingServer takes a client, says the verdict, and then what its script says instead of the list.
func drippingServer(script func(conn *dripping, c *netproto.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			slow := &dripping{Conn: far}
			c := netproto.NewConn(slow, netproto.ServerSide, netproto.Limits{})
			if _, err := c.Read(); err != nil {
				return
			}
			answer := netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdateResources})
			answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, 1000, 4
			if c.Write(answer) == nil {
				script(slow, c)
			}
		}()
		return near, nil
	}
}

// TestServerThatHoldsTheStartUp: a server that accepts and then only pings, or lets one byte after another through, is given up in
// less than a minute, however lively it is.
func TestServerThatHoldsTheStartUp(t *testing.T) {
	tests := map[string]func(conn *dripping, c *netproto.Conn){
		"pings only": func(_ *dripping, c *netproto.Conn) {
			for {
				m, err := c.Read()
				if ping, is := m.(*netproto.Ping); err == nil && is && !ping.Answer {
					err = c.Write(&netproto.Ping{Answer: true})
				}
				if err != nil {
					return
				}
			}
		},
		"a byte in 25 s": func(conn *dripping, c *netproto.Conn) {
			go func() { // pings need no answer: a byte comes in time
				for {
					if _, err := c.Read(); err != nil {
						return
					}
				}
			}()
			conn.drips.Store(true)
			_ = c.Write(&netproto.FileList{Files: []netproto.ListedFile{{Path: strings.Repeat("a", 200)}}}) // until the client has gone
		},
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{options: session.Options{
					Addr: "there:1", Generation: netproto.C1, Compatibility: "1", Target: "Linux-x64", Dial: drippingServer(script),
				}}
				u, err := update.New(update.Config{Source: s, Destination: idleDestination{}})
				if err != nil {
					t.Fatal(err)
				}
				h := hostWith(setup{log: zerolog.Nop()}, func(h *host) { h.server = "there:1" })
				began := time.Now()
				status := h.runUpdater(t.Context(), &notebook{}, u, s.progress)
				var slow *slownessError
				if status.Outcome != update.Failed || status.Fault.Cause != update.Interrupted || !errors.As(status.Fault, &slow) {
					t.Errorf("%s: %v", status.Outcome, status.Fault)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %v", took)
				}
				time.Sleep(30 * time.Second) // the server's next byte finds no reader
			})
		})
	}
}
