package server

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/config"
	"collet/netproto/server/limits"
)

// unserved is a connection from an address that does nothing by itself.
type unserved struct {
	net.Conn
	from netip.AddrPort
}

// RemoteAddr implements net.Conn.
func (u unserved) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(u.from) }

// TestRoomIsMadeEverywhere: a connection that makes room gives back its address's share and its place among all connections, too,
// before the new connection asks for these, also while the goroutine of the closed one has not noticed yet.
func TestRoomIsMadeEverywhere(t *testing.T) {
	set := config.ForFolder(t.TempDir(), "1.4")
	const places = 3
	set.Limits.HTTPConnections, set.Limits.ConnectionsPerAddress, set.Limits.Connections = places, places, places
	g := limits.New(set.Limits, time.Now())
	s := &Server{set: set, log: zerolog.Nop(), limiter: g, meter: newMeter(g)}
	m := &Monitor{set: &set}
	m.Watch(s)
	h := &hall{monitor: m, offers: true, ctx: t.Context()}
	var visitors []*visitor
	for i := range 3 * places {
		near, far := net.Pipe()
		defer far.Close()
		v, welcome := h.seat(unserved{near, netip.MustParseAddrPort("192.0.2.1:4000")})
		if !welcome || v.why != "" {
			t.Fatalf("visitor %d: let in %t, %s", i, welcome, v.why)
		}
		visitors = append(visitors, v)
		if want := min(i+1, places); g.Connections() != want || len(h.seating.open) != want {
			t.Errorf("%d connections and %d places are taken, want %d", g.Connections(), len(h.seating.open), want)
		}
	}
	for _, v := range visitors { // who was served notices in the end
		v.Close()
	}
	if g.Connections() != 0 || len(h.seating.open) != 0 {
		t.Errorf("%d connections and %d places are left", g.Connections(), len(h.seating.open))
	}
}
