package download_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/app/download"
	"collet/netproto/dial"
	"collet/platform/testwait"
)

// trusting is what a client of this server trusts.
func trusting(server *httptest.Server) *tls.Config {
	return server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

// notes is a handler that remembers the requests.
type notes struct {
	http.Handler
	mu       sync.Mutex
	requests []*http.Request
}

func (n *notes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.requests = append(n.requests, r.Clone(context.Background()))
	n.mu.Unlock()
	n.Handler.ServeHTTP(w, r)
}

func (n *notes) all() []*http.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests)
}

// connections counts how many connections a server got.
func connections(server *httptest.Server) func() int {
	var mu sync.Mutex
	count := 0
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			count++
		}
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

// TestRequest looks at what a server is asked.
func TestRequest(t *testing.T) {
	data := random(200_000, 1)
	server := &notes{Handler: http.StripPrefix("/game%20x/release", holding(data))}
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	base := strings.Replace(listener.URL, "http://", "http://me:secret@", 1) + "/game%20x/release/"
	mirror := wayTo(t, base, download.HTTPOptions{Agent: "1.2.3"})
	if strings.Contains(mirror.Name(), "secret") || !strings.Contains(mirror.Name(), listener.URL) {
		t.Errorf("the name is %s", mirror.Name())
	}
	if err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), freshSpool(t), nil); err == nil {
		t.Error("StripPrefix takes decoded paths, and was given another")
	}
	server.Handler = http.StripPrefix("/game x/release", holding(data))
	if err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), freshSpool(t), nil); err != nil {
		t.Error(err)
	}
	for _, r := range server.all() {
		user, password, _ := r.BasicAuth()
		if r.UserAgent() != "Collet/1.2.3" || r.Header.Get("Accept-Encoding") != "identity" || user != "me" || password != "secret" ||
			strings.Count(r.Header.Get("Range"), "-") != 1 {
			t.Errorf("asked %s %v", r.URL, r.Header)
		}
	}
}

func TestBadBase(t *testing.T) {
	for _, base := range []string{"", "example.org", "ftp://example.org/", "http:///x", "github://o/r?q=1", "http://h/?sig=secret#f", "http://h/#f", "http://me:secret@h/%zz"} {
		_, err := download.NewHTTPMirror(base, download.HTTPOptions{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	mirror := wayTo(t, "http://127.0.0.1:1", download.HTTPOptions{})
	for _, bad := range []struct {
		name     string
		from, to int64
	}{{"../x", 0, -1}, {"/x", 0, -1}, {"", 0, -1}, {strings.Repeat("x", 200), 0, -1}, {"x", -1, 5}, {"x", 5, 5}, {"x", 5, 4}} {
		if _, err := mirror.Get(t.Context(), bad.name, bad.from, bad.to, 10); err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestConnectionsAreKept asks for much, and for little many times, over few connections.
func TestConnectionsAreKept(t *testing.T) {
	data := random(30_000_000, 1)
	server := httptest.NewUnstartedServer(holding(data))
	count := connections(server)
	server.Start()
	t.Cleanup(server.Close)
	began := time.Now()
	o := download.FetchOptions{MaxInFlight: 2, Now: func() time.Time { return began }} // no request is slow, and given up
	f := fetcher(t, o, wayTo(t, server.URL, download.HTTPOptions{}))
	if err := f.Whole(t.Context(), object(data), freshSpool(t), nil); err != nil {
		t.Fatal(err)
	}
	ranges := []download.Range{}
	for i := range int64(200) {
		ranges = append(ranges, download.Range{Start: i * 100_000, End: i*100_000 + 100})
	}
	checkRanges(t, f, data, ranges)
	if n := count(); n > 4 {
		t.Errorf("%d connections for 2 requests at a time", n)
	}
}

// TestHTTP2 uses one connection where the server offers it.
func TestHTTP2(t *testing.T) {
	data := random(10_000_000, 1)
	server := httptest.NewUnstartedServer(nil)
	seen := &notes{Handler: holding(data)}
	server.Config.Handler = seen
	server.EnableHTTP2 = true
	count := connections(server)
	server.StartTLS()
	t.Cleanup(server.Close)
	mirror := wayTo(t, server.URL, download.HTTPOptions{TLS: trusting(server)})
	s := freshSpool(t)
	if err := fetcher(t, download.FetchOptions{}, mirror).Whole(t.Context(), object(data), s, nil); err != nil || !bytes.Equal(content(t, s, object(data)), data) {
		t.Fatalf("wrong bytes, or %v", err)
	}
	for _, r := range seen.all() {
		if r.ProtoMajor != 2 {
			t.Errorf("asked by %s", r.Proto)
		}
	}
	if n := count(); n > 2 { // two that were made at the same moment
		t.Errorf("%d connections", n)
	}
}

// TestTLSFaults has a server with an untrusted certificate, and one with an old version of TLS.
func TestTLSFaults(t *testing.T) {
	data := random(1000, 1)
	for name, config := range map[string]*tls.Config{"untrusted issuer": nil, "old": {MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}} {
		server := httptest.NewUnstartedServer(holding(data))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = config
		server.StartTLS()
		t.Cleanup(server.Close)
		o := download.HTTPOptions{}
		if config != nil {
			o.TLS = trusting(server)
			o.TLS.MinVersion = tls.VersionTLS10
		}
		err := fetcher(t, download.FetchOptions{}, wayTo(t, server.URL, o)).Whole(t.Context(), object(data), freshSpool(t), nil)
		var network *download.NetError
		if !errors.As(err, &network) || network.Kind != download.NetTLS {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	addr := testwait.FreeAddress(t)
	_, err := fetcher(t, download.FetchOptions{}, wayTo(t, "http://"+addr, download.HTTPOptions{})).Small(t.Context(), "metadata/timestamp.json", 10, nil)
	var network *download.NetError
	if !errors.As(err, &network) || network.Kind != download.NetUnreachable || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v", err)
	}
}

// TestCloseOfAWay: Close ends requests in flight, and later ones fail.
func TestCloseOfAWay(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-hold
	}))
	t.Cleanup(func() {
		close(hold)
		server.Close()
	})
	mirror, err := download.NewHTTPMirror(server.URL, download.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := mirror.Get(t.Context(), "x", 0, -1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := mirror.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(body); err == nil {
		t.Error("the body came to an end")
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := mirror.Get(t.Context(), "x", 0, -1, 10); err == nil {
		t.Error("a closed way answers")
	}
}

// proxied is an HTTP proxy for requests with full URLs, and optionally for CONNECT.
type proxied struct {
	mu     sync.Mutex
	plain  int
	tunnel int
}

func (p *proxied) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if r.Method == http.MethodConnect {
		p.tunnel++
	} else {
		p.plain++
	}
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		answer, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		for key, values := range answer.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(there, here); _ = there.Close() })
	both.Go(func() { _, _ = io.Copy(here, there); _ = here.Close() })
	both.Wait()
}

func (p *proxied) counts() (plain, tunnel int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plain, p.tunnel
}

// TestProxies goes through proxies of both kinds, and around broken ones.
func TestProxies(t *testing.T) {
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	data := random(100_000, 1)
	plainServer := httptest.NewServer(holding(data))
	t.Cleanup(plainServer.Close)
	secure := httptest.NewUnstartedServer(holding(data))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	dead := "http://127.0.0.1:1"
	for _, test := range []struct {
		name          string
		base          string
		dead, only    bool
		plain, tunnel bool // what the proxy was asked
		kind          download.NetKind
	}{
		{name: "plain", base: plainServer.URL, plain: true},
		{name: "tunnel", base: secure.URL, tunnel: true},
		{name: "plain, dead", base: plainServer.URL, dead: true},
		{name: "tunnel, dead", base: secure.URL, dead: true},
		{name: "plain, dead and the only way", base: plainServer.URL, dead: true, only: true, kind: download.NetProxy},
		{name: "tunnel, dead and the only way", base: secure.URL, dead: true, only: true, kind: download.NetProxy},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := &proxied{}
			proxy := httptest.NewServer(handler)
			defer proxy.Close()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			address := proxy.URL
			if test.dead {
				address = dead
			}
			through, err := dial.ParseProxy(address)
			if err != nil {
				t.Fatal(err)
			}
			o := download.HTTPOptions{Proxy: dial.FixedProxy(through), ProxyOnly: test.only, TLS: trusting(secure)}
			if o.PlainProxy, err = download.PlainProxy(address, nil); err != nil {
				t.Fatal(err)
			}
			mirror, err := download.NewHTTPMirror(test.base, o)
			if err != nil {
				t.Fatal(err)
			}
			f, err := download.NewFetcher([]download.Mirror{mirror}, download.FetchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			err = f.Whole(t.Context(), object(data), freshSpool(t), nil)
			f.Close()
			if closed := mirror.Close(); closed != nil {
				t.Error(closed)
			}
			var network *download.NetError
			if (test.kind != "") != errors.As(err, &network) || network != nil && network.Kind != test.kind {
				t.Errorf("got %v", err)
			}
			if plain, tunnel := handler.counts(); plain > 0 != test.plain || tunnel > 0 != test.tunnel {
				t.Errorf("the proxy got %d plain requests and %d for tunnels", plain, tunnel)
			}
		})
	}
}

// TestPlainProxySetting reads settings and environments.
func TestPlainProxySetting(t *testing.T) {
	env := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	for _, test := range []struct {
		text string
		vars map[string]string
		want string // for http://example.org/; empty is none
		bad  bool
	}{
		{text: "direct"},
		{text: "proxy:3128", want: "http://proxy:3128"},
		{text: "socks5://p:1", want: "socks5://p:1"},
		{text: "gopher://me:secret@p", bad: true},
		{},
		{vars: map[string]string{"HTTP_PROXY": "http://a:1"}, want: "http://a:1"},
		{vars: map[string]string{"http_proxy": "http://b:1"}, want: "http://b:1"},
		{vars: map[string]string{"HTTPS_PROXY": "http://c:1"}},
		{vars: map[string]string{"HTTP_PROXY": "http://a:1", "NO_PROXY": "example.org"}},
	} {
		choose, err := download.PlainProxy(test.text, env(test.vars))
		if test.bad {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		got := ""
		if choose != nil {
			u, err := choose(&url.URL{Scheme: "http", Host: "example.org", Path: "/"})
			if err != nil {
				t.Error(err)
			} else if u != nil {
				got = u.String()
			}
		}
		if got != test.want {
			t.Errorf("%+v gives %q", test, got)
		}
	}
}

// TestRedirectKeepsRange follows a redirect to another server with the range that was asked for.
func TestRedirectKeepsRange(t *testing.T) {
	data := random(500_000, 1)
	store := holding(data)
	there := httptest.NewServer(store)
	t.Cleanup(there.Close)
	mirror := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, there.URL+r.URL.Path, http.StatusFound)
	}))
	checkRanges(t, fetcher(t, download.FetchOptions{}, mirror), data, []download.Range{{Start: 7, End: 70_000}, {Start: 400_000, End: 400_005}})
	for _, asked := range store.requests() {
		if !strings.Contains(asked, "bytes=") {
			t.Errorf("asked for %s", asked)
		}
	}
}

// TestCancelledGet returns soon.
func TestCancelledGet(t *testing.T) {
	hold := make(chan struct{})
	mirror := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer close(hold)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := mirror.Get(ctx, "x", 0, -1, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
