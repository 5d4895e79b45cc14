//go:build !386

package server

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// linked is the accepting end of a TCP connection on the loopback interface.
func linked(t *testing.T) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// inKernel asks the socket itself.
func inKernel(conn net.Conn) (name string) {
	withSocket(conn, func(fd int) { name = algorithmOf(fd) })
	return name
}

func TestSystemsCongestionControlStays(t *testing.T) {
	fresh := linked(t)
	before := inKernel(fresh)
	if got := tune(fresh, config.CongestionSystem); got != before || inKernel(fresh) != before {
		t.Errorf("%q became %q (%q)", before, got, inKernel(fresh))
	}
}

// TestNamedCongestionControl takes each algorithm that every program may take, by its name.
func TestNamedCongestionControl(t *testing.T) {
	allowed, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err != nil {
		t.Skip("the kernel does not say what it allows: ", err)
	}
	for _, name := range strings.Fields(string(allowed)) {
		if conn := linked(t); tune(conn, name) != name || inKernel(conn) != name {
			t.Errorf("%s: the socket has %q", name, inKernel(conn))
		}
	}
}

// TestUnknownCongestionControl leaves what was there.
func TestUnknownCongestionControl(t *testing.T) {
	conn := linked(t)
	before := inKernel(conn)
	if got := tune(conn, "nosuchthing"); got != before || inKernel(conn) != before {
		t.Errorf("%q became %q (%q)", before, got, inKernel(conn))
	}
}

// TestNeighboursNeedNoTimers: a client on this machine does not get BBR where there is anything else.
func TestNeighboursNeedNoTimers(t *testing.T) {
	withSocket(linked(t), func(fd int) {
		if far := roundTrip(fd) >= farAway; far {
			t.Skip("the loopback interface answered after a millisecond: the machine is busy")
		}
		choices := append(nearAlgorithms(), algorithmOf(fd))
		if got := setAlgorithm(fd, config.CongestionAuto, false); !slices.Contains(choices, got) {
			t.Errorf("%q, want one of %q", got, choices)
		}
	})
}

// TestNoSocketBelow: what is no TCP connection stays alone.
func TestNoSocketBelow(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if got := tune(a, config.CongestionAuto); got != "" {
		t.Errorf("a pipe has congestion control %q", got)
	}
}
