package den

import (
	"net/netip"
	"testing"
)

func TestAddressForms(t *testing.T) {
	for address, want := range map[string]struct {
		host string
		port uint16
	}{
		"example.org":      {"example.org", DefaultPort},
		"example.org:80":   {"example.org", 80},
		"192.0.2.7":        {"192.0.2.7", DefaultPort},
		"192.0.2.7:0":      {"192.0.2.7", 0},
		"::1":              {"::1", DefaultPort},
		"2001:db8::7:8":    {"2001:db8::7:8", DefaultPort},
		"[::1]:3414":       {"::1", 3414},
		"[::1]":            {"::1", DefaultPort},
		"[fe80::1%eth0]:7": {"fe80::1%eth0", 7},
		"fe80::1%eth0":     {"fe80::1%eth0", DefaultPort},
		"localhost:65535":  {"localhost", 65535},
	} {
		host, port, err := splitAddress(address)
		if err != nil || host != want.host || port != want.port {
			t.Errorf("%q is %q port %d, %v", address, host, port, err)
		}
	}
	for _, address := range []string{
		"", ":", ":3413", "host:", "host:70000", "host:-1", "host:http", "[::1", "[::1]3413", "[::1]:", "[192.0.2.7]:1",
		"[host]:1", "a/b", "a b:1", "1:2:3",
	} {
		if host, port, err := splitAddress(address); err == nil {
			t.Errorf("%q is %q port %d", address, host, port)
		}
	}
}

func TestLocalhostIsFourFirst(t *testing.T) {
	got, err := resolve(t.Context(), "localhost")
	if err != nil {
		t.Skipf("no localhost here: %v", err)
	}
	if want := netip.MustParseAddrPort("127.0.0.1:3413"); got[0] != want {
		t.Errorf("localhost is %v, want %v", got[0], want)
	}
}

func TestStarIsNotLoopback(t *testing.T) {
	got, err := listenAddress(t.Context(), "*")
	if err != nil {
		t.Skipf("only loopback here: %v", err)
	}
	if got.Addr().IsLoopback() || got.Port() != DefaultPort {
		t.Errorf("* is %v", got)
	}
	for _, address := range []string{"*:3413", ":3413"} {
		if got, err := listenAddress(t.Context(), address); err == nil {
			t.Errorf("%q is %v", address, got)
		}
	}
}
