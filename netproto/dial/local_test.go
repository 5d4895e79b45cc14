package dial_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"collet/netproto/dial"
	"collet/netproto/transporttest"
)

func TestIsLocalHost(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": true, "::": true, "localhost": true, "LocalHost.": true, "a.localhost": true,
		"10.0.0.1": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "fe80::1": true, "fe80::1%eth0": true, "fd00::1": true,
		"::ffff:127.0.0.1": true, "::ffff:10.0.0.1": true, "224.0.0.1": true, "100.64.0.1": true, "127.1": true, "2130706433": true, "0x7f000001": true,
		"192.0.2.1": false, "2001:db8::1": false, "172.32.0.1": false, "game.test": false, "4game.test": false,
	} {
		if got := dial.IsLocalHost(host); got != want {
			t.Errorf("%s: %t, want %t", host, got, want)
		}
	}
}

// TestPublicOnly: neither an address nor a name leads to this machine, directly or through a proxy; the proxy itself may be local.
func TestPublicOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	proxy, err := transporttest.StartProxy(transporttest.ProxyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	through, err := dial.ParseProxy(proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	own := listener.Addr().String()
	_, port, _ := net.SplitHostPort(own)
	for name, d := range map[string]*dial.Dialer{
		"directly": {PublicOnly: true}, "through a proxy": {PublicOnly: true, Proxy: dial.FixedProxy(through)},
		"by a dialer of its own": {PublicOnly: true, Direct: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, own) // where a name leads
		}},
	} {
		for _, addr := range []string{own, "localhost:" + port, "[::ffff:127.0.0.1]:" + port} {
			conn, err := d.DialContext(t.Context(), "tcp", addr)
			var local *dial.LocalAddressError
			if !errors.As(err, &local) {
				t.Errorf("%s to %s: %v, %v", name, addr, conn, err)
			}
		}
	}
	if asked := proxy.Asked(); len(asked) != 0 {
		t.Errorf("the proxy was asked for %q", asked)
	}
	named := &dial.Dialer{PublicOnly: true, Direct: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, own)
	}}
	var local *dial.LocalAddressError
	if _, err := named.DialContext(t.Context(), "tcp", "game.test:1"); !errors.As(err, &local) {
		t.Errorf("a name that leads here: %v", err)
	}
	if conn, err := (&dial.Dialer{Proxy: dial.FixedProxy(through), PublicOnly: true}).DialContext(t.Context(), "tcp", "game.test:1"); err == nil {
		conn.Close()
	} else if errors.As(err, &local) {
		t.Errorf("the proxy itself: %v", err)
	}
}
