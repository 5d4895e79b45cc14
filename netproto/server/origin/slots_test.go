package origin

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// idleConn is a connection from an address that does nothing by itself.
type idleConn struct {
	net.Conn
	from netip.AddrPort
}

// RemoteAddr implements net.Conn.
func (c idleConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.from) }

// TestReplacementReleasesEverySlot: a replaced connection releases its slots, of its address and in total, before the new
// connection takes its own, also while the goroutine of the closed one has not noticed yet.
func TestReplacementReleasesEverySlot(t *testing.T) {
	set := config.ForFolder(t.TempDir(), "1.4")
	const places = 3
	set.Limits.HTTPConnections, set.Limits.ConnectionsPerAddress, set.Limits.Connections = places, places, places
	if err := os.MkdirAll(set.Baking.ClientResources, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(set.Baking.ClientResources, "Core.zip"), []byte("core"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := catalogue.Open(t.Context(), set, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(files, set, zerolog.Nop())
	defer s.Close()
	m := &Monitor{set: &set}
	m.from = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	m.Watch(s)
	l := &portListener{monitor: m, offers: true, ctx: t.Context()}
	var connections []*connection
	for i := range 3 * places {
		near, far := net.Pipe()
		defer far.Close()
		c, admitted := l.admit(idleConn{near, netip.MustParseAddrPort("192.0.2.1:4000")})
		if !admitted || c.refusal != "" {
			t.Fatalf("connection %d: admitted %t, %s", i, admitted, c.refusal)
		}
		connections = append(connections, c)
		if want := min(i+1, places); s.Connections() != want || len(l.slots.open) != want {
			t.Errorf("%d connections and %d slots are taken, want %d", s.Connections(), len(l.slots.open), want)
		}
	}
	for _, c := range connections { // the replaced ones are closed twice
		c.Close()
	}
	if s.Connections() != 0 || len(l.slots.open) != 0 {
		t.Errorf("%d connections and %d slots are left", s.Connections(), len(l.slots.open))
	}
}
