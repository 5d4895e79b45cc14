package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// probed is a server with a subset of the generations, and a record of a probing client.
type probed struct {
	t      *testing.T
	only   []netproto.Generation
	mu     sync.Mutex
	hellos []string // what was said on each connection: generation, version
	faults int      // hellos that fitted nothing
	work   sync.WaitGroup
}

// dial is the options' Dial.
func (p *probed) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.work.Go(func() {
		defer far.Close()
		p.serve(far)
	})
	return near, nil
}

func (p *probed) serve(far net.Conn) {
	conn := netproto.NewConn(far, netproto.ServerSide, netproto.Limits{}, netproto.WithZlib(true), netproto.WithOnly(p.only...))
	m, err := conn.Read()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.faults++
		return
	}
	hello, g := m.(*netproto.Handshake), conn.Generation()
	p.hellos = append(p.hellos, fmt.Sprintf("%v %d", g, hello.Version&0xFF))
	peer := &peer{t: p.t, net: far, conn: conn, hello: hello}
	j := compat.Judgement{Verdict: compat.Accept}
	if hello.Version != g.Version() {
		j.Verdict = compat.UpdaterMismatch
	}
	answer := netproto.NewAnswer(j)
	answer.Key, answer.Metadata = netproto.NewKey(), "served"
	answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, 1000, 4
	peer.say(answer)
	if j.Verdict == compat.UpdaterMismatch {
		peer.say(&netproto.Disconnect{})
		peer.waitForClient()
		return
	}
	files := []file{{"Core.zip", 0, make([]byte, 2500)}}
	peer.list(files)
	peer.serve(files, 1000)
}

// TestProbing: a client without knowledge, or with a remembered generation, detects the server's and updates from it.
// The rows are all kinds of servers.
func TestProbing(t *testing.T) {
	testlevel.Slow(t)
	all := []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1}
	tests := []struct {
		name     string
		only     []netproto.Generation
		remember netproto.Generation
		want     netproto.Generation
		hellos   string // those that fitted something
		faults   int
	}{
		{"ours", all, 0, netproto.C1, "C1 1", 0},
		{"G1", all[:1], 0, netproto.G1, "G1 2, G1 1", 0},
		{"G2a", all[1:2], 0, netproto.G2a, "G2a 2", 0},
		{"G2b", all[2:3], 0, netproto.G2b, "G2b 2", 1},
		{"ours without C1", all[:3], 0, netproto.G2a, "G2a 2", 0},

		{"remembered G1", all[:1], netproto.G1, netproto.G1, "G1 1", 0},
		{"remembered G2a", all[1:2], netproto.G2a, netproto.G2a, "G2a 2", 0},
		{"remembered G2b", all[2:3], netproto.G2b, netproto.G2b, "G2b 2", 0},
		{"remembered C1 is nothing: no hello of C1 is tried", all[2:3], netproto.C1, netproto.G2b, "G2b 2", 1},

		{"G1 became G2a", all[1:2], netproto.G1, netproto.G2a, "G2a 1, G2a 2", 0},
		{"G1 became G2b", all[2:3], netproto.G1, netproto.G2b, "G2b 2", 1},
		{"G2b became G1", all[:1], netproto.G2b, netproto.G1, "G1 2, G1 1", 1},
		{"G2b became G2a", all[1:2], netproto.G2b, netproto.G2a, "G2a 2", 1},
		{"G1 became ours", all, netproto.G1, netproto.C1, "C1 1", 0},
		{"G2b became ours", all, netproto.G2b, netproto.C1, "C1 1", 0},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			p := &probed{t: t, only: test.only}
			c, offers := listed(t, session.Options{Addr: "x:1", Auto: true, Generation: test.remember, Compatibility: "compat-A", Target: "Linux-x64", Dial: p.dial})
			if c.Generation() != test.want || len(offers) != 1 {
				t.Errorf("speaks %v, want %v; offers %v", c.Generation(), test.want, offers)
			}
			time.Sleep(5 * session.DefaultPingPeriod) // pings go in the generation that was found
			if got := fetchAll(t, c, []session.FetchRange{{Index: 10, Size: 2500}}); len(got[0]) != 2500 {
				t.Errorf("%d bytes", len(got[0]))
			}
			if c.Metadata() != "" != (test.want == netproto.G2b) {
				t.Errorf("metadata %q", c.Metadata())
			}
			c.Close()
			p.work.Wait()
			if got := strings.Join(p.hellos, ", "); got != test.hellos || p.faults != test.faults {
				t.Errorf("the server saw %s and %d others, want %s and %d", got, p.faults, test.hellos, test.faults)
			}
		})
	}
}

// TestProbingEnds covers servers of no generation: the client gives up after a bounded number of connections and reports the last failure.
func TestProbingEnds(t *testing.T) {
	tests := []struct {
		name   string
		server func(t *testing.T, conn net.Conn)
		most   int
		want   string
	}{
		{"hangs up", func(t *testing.T, conn net.Conn) {}, 2, "before the server's answer"},
		{"reads and hangs up", func(t *testing.T, conn net.Conn) { _, _ = conn.Read(make([]byte, 1000)) }, 2, "before the server's answer"},
		{"says nothing", func(t *testing.T, conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, 1, "nothing moved"},
		{"is no update server", func(t *testing.T, conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n")
		}, 1, "signature"},
		{"takes every client for outdated", func(t *testing.T, conn net.Conn) {
			c := netproto.NewConn(conn, netproto.ServerSide, netproto.Limits{}, netproto.WithOnly(netproto.G1, netproto.G2b))
			if _, err := c.Read(); err != nil {
				t.Error(err)
			}
			_ = c.Write(netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdaterMismatch}))
			_, _ = io.Copy(io.Discard, conn)
		}, 2, ""},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			dials, work := 0, sync.WaitGroup{}
			c, err := session.Dial(t.Context(), session.Options{Addr: "x:1", Auto: true, Compatibility: "compat-A", Target: "Linux-x64",
				Dial: func(context.Context, string, string) (net.Conn, error) {
					dials++
					near, far := net.Pipe()
					work.Go(func() { defer far.Close(); test.server(t, far) })
					return near, nil
				}})
			switch {
			case test.want == "" && (err != nil || c.Judgement().Verdict != compat.UpdaterMismatch):
				t.Errorf("%v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
			if c != nil {
				c.Close()
			}
			work.Wait()
			if dials != test.most {
				t.Errorf("%d connections, want %d", dials, test.most)
			}
		})
	}
	bubble(t, "unreachable", func(t *testing.T) {
		dials := 0
		_, err := session.Dial(t.Context(), session.Options{Addr: "x:1", Auto: true,
			Dial: func(context.Context, string, string) (net.Conn, error) { dials++; return nil, os.ErrPermission }})
		var unreachable *session.UnreachableError
		if !errors.As(err, &unreachable) || dials != 1 {
			t.Errorf("%v after %d", err, dials)
		}
	})
}
