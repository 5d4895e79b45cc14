package server_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// from is a connection that comes from an address of our choice.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr { return address(f.addr) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// connectFrom is connect from an address.
func (p *pipes) connectFrom(addr string) net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- from{theirs, addr}
	return ours
}

// told greets from an address and reports whether the server refused because it is full; a connection that is served
// stays open.
func told(t *testing.T, pipes *pipes, addr string) (refused bool) {
	t.Helper()
	p := servertest.NewPeer(t, pipes.connectFrom(addr), netproto.C1)
	p.Send(servertest.Handshake(netproto.C1))
	m, err := p.Wire.Read()
	if err != nil {
		t.Fatal(err)
	}
	refuse, refused := m.(*netproto.Refuse)
	if !refused {
		for range 2 { // the list and a question
			if _, err := p.Wire.Read(); err != nil {
				t.Fatal(err)
			}
		}
		return false
	}
	if refuse.Reason != netproto.RefuseBusy || refuse.Text != "server is full" {
		t.Errorf("refused with %+v", refuse)
	}
	p.Raw.Close()
	return true
}

func TestLimitsOfConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(*config.Limits)
		addrs   []string
		refused string // one letter for each address: y or n
		line    string
	}{
		{"in total", func(l *config.Limits) { l.Connections = 2 },
			[]string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1", "127.0.0.1:1"}, "nnyy", "Limits.Connections"},
		{"of an address", func(l *config.Limits) { l.ConnectionsPerAddress = 2 },
			[]string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1"}, "nnyn", "Limits.ConnectionsPerAddress"},
		{"of an IPv6 household", func(l *config.Limits) { l.ConnectionsPerAddress = 2 },
			[]string{"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:3]:1", "[2001:db8:0:1::1]:1"}, "nnyn", "Limits.ConnectionsPerAddress"},
		{"of an IPv4 address in IPv6 form", func(l *config.Limits) { l.ConnectionsPerAddress = 1 },
			[]string{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", "[::ffff:192.0.2.2]:2"}, "nyn", "Limits.ConnectionsPerAddress"},
		{"new ones of an address", func(l *config.Limits) { l.ConnectionsPerSecondPerAddress = 2 },
			[]string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1"}, "nnyn", "Limits.ConnectionsPerSecondPerAddress"},
		{"none for loopback", func(l *config.Limits) { l.ConnectionsPerAddress, l.ConnectionsPerSecondPerAddress = 1, 1 },
			[]string{"127.0.0.1:1", "127.0.0.1:2", "[::1]:1", "[::1]:2"}, "nnnn", ""},
		{"none for exempt ones", func(l *config.Limits) { l.ConnectionsPerAddress, l.ExemptAddresses = 1, []string{"192.0.2.0/24"} },
			[]string{"192.0.2.1:1", "192.0.2.1:2", "127.0.0.1:1", "127.0.0.1:2"}, "nnny", "Limits.ConnectionsPerAddress"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := servertest.Settings(t)
			test.change(&set.Limits)
			inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
				got := ""
				for _, addr := range test.addrs {
					got += map[bool]string{true: "y", false: "n"}[told(t, pipes, addr)]
				}
				if got != test.refused {
					t.Errorf("refused %s, want %s", got, test.refused)
				}
				if test.line != "" {
					h.Log.Has(t, "warn", "Refused a connection from host", test.line+`"`)
				}
			})
		})
	}
}

// TestRefusalsAreBoundedAndForget turns away more than are told, and serves again when there is room.
func TestRefusalsAreBoundedAndForget(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.Connections = 1
	inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		served := pipes.connect()
		for range 256 { // these are waited for
			pipes.connect()
		}
		started := time.Now()
		late := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		if lasted, seen := measureLife(late, false); lasted != 0 || len(seen) != 0 {
			t.Errorf("closed after %v with %v", lasted, seen)
		}
		time.Sleep(3*time.Second + time.Millisecond) // those that say nothing are given up
		synctest.Wait()
		if told(t, pipes, "192.0.2.1:1") != true {
			t.Error("served above the limit")
		}
		engine := servertest.NewPeer(t, pipes.connect(), netproto.G1)
		engine.Send(servertest.Handshake(netproto.G1))
		if last := engine.ReadToEnd(); len(last) != 0 {
			t.Errorf("an engine's client was told %v", last)
		}
		served.Close()
		synctest.Wait()
		servertest.NewPeer(t, pipes.connect(), netproto.G1).Greet(servertest.Handshake(netproto.G1))
		if waited := time.Since(started); waited != 3*time.Second+time.Millisecond {
			t.Errorf("took %v", waited)
		}
	})
}

// TestNewConnectionsWaitTheirTurn opens them twice as fast as allowed: none is refused.
func TestNewConnectionsWaitTheirTurn(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.ConnectionsPerSecond = 10
	inBubbleWith(t, set, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		started := time.Now()
		for range 31 {
			defer pipes.connect().Close()
		}
		synctest.Wait()
		// Ten at once, then one every 100 ms; the last one is handed over while the one before it waits.
		if waited := time.Since(started).Round(time.Millisecond); waited != 2*time.Second {
			t.Errorf("31 connections took %v", waited)
		}
		if n := h.Connections(); n != 30 {
			t.Errorf("%d are served", n)
		}
	})
}

// TestHalfOpenAndSlowConnections never finish a handshake. They are closed in time and told about once in a minute.
func TestHalfOpenAndSlowConnections(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		for i := range 5 {
			conn := pipes.connectFrom(fmt.Sprintf("198.51.100.7:%d", i+1))
			conn.Write([]byte{0x22}) // the first byte of a frame, and then nothing
			defer conn.Close()
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if n := h.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		countLines(h.Log, t, "warn", "Login timeout from host '198.51.100.7'", 1)
		countLines(h.Log, t, "debug", "Login timeout from host '198.51.100.7'", 4)
	})
}

// countLines fails the test unless that many lines of a level hold the text.
func countLines(b *servertest.Log, t testing.TB, level, text string, want int) {
	t.Helper()
	got := 0
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, fmt.Sprintf("%q:%q", "level", level)) && strings.Contains(line, text) {
			got++
		}
	}
	if got != want {
		t.Errorf("%d %s lines with %q, want %d, in\n%s", got, level, text, want, b)
	}
}

func TestWarningsOncePerAddressAndMinute(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		attack := func(addr string, data string) {
			conn := pipes.connectFrom(addr)
			conn.Write([]byte(data))
			conn.Close()
			synctest.Wait()
		}
		const garbage, tooLong = "GET / HTTP/1.1\r\n\r\n", "\x22\x94\x1e\x01\xff\xff\xff\xff\x01"
		for i := range 20 {
			attack(fmt.Sprintf("203.0.113.5:%d", i+1), []string{garbage, tooLong}[i%2])
			attack(fmt.Sprintf("203.0.113.6:%d", i+1), "") // a scan of ports
		}
		countLines(h.Log, t, "warn", "Invalid handshake data from host '203.0.113.5'", 1)
		countLines(h.Log, t, "warn", "Connection from host '203.0.113.6' ended without a handshake", 1)
		time.Sleep(time.Minute)
		attack("203.0.113.5:99", garbage)
		countLines(h.Log, t, "warn", `"hidden":19`, 1)
		attack("[2001:db8::1]:1", garbage)
		attack("[2001:db8::2]:1", garbage) // the same household
		countLines(h.Log, t, "warn", "Invalid handshake data from host '2001:db8::", 1)
	})
}

// TestFaultsOfClientsAreNamedEachTime, because QA looks for them, within reason.
func TestFaultsOfClientsAreNamedEachTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *servertest.Server, pipes *pipes) {
		for i := range uint32(25) { // more slowly than new connections are limited
			p := servertest.NewPeer(t, pipes.connectFrom("192.0.2.9:1"), netproto.G1)
			p.Greet(servertest.Handshake(netproto.G1))
			p.Send(&netproto.GetUpdateFile{Index: 1000 + i})
			p.ReadToEnd()
			if i%5 == 0 {
				time.Sleep(time.Second)
			}
		}
		countLines(h.Log, t, "warn", "Wrong file index", 20)
		countLines(h.Log, t, "debug", "Wrong file index", 5)
		h.Log.Has(t, "warn", "Wrong file index 1007, from host '192.0.2.9'")
	})
}
