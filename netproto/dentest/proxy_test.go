package dentest_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/dentest"
)

// echo is a UDP server that sends everything back.
func echo(t *testing.T) *net.UDPConn {
	t.Helper()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 2048)
		for {
			n, from, err := socket.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteToUDPAddrPort(buffer[:n], from)
		}
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-done
	})
	return socket
}

// through sends datagrams through a proxy to an echo and returns what came back within a second of silence.
func through(t *testing.T, o dentest.ProxyOptions, gap time.Duration, datagrams ...string) (back []string, p *dentest.Proxy) {
	t.Helper()
	p, err := dentest.NewProxy(echo(t).LocalAddr().(*net.UDPAddr).AddrPort(), o)
	must(t, err)
	t.Cleanup(p.Close)
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
	must(t, err)
	defer c.Close()
	for _, d := range datagrams {
		_, err := c.Write([]byte(d))
		must(t, err)
		time.Sleep(gap)
	}
	buffer := make([]byte, 2048)
	for {
		_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := c.Read(buffer)
		if err != nil {
			return back, p
		}
		back = append(back, string(buffer[:n]))
	}
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("\x04%c\x00x", rune(i)))
	}
	return all
}

func TestProxyPassesAndRecords(t *testing.T) {
	sent := numbers(20)
	back, p := through(t, dentest.ProxyOptions{}, 0, sent...)
	if !slices.Equal(back, sent) {
		t.Errorf("came back: %q", back)
	}
	trace := p.Trace()
	if len(trace) != 40 || !strings.Contains(p.Text(), "s2c") || !strings.Contains(p.Text(), "reliableMessage #7 unknown message 120") {
		t.Errorf("recorded %d:\n%s", len(trace), p.Text())
	}
}

// TestProxySeeds meets the same fate with the same seed, another with another.
func TestProxySeeds(t *testing.T) {
	bad := dentest.Impairment{Drop: 0.2, Duplicate: 0.2}
	fates := func(seed uint64) string {
		_, p := through(t, dentest.ProxyOptions{Seed: seed, ToServer: bad}, 0, numbers(60)...)
		var all []string
		for _, g := range p.Trace() {
			if g.Direction == dentest.ToServer {
				all = append(all, g.Fate)
			}
		}
		return strings.Join(all, ",")
	}
	one := fates(1)
	if one != fates(1) {
		t.Error("the same seed made another fate")
	}
	if other := fates(2); one == other || !strings.Contains(one, "dropped") || !strings.Contains(one, "doubled") {
		t.Errorf("seed 1: %s\nseed 2: %s", one, other)
	}
}

func TestProxyDelaysReordersAndThrottles(t *testing.T) {
	began := time.Now()
	back, _ := through(t, dentest.ProxyOptions{ToClient: dentest.Impairment{Delay: 80 * time.Millisecond}}, 0, "a")
	if len(back) != 1 || time.Since(began) < 80*time.Millisecond {
		t.Errorf("%q after %v", back, time.Since(began))
	}
	sent := numbers(60)
	back, _ = through(t, dentest.ProxyOptions{Seed: 4, ToServer: dentest.Impairment{Reorder: 0.2, ReorderBy: 10 * time.Millisecond}}, time.Millisecond, sent...)
	if slices.Equal(back, sent) || len(back) != len(sent) {
		t.Errorf("%d of %d, order kept: %v", len(back), len(sent), slices.Equal(back, sent))
	}
	slices.Sort(back)
	if !slices.Equal(back, sent) {
		t.Error("reordering changed datagrams")
	}
	began = time.Now()
	full := strings.Repeat("x", 972) // 1000 bytes with headers
	back, _ = through(t, dentest.ProxyOptions{ToServer: dentest.Impairment{Rate: 50_000, Queue: 10_000}}, 0, slices.Repeat([]string{full}, 30)...)
	if len(back) < 10 || len(back) > 12 || time.Since(began) < 200*time.Millisecond {
		t.Errorf("%d datagrams passed a queue of ten in %v", len(back), time.Since(began))
	}
}

func TestProxyRules(t *testing.T) {
	drop := dentest.Drop(dentest.Numbered(3), dentest.Toward(dentest.ToServer)).Times(1)
	hold := dentest.Hold(150*time.Millisecond, dentest.Numbered(5), dentest.Toward(dentest.ToServer))
	twice := dentest.Repeat(0, dentest.Carries('x'), dentest.Toward(dentest.ToServer)).After(1).Times(1)
	sent := append(numbers(7), "\x04\x03\x00x")
	back, _ := through(t, dentest.ProxyOptions{Rules: []dentest.Rule{drop, hold, twice}}, 5*time.Millisecond, sent...)
	n := numbers(7)
	want := []string{n[0], n[1], n[1], n[2], n[4], n[6], n[3], n[5]}
	if !slices.Equal(back, want) {
		t.Errorf("came back %q, want %q", back, want)
	}
	if drop.Met() != 1 || twice.Met() != 1 || hold.Met() != 1 {
		t.Errorf("rules met %d, %d, %d", drop.Met(), twice.Met(), hold.Met())
	}
}

func TestProxyDark(t *testing.T) {
	p, err := dentest.NewProxy(echo(t).LocalAddr().(*net.UDPAddr).AddrPort(), dentest.ProxyOptions{})
	must(t, err)
	defer p.Close()
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.Addr()))
	must(t, err)
	defer c.Close()
	for _, dark := range []bool{true, false} {
		p.Dark(dark)
		_, err := c.Write([]byte{dentest.CmdLinkUp, 0, 0})
		must(t, err)
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, _ := c.Read(make([]byte, 9)); (n == 0) != dark {
			t.Errorf("dark %v: %d bytes came back", dark, n)
		}
	}
}

// TestMatches checks what the rules of the traps pick.
func TestMatches(t *testing.T) {
	long := func(flags byte, code byte) []byte { return []byte{dentest.CmdReliableLong, 7, 0, flags, code} }
	for _, row := range []struct {
		match dentest.Match
		data  []byte
		want  bool
	}{
		{dentest.AckOf(100), []byte{6, 100, 0, 0}, true}, {dentest.AckOf(100), []byte{4, 100, 0, 0}, false},
		{dentest.Numbered(258), []byte{5, 2, 1}, true}, {dentest.Numbered(258), []byte{6, 2, 1, 0}, false},
		{dentest.Numbered(2), []byte{7, 2, 0}, false}, {dentest.Command(7), []byte{7, 0, 0}, true},
		{dentest.Carries(dentest.SendFileData), long(1, 11), true}, {dentest.Carries(dentest.SendFileData), long(0, 11), false},
		{dentest.Carries(dentest.KeepAlive), []byte{4, 0, 0, 20}, true}, {dentest.Command(7), nil, false},
	} {
		if got := row.match(&dentest.Datagram{Data: row.data}); got != row.want {
			t.Errorf("%x: %v, want %v", row.data, got, row.want)
		}
	}
}
