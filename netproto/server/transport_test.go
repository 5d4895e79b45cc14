package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/dial"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
	"collet/netproto/transporttest"
	"collet/platform/testlevel"
)

// harbour is a server that listens in every way, and what its clients need.
type harbour struct {
	*servertest.Server
	all       *server.Listeners
	authority *transporttest.Authority
	dir       string // of cert.pem, key.pem and ca.pem
	tcp       string
	tls       string
	ws        string
	wss       string
}

const anywhere = "127.0.0.1:0"

// dock starts one.
func dock(t *testing.T, set config.Settings) *harbour {
	t.Helper()
	h := &harbour{dir: t.TempDir()}
	var err error
	if h.authority, err = transporttest.NewAuthority("test authority"); err != nil {
		t.Fatal(err)
	}
	h.issue(t, transporttest.Spec{})
	set.ServerNetwork.TlsCertificate, set.ServerNetwork.TlsPrivateKey = filepath.Join(h.dir, "cert.pem"), filepath.Join(h.dir, "key.pem")
	h.Server = servertest.Open(t, set)
	at := config.Addresses{TCP: anywhere, TLS: anywhere, WebSocket: anywhere, SecureWebSocket: anywhere}
	if h.all, err = server.ListenAll(t.Context(), at, server.Sockets{}, set, h.Logger()); err != nil {
		t.Fatal(err)
	}
	addrs := h.all.Addrs()
	h.tcp, h.tls, h.ws, h.wss = addrs[0].String(), addrs[1].String(), addrs[2].String(), addrs[3].String()
	h.ServeOn(t, h.all)
	return h
}

func (h *harbour) issue(t *testing.T, spec transporttest.Spec) {
	t.Helper()
	if err := h.authority.Files(h.dir, spec); err != nil {
		t.Fatal(err)
	}
}

// trust is how a client speaks TLS with it.
func (h *harbour) trust(t testing.TB) *tls.Config {
	t.Helper()
	config, err := dial.ClientTLS(filepath.Join(h.dir, "ca.pem"), "")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// way is one transport.
type way struct {
	name, addr string
	dialer     dial.Dialer
}

func (h *harbour) ways(t testing.TB) []way {
	return []way{
		{"tcp", h.tcp, dial.Dialer{}},
		{"tls", h.tls, dial.Dialer{TLS: h.trust(t)}},
		{"ws", h.ws, dial.Dialer{WebSocket: "/"}},
		{"wss", h.wss, dial.Dialer{WebSocket: "/a/path", TLS: h.trust(t)}},
	}
}

// takeAll takes every file that is offered, by name.
func takeAll(t *testing.T, g netproto.Generation, addr string, dialer *dial.Dialer) map[string]string {
	t.Helper()
	client, err := session.Dial(t.Context(), session.Options{
		Addr: addr, Generation: g, Compatibility: servertest.Compatibility, Target: "Linux-x64", Dial: dialer.DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	offers, err := client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks := make([]session.FetchRange, len(offers))
	for i, o := range offers {
		asks[i] = session.FetchRange{Index: o.Index, End: o.Size, Size: o.Size}
	}
	got := make([]bytes.Buffer, len(offers))
	if err := client.Fetch(t.Context(), asks, func(i int, data []byte) error {
		got[i].Write(data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i, o := range offers {
		files[o.Path] = got[i].String()
	}
	return files
}

// offered are the files of the fixture for Linux-x64, by the names that clients see.
func offered() map[string]string {
	files := map[string]string{}
	for path, content := range servertest.Files() {
		if strings.HasSuffix(path, ".zip") || strings.Contains(path, "Linux-x64") {
			files[filepath.Base(path)] = content
		}
	}
	return files
}

// TestEveryTransport takes everything by every transport, in an own and in an engine's generation, directly and through
// every kind of proxy.
func TestEveryTransport(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	proxy, err := transporttest.StartProxy(transporttest.ProxyOptions{User: "me", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	want := offered()
	for _, through := range []string{"", "http://me:secret@" + proxy.Addr(), "socks5://me:secret@" + proxy.Addr()} {
		for _, way := range h.ways(t) {
			for _, g := range []netproto.Generation{netproto.C1, netproto.G1} {
				name, _, _ := strings.Cut(through, ":")
				t.Run(strings.Join([]string{name, way.name, g.String()}, " "), func(t *testing.T) {
					if through != "" {
						p, err := dial.ParseProxy(through)
						if err != nil {
							t.Fatal(err)
						}
						way.dialer.Proxy, way.dialer.ProxyOnly = dial.FixedProxy(p), true
					}
					got := takeAll(t, g, way.addr, &way.dialer)
					for path, content := range want {
						if got[path] != content {
							t.Errorf("%s: %d bytes, want %d", path, len(got[path]), len(content))
						}
					}
					if len(got) != len(want) {
						t.Errorf("%d files, want %d", len(got), len(want))
					}
				})
			}
		}
	}
	if asked := len(proxy.Asked()); asked != 16 {
		t.Errorf("the proxy was asked %d times, want 16", asked)
	}
}

// TestPortionsLargerThanRecords sends what no record of TLS and no piece of a write holds.
func TestPortionsLargerThanRecords(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 200_000)
	set := config.ForFolder(servertest.WriteFolder(t, map[string]string{"Resources/Big.zip": big}), servertest.Compatibility)
	h := dock(t, set)
	for _, way := range h.ways(t) {
		if got := takeAll(t, netproto.C1, way.addr, &way.dialer)["Big.zip"]; got != big {
			t.Errorf("%s: %d bytes arrived", way.name, len(got))
		}
	}
}

// TestRenewedCertificate renews while clients are connected: those stay, new ones see the new certificate.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	before := h.serial(t, h.tls)
	early, err := session.Dial(t.Context(), session.Options{
		Addr: h.tls, Compatibility: servertest.Compatibility, Target: "Linux-x64", Dial: (&dial.Dialer{TLS: h.trust(t)}).DialContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	h.issue(t, transporttest.Spec{})
	h.all.Reload()
	after := h.serial(t, h.tls)
	if before == after || after != h.serial(t, h.wss) {
		t.Errorf("serial numbers: %s, then %s and %s", before, after, h.serial(t, h.wss))
	}
	if _, err := early.List(t.Context()); err != nil {
		t.Errorf("a client from before the renewal: %v", err)
	}
	servertest.WriteFile(t, filepath.Join(h.dir, "key.pem"), "no key")
	h.all.Reload()
	if again := h.serial(t, h.tls); again != after {
		t.Errorf("a bad pair is in use")
	}
	h.Log.Has(t, "warn", "Refused a new certificate", "key.pem")
}

// serial is the number of the certificate that is shown.
func (h *harbour) serial(t *testing.T, addr string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, h.trust(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// TestOldTLS refuses what is older than TLS 1.2.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	config := h.trust(t)
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if conn, err := tls.Dial("tcp", h.tls, config); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	config = h.trust(t)
	config.MaxVersion = tls.VersionTLS12
	if got := takeAll(t, netproto.C1, h.tls, &dial.Dialer{TLS: config}); got["Tiny.zip"] != "tiny" {
		t.Errorf("over TLS 1.2: %q", got)
	}
}

// TestStrangersAtTheDoor sends to each port what it isn't for; a normal client is served afterwards.
func TestStrangersAtTheDoor(t *testing.T) {
	t.Parallel()
	h := dock(t, servertest.Settings(t))
	hello := []byte{0x22, 0x94, 0x1E, 0x01, 50, 0, 0, 0, 1}
	for _, addr := range []string{h.tcp, h.tls, h.ws, h.wss} {
		for _, says := range [][]byte{hello, []byte("GET / HTTP/1.1\r\n\r\n"), {0x16, 3, 1, 0xFF, 0xFF, 1}, bytes.Repeat([]byte{0xFF}, 1<<16), nil} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(2 * time.Minute))
			conn.Write(says) // a server that has closed already is one of the good ends
			conn.(*net.TCPConn).CloseWrite()
			buf := make([]byte, 1<<10)
			for err == nil {
				_, err = conn.Read(buf)
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("%s: %.20q is left waiting", addr, says)
			}
			conn.Close()
		}
	}
	h.WaitForNoClients(t) // a stranger to WebSocket has its answer, and the end of it, before the line is logged
	// All but the first of a minute are logged for those who look closer.
	h.Log.Has(t, "debug", "Invalid handshake data", "first record does not look like a TLS handshake")
	h.Log.Has(t, "debug", "Invalid handshake data", "HTTP status 426")
	for _, way := range h.ways(t) {
		if got := takeAll(t, netproto.C1, way.addr, &way.dialer); got["Tiny.zip"] != "tiny" {
			t.Errorf("%s afterwards: %q", way.name, got)
		}
	}
}

// TestHandshakeTimeCoversTransports leaves a connection in the middle of each handshake.
func TestHandshakeTimeCoversTransports(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := servertest.Settings(t)
	set.Limits.HandshakeTime = time.Second // the least that may be set
	h := dock(t, set)
	for _, test := range []struct{ name, addr, says string }{
		{"TLS silent", h.tls, ""}, {"TLS begun", h.tls, "\x16\x03\x01\x02\x00\x01"},
		{"WebSocket silent", h.ws, ""}, {"WebSocket begun", h.ws, "GET / HTTP/1.1\r\nHost: x\r\n"},
		{"secure WebSocket silent", h.wss, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", test.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(2 * time.Minute))
			if _, err := conn.Write([]byte(test.says)); err != nil {
				t.Fatal(err)
			}
			var timeout net.Error
			if _, err := conn.Read(make([]byte, 1)); errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("still open")
			}
		})
	}
}

// TestLimitsHoldForAll counts connections of all transports together.
func TestLimitsHoldForAll(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.Connections = 2
	h := dock(t, set)
	ways := h.ways(t)
	for _, way := range ways[1:3] { // one by TLS, one by WebSocket
		client, err := session.Dial(t.Context(), session.Options{
			Addr: way.addr, Compatibility: servertest.Compatibility, Target: "Linux-x64", Dial: way.dialer.DialContext,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
	}
	for _, way := range ways {
		client, err := session.Dial(t.Context(), session.Options{
			Addr: way.addr, Compatibility: servertest.Compatibility, Target: "Linux-x64", Dial: way.dialer.DialContext,
		})
		if err == nil {
			client.Close()
			t.Errorf("a third client is served by %s", way.name)
		}
	}
}

// TestListenAllFaults wants a name and a reason for whatever keeps a server from listening, and no port left behind.
func TestListenAllFaults(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", anywhere)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Files(dir, transporttest.Spec{}); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	servertest.WriteFile(t, in("text.pem"), "no PEM")
	servertest.WriteFile(t, in("other.pem"), "")
	servertest.WriteFile(t, in("huge.pem"), strings.Repeat("x", 2<<20))
	_, otherKey, err := authority.Issue(transporttest.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("other.pem"), otherKey, 0o600); err != nil {
		t.Fatal(err)
	}
	secure := config.Addresses{TCP: anywhere, TLS: anywhere}
	tests := []struct {
		name      string
		at        config.Addresses
		cert, key string
		says      []string
	}{
		{"nowhere", config.Addresses{}, "", "", []string{"no address"}},
		{"taken", config.Addresses{TCP: taken.Addr().String()}, "", "", []string{"--listen or Network.ServerPort"}},
		{"WebSocket taken", config.Addresses{TCP: anywhere, WebSocket: taken.Addr().String()}, "", "", []string{"--listen-ws", "Network.WebSocketPort"}},
		{"TLS taken", config.Addresses{TLS: taken.Addr().String()}, "cert.pem", "key.pem", []string{"--listen-tls", "Network.TlsPort"}},
		{"no certificate", secure, "", "", []string{"ServerNetwork.TlsCertificate", "--tls-cert"}},
		{"no key", secure, "cert.pem", "", []string{"ServerNetwork.TlsCertificate", "--tls-key"}},
		{"no file", secure, "gone.pem", "key.pem", []string{"gone.pem", "no such file"}},
		{"no PEM", secure, "text.pem", "key.pem", []string{"text.pem", "PEM"}},
		{"too long", secure, "huge.pem", "key.pem", []string{"huge.pem", "longer"}},
		{"other key", secure, "cert.pem", "other.pem", []string{"cert.pem", "other.pem", "does not match"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := config.Defaults()
			if test.cert != "" {
				set.ServerNetwork.TlsCertificate = in(test.cert)
			}
			if test.key != "" {
				set.ServerNetwork.TlsPrivateKey = in(test.key)
			}
			log := &servertest.Log{}
			all, err := server.ListenAll(t.Context(), test.at, server.Sockets{}, set, log.Logger())
			if err == nil {
				all.Close()
				t.Fatal("listens")
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("says %q, want %q in it", err, word)
				}
			}
			var network *server.ListenError
			checked := server.CheckCertificates(test.at, set, log.Logger())
			if (checked == nil) != errors.As(err, &network) || checked != nil && checked.Error() != err.Error() {
				t.Errorf("checked without listening: %v", checked)
			}
		})
	}
}

// TestExpiredAtStart starts with an expired certificate, and logs that.
func TestExpiredAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Files(dir, transporttest.Spec{NotAfter: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	set := config.Defaults()
	set.ServerNetwork.WssCertificate, set.ServerNetwork.WssPrivateKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	log := &servertest.Log{}
	all, err := server.ListenAll(t.Context(), config.Addresses{SecureWebSocket: anywhere}, server.Sockets{}, set, log.Logger())
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	log.Has(t, "warn", "Clients will refuse the certificate", "expired on")
	log.Has(t, "info", "Listens for WebSocket over TLS", all.Addr().String())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM())
	go func() { // shakes hands from the server's side
		if conn, err := all.Accept(); err == nil {
			conn.Read(make([]byte, 1))
			conn.Close()
		}
	}()
	var untrusted *dial.TLSError
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dialer := dial.Dialer{TLS: &tls.Config{RootCAs: pool}, WebSocket: "/"}
	if _, err := dialer.DialContext(ctx, "tcp", all.Addr().String()); !errors.As(err, &untrusted) || untrusted.Fault != dial.CertificateDates {
		t.Errorf("the client says %v", err)
	}
}

// TestTransportSettings checks what settings say about ports and files.
func TestTransportSettings(t *testing.T) {
	t.Parallel()
	base := "CompatibilityVersion = \"x\"\n"
	tests := []struct{ text, says string }{
		{"Network.TlsPort = 4443\nNetwork.WebSocketPort = 4001", ""},
		{"Network.TlsPort = 4000", "is the port of Network.ServerPort too"},
		{"Network.TlsPort = 4001\nNetwork.WebSocketPort = 4001", "is the port of Network.TlsPort too"},
		{"Network.WebSocketPort = -1", "between 1 and 65535"},
		{"Network.TlsPort = 65536", "between 1 and 65535"},
		{"Network.SecuredWebSockets = true", "needs Network.WebSocketPort"},
		{"Network.SecuredWebSockets = 1", "want true or false"},
	}
	for _, test := range tests {
		file := filepath.Join(t.TempDir(), "server.toml")
		servertest.WriteFile(t, file, base+test.text)
		_, err := config.Load(file, "")
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want %q", test.text, err, test.says)
		}
	}
	dir := t.TempDir()
	servertest.WriteFile(t, filepath.Join(dir, "server.toml"), base+"[Network]\nWebSocketPort = 4001\nSecuredWebSockets = true\n[ServerNetwork]\nTlsCertificate = \"tls/cert.pem\"\nWssPrivateKey = \"/k.pem\"\n")
	set, err := config.Load(filepath.Join(dir, "server.toml"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := set.ServerNetwork; got.TlsCertificate != filepath.Join(dir, "tls/cert.pem") || got.WssPrivateKey != "/k.pem" || got.WssCertificate != "" {
		t.Errorf("files %+v", got)
	}
	if got, want := set.Addresses(), (config.Addresses{TCP: ":4000", SecureWebSocket: ":4001"}); got != want {
		t.Errorf("addresses %+v, want %+v", got, want)
	}
}
