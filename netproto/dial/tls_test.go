package dial_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto/dial"
	"collet/netproto/transporttest"
)

// toLoopback dials a port of this machine, whatever was asked for.
func toLoopback(port string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
	}
}

func newAuthority(t *testing.T) *transporttest.Authority {
	t.Helper()
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// shake is a server that shakes hands with a certificate of this kind, and then only reads.
func shake(t *testing.T, authority *transporttest.Authority, spec transporttest.Spec, change func(*tls.Config)) func(net.Conn) {
	t.Helper()
	cert, key, err := authority.Issue(spec)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if change != nil {
		change(config)
	}
	return func(conn net.Conn) {
		over := tls.Server(conn, config)
		io.Copy(io.Discard, over)
		over.Close()
	}
}

// hangsUp resets a connection in the middle of the client's first words.
func hangsUp(c net.Conn) {
	_, _ = c.Read(make([]byte, 1))
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// TestTLSFaults checks the texts for each kind of rejected certificate, and for servers without TLS.
func TestTLSFaults(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	game := []string{"game.test"}
	now := time.Now()
	tests := []struct {
		name   string
		talk   func(net.Conn)
		change func(*tls.Config) // of the client
		fault  dial.CertificateFault
		says   []string
	}{
		{"expired", shake(t, ours, transporttest.Spec{Hosts: game, NotAfter: now.Add(-time.Hour)}, nil), nil, dial.CertificateDates,
			[]string{"expired on " + now.Add(-time.Hour).UTC().Format(time.DateOnly), "clock"}},
		{"of the future", shake(t, ours, transporttest.Spec{Hosts: game, NotBefore: now.Add(time.Hour)}, nil), nil, dial.CertificateDates,
			[]string{"is valid from " + now.Add(time.Hour).UTC().Format(time.DateOnly), "check the clock"}},
		{"another host", shake(t, ours, transporttest.Spec{Hosts: []string{"other.test", "192.0.2.1"}}, nil), nil, dial.CertificateHost,
			[]string{"other.test, 192.0.2.1", "--tls-name"}},
		{"no host", shake(t, ours, transporttest.Spec{Hosts: []string{}}, nil), nil, dial.CertificateHost, []string{"no host at all"}},
		{"name of many lines", shake(t, ours, transporttest.Spec{Hosts: []string{strings.Repeat("long.", 60) + "test"}}, nil), nil, dial.CertificateHost, []string{"…"}},
		{"unknown authority", shake(t, theirs, transporttest.Spec{Hosts: game}, nil), nil, dial.CertificateAuthority, []string{"--tls-ca or ClientNetwork.TlsCa"}},
		{"unknown to the system", shake(t, theirs, transporttest.Spec{Hosts: game}, nil),
			func(c *tls.Config) { c.RootCAs = nil }, dial.CertificateAuthority, []string{"this system doesn't know", "virus scanner"}},
		{"name that is asked for", shake(t, ours, transporttest.Spec{Hosts: game}, nil),
			func(c *tls.Config) { c.ServerName = "wanted.test" }, dial.CertificateHost, []string{"TLS with wanted.test", "game.test"}},
		{"no TLS", says("HTTP/1.1 400 Bad Request\r\n\r\n"), nil, 0, []string{"doesn't speak TLS on this port"}},
		{"closed", says(""), nil, 0, []string{"closed the connection during the handshake"}},
		{"reset", hangsUp, nil, 0, []string{"doesn't speak TLS on this port"}},
		{"too old", shake(t, ours, transporttest.Spec{Hosts: game}, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 }), nil, 0, []string{"the server refused", "version"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addr, _ := scripted(t, test.talk)
			_, port, _ := strings.Cut(addr, ":")
			config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
			config.RootCAs.AppendCertsFromPEM(ours.PEM())
			if test.change != nil {
				test.change(config)
			}
			d := &dial.Dialer{TLS: config, Direct: toLoopback(port)}
			_, err := d.DialContext(t.Context(), "tcp", "game.test:4000")
			var fault *dial.TLSError
			if !errors.As(err, &fault) || fault.Fault != test.fault || fault.Untrusted() != (test.fault != 0) {
				t.Fatalf("%v, want fault %v", err, test.fault)
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("says %q, want %q in it", err, word)
				}
			}
		})
	}
}

// TestTLSThroughProxy: the error of a wrong certificate names the proxy, which may be its source. The proxy is not bypassed.
func TestTLSThroughProxy(t *testing.T) {
	server, met := scripted(t, shake(t, newAuthority(t), transporttest.Spec{}, nil))
	proxy, err := transporttest.StartProxy(transporttest.ProxyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	d := via(t, "http://"+proxy.Addr())
	d.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	_, err = d.DialContext(t.Context(), "tcp", server)
	var fault *dial.TLSError
	if !errors.As(err, &fault) || !fault.Untrusted() || !strings.Contains(err.Error(), "through the proxy http://"+proxy.Addr()) {
		t.Errorf("says %v", err)
	}
	if met.Load() != 1 {
		t.Errorf("%d connections to the server", met.Load())
	}
}

// TestDeadlines: over TLS a deadline ends reading, and leaves writing as it was.
func TestDeadlines(t *testing.T) {
	authority := newAuthority(t)
	addr, _ := scripted(t, shake(t, authority, transporttest.Spec{}, nil))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	conn, err := (&dial.Dialer{TLS: &tls.Config{RootCAs: roots}}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	past := time.Unix(1, 0)
	for name, set := range map[string]func(time.Time) error{"both": conn.SetDeadline, "read": conn.SetReadDeadline, "write": conn.SetWriteDeadline} {
		if err := conn.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := set(past); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Errorf("%s: write: %v", name, err)
		}
		if name == "write" {
			continue
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read: %v", name, err)
		}
	}
}

func TestClientTLS(t *testing.T) {
	dir := t.TempDir()
	in := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	tests := []struct{ file, says string }{
		{"", ""},
		{in("ca.pem", string(newAuthority(t).PEM())), ""},
		{filepath.Join(dir, "gone.pem"), "gone.pem"},
		{in("text.pem", "no certificate"), "holds no certificate in PEM"},
		{in("huge.pem", strings.Repeat("x", 5<<20)), "longer than"},
		{dir, "authorities of TLS"},
	}
	for _, test := range tests {
		config, err := dial.ClientTLS(test.file, "game.test")
		switch {
		case test.says == "" && (err != nil || config.MinVersion != tls.VersionTLS12 || config.ServerName != "game.test" || (config.RootCAs != nil) != (test.file != "")):
			t.Errorf("%s: %+v, %v", test.file, config, err)
		case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%s: %v, want %q", test.file, err, test.says)
		}
	}
}

// TestWebSocketFaults checks the texts for servers of other protocols.
func TestWebSocketFaults(t *testing.T) {
	tests := []struct {
		name   string
		talk   func(net.Conn)
		status int
		says   string
	}{
		{"no such path", says("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nnot"), 404, "status 404 Not Found; check port and path"},
		{"a page", says("HTTP/1.1 200 OK\r\n\r\n<html>"), 200, "check port and path"},
		{"elsewhere", says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"), 302, "status 302"},
		{"no HTTP", says("\x22\x94\x1E\x01"), 0, "no WebSocket"},
		{"closed", says(""), 0, "closed the connection before its answer was complete"},
		{"endless", endless("HTTP/1.1 101 Switching Protocols\r\n"), 0, "more than 16384 bytes"},
		{"wrong key", says("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"), 101, "Sec-WebSocket-Accept"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addr, met := scripted(t, test.talk)
			_, err := (&dial.Dialer{WebSocket: "/"}).DialContext(t.Context(), "tcp", addr)
			var fault *dial.WebSocketError
			if !errors.As(err, &fault) || fault.Status != test.status || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want status %d and %q", err, test.status, test.says)
			}
			if met.Load() != 1 {
				t.Errorf("%d connections", met.Load())
			}
		})
	}
}
