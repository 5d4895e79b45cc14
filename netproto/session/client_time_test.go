package session_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// TestPingsAreAnsweredWhileDeliveringIsSlow blocks the caller for a minute. A server that pings every ten seconds, and
// closes on silence, must not notice.
func TestPingsAreAnsweredWhileDeliveringIsSlow(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		var seen *peer
		asked := 0
		opt, wait := play(t, g, func(p *peer) {
			seen = p
			p.greet(accept)
			p.list(files)
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Second):
						asked++
						p.say(&netproto.Ping{})
					}
				}
			}()
			p.serve(files, 1000)
		})
		c, _ := listed(t, opt)
		err := c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 2000}}, func(int, []byte) error {
			time.Sleep(61 * time.Second)
			synctest.Wait()
			if seen.pongs < 6 || seen.pongs != asked {
				t.Errorf("%d of %d questions answered", seen.pongs, asked)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		c.Close()
		wait()
	})
}

// TestClientPings checks the times of pings: every two seconds, one at a time, and in G1 at once.
func TestClientPings(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		start := time.Now()
		var seen *peer
		opt, wait := play(t, g, func(p *peer) {
			seen = p
			p.greet(accept)
			p.list(nil)
			p.waitForClient()
		})
		c, _ := listed(t, opt)
		time.Sleep(9 * time.Second)
		c.Close()
		wait()
		var got []time.Duration
		for _, at := range seen.pings {
			got = append(got, at.Sub(start))
		}
		want := []time.Duration{2e9, 4e9, 6e9, 8e9}
		if g.Engine() {
			want = append([]time.Duration{0}, want...)
		}
		if len(got) != len(want) {
			t.Fatalf("asked at %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("asked at %v, want %v", got, want)
			}
		}
	})
	bubble(t, "unanswered", func(t *testing.T) {
		var seen *peer
		opt, wait := play(t, netproto.C1, func(p *peer) {
			seen = p
			p.mute = true
			p.greet(accept)
			p.list(nil)
			p.waitForClient()
		})
		c, _ := listed(t, opt)
		time.Sleep(20 * time.Second)
		c.Close()
		wait()
		if len(seen.pings) != 1 {
			t.Errorf("%d questions at a time", len(seen.pings))
		}
	})
}

// TestPingFlood answers every ping of a server that pings continuously, and continues its work.
func TestPingFlood(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		questions := 1000 / testlevel.Stride(10, 50)
		var seen *peer
		opt, wait := play(t, g, func(p *peer) {
			seen = p
			p.greet(accept)
			p.list(files)
			go func() {
				for range questions {
					p.say(&netproto.Ping{})
				}
			}()
			p.serve(files, 1000)
		})
		c, _ := listed(t, opt)
		if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 100_123}}); len(got[0]) != 100_123 {
			t.Errorf("%d bytes", len(got[0]))
		}
		time.Sleep(time.Second)
		c.Close()
		wait()
		if seen.pongs != questions {
			t.Errorf("%d of %d questions answered", seen.pongs, questions)
		}
	})
}

// closed checks that err is a ClosedError, and whether the hello had been answered.
func closed(t *testing.T, err error, answered bool) *session.ClosedError {
	t.Helper()
	var end *session.ClosedError
	if !errors.As(err, &end) {
		t.Fatalf("error %v, want a ClosedError", err)
	}
	if end.Answered != answered {
		t.Errorf("answered %t, want %t", end.Answered, answered)
	}
	return end
}

// TestSilence ends an idle connection, before and after the answer.
func TestSilence(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		opt, wait := play(t, g, func(p *peer) { _, _ = io.Copy(io.Discard, p.net) })
		start := time.Now()
		_, err := session.Dial(t.Context(), opt)
		end := closed(t, err, false)
		if !errors.Is(end, os.ErrDeadlineExceeded) || time.Since(start) != session.DefaultIdleTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		wait()

		opt, wait = play(t, g, func(p *peer) {
			p.mute = true
			p.greet(accept)
			p.list(testFiles())
			p.waitForClient()
		})
		opt.IdleTimeout = 7 * time.Second
		c, _ := listed(t, opt)
		start = time.Now()
		err = c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 9}}, nil)
		if !errors.Is(closed(t, err, true), os.ErrDeadlineExceeded) || time.Since(start) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if !strings.Contains(err.Error(), "7s") {
			t.Errorf("%v does not say how long", err)
		}
		c.Close()
		wait()
	})
}

// TestPeerThatDoesNotRead ends a connection whose peer does not read.
func TestPeerThatDoesNotRead(t *testing.T) {
	bubble(t, "C1", func(t *testing.T) {
		stop := make(chan struct{})
		opt, wait := play(t, netproto.C1, func(*peer) { <-stop })
		start := time.Now()
		_, err := session.Dial(t.Context(), opt)
		if !errors.Is(closed(t, err, false), os.ErrDeadlineExceeded) || time.Since(start) > session.DefaultIdleTimeout+2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		close(stop)
		wait()
	})
}

// TestStalledServer ends a connection on which only pings are answered.
func TestStalledServer(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		opt, wait := play(t, g, func(p *peer) {
			p.greet(accept)
			p.list(files)
			p.waitForClient()
		})
		c, _ := listed(t, opt)
		time.Sleep(10 * time.Minute / time.Duration(testlevel.Stride(4, 5))) // a session may be idle longer than the answer timeout: no answer is owed
		start := time.Now()
		err := c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 9}}, nil)
		closed(t, err, true)
		if waited := time.Since(start); waited <= session.DefaultAnswerTimeout || waited > session.DefaultAnswerTimeout+2*session.DefaultPingPeriod {
			t.Errorf("%v after %v", err, waited)
		}
		c.Close()
		wait()
	})
}

// TestSlowLinkIsNoStall lets one portion take longer than the answer timeout: bytes move all the time.
func TestSlowLinkIsNoStall(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		opt, wait := play(t, g, func(p *peer) { p.greet(accept); p.list(files); p.serve(files, 1000) })
		dialFast := opt.Dial
		opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := dialFast(ctx, network, addr)
			return &slowConn{Conn: nc}, err
		}
		c, _ := listed(t, opt)
		start := time.Now()
		if got := fetchAll(t, c, []session.FetchRange{{Index: 12, Size: 700}}); len(got[0]) != 700 {
			t.Errorf("%d bytes", len(got[0]))
		}
		if time.Since(start) < 2*session.DefaultAnswerTimeout {
			t.Errorf("the link was not slow: %v", time.Since(start))
		}
		c.Close()
		wait()
	})
}

// slowConn delivers two bytes a second.
type slowConn struct{ net.Conn }

func (s *slowConn) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return s.Conn.Read(p[:min(len(p), 2)])
}

// TestCancel cancels a call at each point where it waits.
func TestCancel(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		silent := func(p *peer) { _, _ = io.Copy(io.Discard, p.net) }
		answering := func(p *peer) { p.greet(accept); p.waitForClient() }
		listing := func(p *peer) { p.greet(accept); p.list(files); p.waitForClient() }

		opt, _ := play(t, g, nil)
		opt.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		cancelled(t, func(ctx context.Context) error { _, err := session.Dial(ctx, opt); return err })

		opt, wait := play(t, g, silent)
		cancelled(t, func(ctx context.Context) error { _, err := session.Dial(ctx, opt); return err })
		wait()

		opt, wait = play(t, g, answering)
		c := connect(t, opt)
		cancelled(t, func(ctx context.Context) error { _, err := c.List(ctx); return err })
		c.Close()
		wait()

		opt, wait = play(t, g, listing)
		c, _ = listed(t, opt)
		cancelled(t, func(ctx context.Context) error {
			return c.Fetch(ctx, []session.FetchRange{{Index: 10, Size: 100_123}}, nil)
		})
		closed(t, c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 9}}, nil), true)
		c.Close()
		wait()
	})
}

// cancelled runs call, cancels it after a second, and checks that it ends then.
func cancelled(t *testing.T, call func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if time.Since(start) != time.Second {
		t.Errorf("ended after %v", time.Since(start))
	}
	again, cancelAgain := context.WithCancel(t.Context())
	cancelAgain()
	if err := call(again); err == nil {
		t.Error("a call with a finished context succeeds")
	}
}

// TestUnreachable keeps what the dialler said.
func TestUnreachable(t *testing.T) {
	for name, cause := range map[string]error{
		"name":    &net.DNSError{Err: "no such host", Name: "update.example", IsNotFound: true},
		"refused": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	} {
		bubble(t, name, func(t *testing.T) {
			opt := session.Options{Addr: "update.example:4000"}
			opt.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, cause }
			_, err := session.Dial(t.Context(), opt)
			var unreachable *session.UnreachableError
			if !errors.As(err, &unreachable) || unreachable.Addr != opt.Addr || !errors.Is(err, cause) {
				t.Errorf("error %v", err)
			}
		})
	}
	bubble(t, "timeout", func(t *testing.T) {
		opt := session.Options{Addr: "update.example:4000"}
		opt.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		start := time.Now()
		_, err := session.Dial(t.Context(), opt)
		var unreachable *session.UnreachableError
		if !errors.As(err, &unreachable) || time.Since(start) != dial.ConnectTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestClose ends a call under way, from another goroutine and from inside, and may be repeated.
func TestCloseEndsCalls(t *testing.T) {
	everyGeneration(t, func(t *testing.T, g netproto.Generation) {
		files := testFiles()
		opt, wait := play(t, g, func(p *peer) { p.greet(accept); p.list(files); p.waitForClient() })
		c, _ := listed(t, opt)
		go func() {
			time.Sleep(time.Second)
			c.Close()
		}()
		err := c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 9}}, nil)
		if !errors.Is(closed(t, err, true), net.ErrClosed) {
			t.Errorf("error %v", err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		wait()

		opt, wait = play(t, g, func(p *peer) { p.greet(accept); p.list(files); p.serve(files, 1000) })
		c, _ = listed(t, opt)
		calls := 0
		err = c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 100_123}}, func(int, []byte) error {
			calls++
			return c.Close()
		})
		if !errors.Is(closed(t, err, true), net.ErrClosed) || calls > 33 {
			t.Errorf("error %v after %d deliveries", err, calls)
		}
		wait()
	})
}
