package server_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// over is a limit of connections that is reached.
type over struct {
	limit  string // as the metrics name it
	change func(*config.Limits)
	held   int // connections that a client keeps open
}

func overs() []over {
	return []over{
		{"connections", func(l *config.Limits) { l.Connections = 1 }, 1},
		{"address", func(l *config.Limits) { l.ConnectionsPerAddress, l.ExemptAddresses = 1, nil }, 1},
		{"address_rate", func(l *config.Limits) { l.ConnectionsPerSecondPerAddress, l.ExemptAddresses = 1, nil }, 0},
	}
}

// turnedAway dials until the server refuses, which a limit of connections in a second may do only at the second try, and
// returns how many connections the refused try took, and its error.
func turnedAway(t *testing.T, w way, opt session.Options) (int, error) {
	t.Helper()
	opt.Addr, opt.Compatibility, opt.Target = w.addr, servertest.Compatibility, "Linux-x64"
	for range 20 { // on a machine on which each takes longer than a second there is never a refusal
		dials := 0
		opt.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return w.dialer.DialContext(ctx, network, addr)
		}
		client, err := session.Dial(t.Context(), opt)
		if err != nil {
			return dials, err
		}
		client.Close()
	}
	t.Fatal("never refused")
	return 0, nil
}

// TestFullServerSaysSo by every transport, for each limit of connections, to clients of ours that know the generation and
// to those that find it out: they hear it in words, and on their first connection.
func TestFullServerSaysSo(t *testing.T) {
	t.Parallel()
	for _, o := range overs() {
		set := servertest.Settings(t)
		o.change(&set.Limits)
		h := dock(t, set)
		var m origin.Monitor
		m.Watch(h.Server.Server)
		for range o.held {
			h.Addr = h.tcp
			h.Dial(t, netproto.C1).Greet(servertest.Handshake(netproto.C1))
		}
		for _, w := range h.ways(t) {
			for _, auto := range []bool{false, true} {
				t.Run(strings.Join([]string{o.limit, w.name, map[bool]string{true: "auto"}[auto]}, " "), func(t *testing.T) {
					dials, err := turnedAway(t, w, session.Options{Auto: auto})
					var refused *session.RefusedError
					if !errors.As(err, &refused) || refused.Reason != netproto.RefuseBusy || !strings.Contains(err.Error(), "server is full") || dials != 1 {
						t.Errorf("after %d connections: %v", dials, err)
					}
				})
			}
			series := `collet_connections_refused_total{limit="` + o.limit + `",transport="` + w.name + `"}`
			if got := servertest.MetricValue(t, &m, series); got != "2" {
				t.Errorf("%s is %q", series, got)
			}
		}
	}
}

// TestEngineClientOfAFullServer sees an orderly end of its connection, for which there is no word in its generation.
func TestEngineClientOfAFullServer(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.Connections = 1
	h := dock(t, set)
	h.Addr = h.tcp
	h.Dial(t, netproto.C1).Greet(servertest.Handshake(netproto.C1))
	for _, w := range h.ways(t) {
		for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
			_, err := turnedAway(t, w, session.Options{Generation: g})
			var closed *session.ClosedError
			if !errors.As(err, &closed) || closed.Answered || !strings.Contains(err.Error(), "EOF") {
				t.Errorf("%s %v: %v", w.name, g, err)
			}
		}
	}
}

// TestCrowdAtAFullServer comes all at once; each client gets an answer.
func TestCrowdAtAFullServer(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.Settings(t)
	set.Limits.Connections = 1
	inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		servertest.NewPeer(t, pipes.connect(), netproto.C1).Greet(servertest.Handshake(netproto.C1))
		var crowd sync.WaitGroup
		for i := range 256 {
			crowd.Go(func() {
				client, err := session.Dial(t.Context(), session.Options{
					Addr: "full.test:4000", Auto: i%2 == 0, Compatibility: servertest.Compatibility, Target: "Linux-x64",
					Dial: func(context.Context, string, string) (net.Conn, error) { return pipes.connect(), nil },
				})
				if err == nil {
					client.Close()
				}
				var refused *session.RefusedError
				if !errors.As(err, &refused) || refused.Reason != netproto.RefuseBusy {
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		crowd.Wait()
	})
}

// TestFloodOfOneAddressIsNotTold more often than a client has use for it.
func TestFloodOfOneAddressIsNotTold(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.ConnectionsPerAddress, set.Limits.ConnectionsPerSecondPerAddress = 1, 1000
	inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		if told(t, pipes, "192.0.2.1:1") {
			t.Fatal("the first one is refused")
		}
		for range 20 {
			if !told(t, pipes, "192.0.2.1:2") {
				t.Fatal("served above the limit")
			}
		}
		late := servertest.NewPeer(t, pipes.connectFrom("192.0.2.1:3"), netproto.C1)
		if lasted, seen := measureLife(late, false); lasted != 0 || len(seen) != 0 {
			t.Errorf("closed after %v with %v", lasted, seen)
		}
		if told(t, pipes, "192.0.2.2:1") {
			t.Error("another address is refused")
		}
		time.Sleep(time.Second)
		if !told(t, pipes, "192.0.2.1:4") {
			t.Error("served above the limit")
		}
	})
}

// TestScansThatReset their connections are one warning, too, by every transport.
func TestScansThatReset(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	for _, w := range h.ways(t) {
		for range 3 {
			before := strings.Count(h.Log.String(), "Client connected")
			conn, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			conn.Write([]byte{0x16}) // something that can't be taken for all
			h.WaitUntil(t, func() bool { return strings.Count(h.Log.String(), "Client connected") > before })
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}
	h.WaitForNoClients(t)
	countLines(h.Log, t, "warn", "Connection from host '127.0.0.1' ended without a handshake", 1)
	countLines(h.Log, t, "debug", "Connection from host '127.0.0.1' ended without a handshake", 11)
	var m origin.Monitor
	m.Watch(h.Server.Server)
	if got := servertest.MetricValue(t, &m, `collet_connections_ended_total{cause="no_handshake"}`); got != "12" {
		t.Errorf("%s scans are counted", got)
	}
}

// TestTimesThatAreOverAreTold to a client of every transport that asked for nothing.
func TestTimesThatAreOverAreTold(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.Settings(t)
	set.Limits.IdleTime = time.Second
	h := dock(t, set)
	for _, w := range h.ways(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			raw, err := w.dialer.DialContext(t.Context(), "tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			raw.SetDeadline(time.Now().Add(2 * time.Minute))
			p := servertest.NewPeer(t, raw, netproto.C1)
			p.Greet(servertest.Handshake(netproto.C1))
			p.Send(&netproto.Ping{Answer: true})
			_, seen := measureLife(p, true)
			if len(seen) != 1 {
				t.Fatalf("saw %v", seen)
			}
			if last, is := seen[0].(*netproto.Refuse); !is || last.Reason != netproto.RefuseTimeout {
				t.Errorf("last words %+v", seen[0])
			}
		})
	}
}
