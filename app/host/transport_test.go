package host

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/app/update"
	"collet/assets"
	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/session"
	"collet/netproto/transporttest"
)

func TestParseServer(t *testing.T) {
	tests := []struct {
		text, addr string // addr empty: refused
		secure     bool
		path       string
	}{
		{"game.test:4100", "game.test:4100", false, ""},
		{"127.0.0.1:1", "127.0.0.1:1", false, ""},
		{"[2001:db8::1]:1", "[2001:db8::1]:1", false, ""},
		{"tcp://game.test", "game.test:4000", false, ""},
		{"tls://game.test:4443", "game.test:4443", true, ""},
		{"TLS://game.test", "game.test:4000", true, ""},
		{"ws://game.test", "game.test:80", false, "/"},
		{"ws://game.test:4001/", "game.test:4001", false, "/"},
		{"wss://game.test/play/update%20s", "game.test:443", true, "/play/update%20s"},
		{"tls://game.test/path", "", false, ""},
		{"http://game.test", "", false, ""},
		{"tls://", "", false, ""},
		{"tls://game.test:port", "", false, ""},
		{"wss://me:secret@game.test", "", false, ""},
		{"wss://game.test/?a=b", "", false, ""},
		{"game test:1", "", false, ""},
	}
	for _, test := range tests {
		addr, secure, path, err := settings.ParseServer(test.text)
		if addr != test.addr || secure != test.secure || path != test.path || (err == nil) != (test.addr != "") {
			t.Errorf("%q: %q %v %q, %v", test.text, addr, secure, path, err)
		}
	}
}

// TestRoutes lays flags over settings over the environment.
func TestRoutes(t *testing.T) {
	dir := t.TempDir()
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"https_proxy": "socks5://me:secret@env.test"}
	tests := []struct {
		name   string
		server string
		flags  Options
		set    func(*settings.Settings)
		env    map[string]string
		tls    string // name in the certificate, "-" for no TLS
		proxy  string
		says   string // the fault
	}{
		{"plain", "game.test:1", Options{}, nil, nil, "-", "", ""},
		{"by address", "tls://game.test:1", Options{}, nil, nil, "", "", ""},
		{"by flag", "game.test:1", Options{Tls: true, TlsName: "a.test"}, nil, nil, "a.test", "", ""},
		{"by settings", "game.test:1", Options{}, func(s *settings.Settings) { s.ClientNetwork.Tls, s.ClientNetwork.TlsName = true, "b.test" }, nil, "b.test", "", ""},
		{"flag before settings", "game.test:1", Options{TlsName: "a.test"}, func(s *settings.Settings) { s.ClientNetwork.Tls, s.ClientNetwork.TlsName = true, "b.test" }, nil, "a.test", "", ""},
		{"authorities beside the program", "tls://game.test:1", Options{}, func(s *settings.Settings) { s.ClientNetwork.TlsCa = "ca.pem" }, nil, "", "", ""},
		{"no such authorities", "tls://game.test:1", Options{}, func(s *settings.Settings) { s.ClientNetwork.TlsCa = "gone.pem" }, nil, "", "", "gone.pem"},
		{"environment", "game.test:1", Options{}, nil, env, "-", "socks5://env.test:1080", ""},
		{"not the environment", "game.test:1", Options{Proxy: "direct"}, nil, env, "-", "", ""},
		{"settings before environment", "game.test:1", Options{}, func(s *settings.Settings) { s.ClientNetwork.Proxy = "set.test:1" }, env, "-", "http://set.test:1", ""},
		{"flag before settings", "game.test:1", Options{Proxy: "flag.test:1"}, func(s *settings.Settings) { s.ClientNetwork.Proxy = "direct" }, env, "-", "http://flag.test:1", ""},
		{"for this machine too", "127.0.0.1:1", Options{Proxy: "flag.test:1"}, nil, nil, "-", "http://flag.test:1", ""},
		{"bad proxy", "game.test:1", Options{}, func(s *settings.Settings) { s.ClientNetwork.Proxy = "gopher://me:secret@x" }, nil, "-", "", "ClientNetwork.Proxy"},
		{"contradiction", "game.test:1", Options{Proxy: "direct"}, func(s *settings.Settings) { s.ClientNetwork.ProxyOnly = true }, nil, "-", "", "ProxyOnly"},
		{"bad server", "gopher://game.test", Options{}, nil, nil, "-", "", "want HOST:PORT"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s settings.Settings
			if test.set != nil {
				test.set(&s)
			}
			r := newRoute(test.server, test.flags, s, dir, func(name string) string { return test.env[name] }, zerolog.Nop())
			if test.says != "" {
				if r.err == nil || !strings.Contains(r.err.Error(), test.says) || strings.Contains(r.err.Error(), "secret") {
					t.Errorf("%v, want %q", r.err, test.says)
				}
				return
			}
			if r.err != nil {
				t.Fatal(r.err)
			}
			name, proxy := "-", ""
			if r.dialer.TLS != nil {
				name = r.dialer.TLS.ServerName
			}
			if r.dialer.Proxy != nil {
				if p, err := r.dialer.Proxy(r.addr); err != nil {
					t.Error(err)
				} else if p != nil {
					proxy = p.String()
				}
			}
			if name != test.tls || proxy != test.proxy {
				t.Errorf("TLS %q by %q, want %q by %q", name, proxy, test.tls, test.proxy)
			}
		})
	}
}

// refusedConnection is what the system says where nothing listens.
func refusedConnection(t *testing.T) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		conn.Close()
		t.Skip("something else has the port by now")
	}
	return err
}

// TestFaultsOfRoutes: each fault of a connection has the cause that is shown to players.
func TestFaultsOfRoutes(t *testing.T) {
	reach := func(err error) error { return &session.UnreachableError{Addr: "game.test:1", Err: err} }
	tests := []struct {
		err       error
		cause     update.Cause
		transient bool
		refused   bool
	}{
		{reach(&dial.TLSError{Fault: dial.CertificateHost}), update.Untrusted, false, false},
		{reach(&dial.TLSError{}), update.Unreachable, true, false},
		{reach(&dial.ProxyError{Fault: dial.ProxyForbids}), update.Unreachable, true, false},
		{reach(&dial.WebSocketError{Status: 404}), update.Unreachable, true, false},
		{reach(&routeError{errProxyOnly}), update.Unreachable, false, false},
		{reach(refusedConnection(t)), update.Unreachable, true, true},
		{&session.RefusedError{Reason: netproto.RefuseGoingDown}, update.ServerFault, true, true},
		{&session.RefusedError{Reason: netproto.RefuseBusy}, update.ServerFault, true, true},
		{&session.RefusedError{Reason: netproto.RefuseChanged}, update.ServerFault, true, false},
	}
	for _, test := range tests {
		var fault *update.Fault
		if err := new(source).fault(test.err); !errors.As(err, &fault) || fault.Cause != test.cause || fault.Transient != test.transient || fault.Refused != test.refused {
			t.Errorf("%v: %+v", test.err, fault)
		}
	}
	words := map[dial.CertificateFault]string{
		dial.CertificateDates: "date and time", dial.CertificateHost: "another name", dial.CertificateAuthority: "virus scanner", dial.CertificateOther: "refused.",
	}
	h := hostWith(setup{texts: assets.TextsFor("en")})
	for kind, want := range words {
		fault := new(source).fault(reach(&dial.TLSError{Fault: kind}))
		if text := h.explain(outcomeOf(fault)); !strings.Contains(text, want) {
			t.Errorf("certificate fault %d is told as %q, want %q", kind, text, want)
		}
	}
	fault := new(source).fault(reach(&dial.ProxyError{Proxy: "socks5://proxy.test:1"}))
	if text := h.explain(outcomeOf(fault)); !strings.Contains(text, "through the proxy socks5://proxy.test:1,") {
		t.Errorf("a proxy that fails is told as %q", text)
	}
	if _, err := (route{err: errProxyOnly}).dial(context.Background(), "tcp", ""); !errors.Is(err, errProxyOnly) {
		t.Errorf("a route that is none says %v", err)
	}
}
