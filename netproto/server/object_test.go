package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/session"
	"collet/netproto/transporttest"
	"collet/platform/testlevel"
)

// TestObjectsOverEveryTransport takes all files of a release folder at once, by our own client.
func TestObjectsOverEveryTransport(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(2)
	r.Patch = strings.Repeat("0123456789abcdef", 200_000)
	f := published(t, releasetest.Standard(1), r)
	set := releaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 50_000
	h := dock(t, set)
	for _, by := range h.ways(t) {
		t.Run(by.name, func(t *testing.T) {
			client, err := session.Dial(t.Context(), session.Options{Addr: by.addr, Compatibility: "compat-2", Target: "Linux-x64", Dial: by.dialer.DialContext, Unlisted: true})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.List(t.Context()); err == nil || !client.Objects() {
				t.Errorf("objects %t, a list: %v", client.Objects(), err)
			}
			var calls sync.WaitGroup
			for name, want := range every(t, f.Dir) {
				calls.Go(func() {
					var got bytes.Buffer
					if err := client.Object(t.Context(), name, 0, -1, func(data []byte) error { got.Write(data); return nil }); err != nil || got.String() != want {
						t.Errorf("%s: %d bytes of %d, %v", name, got.Len(), len(want), err)
					}
				})
			}
			calls.Wait()
		})
	}
}

// clientFetcher brings metadata by an updater connection.
type clientFetcher struct{ *session.Client }

func (c clientFetcher) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	var got bytes.Buffer
	err := c.Object(ctx, name, 0, limit+1, func(data []byte) error { got.Write(data); return nil })
	switch err.(type) {
	case *session.MissingObjectError:
		return trust.Unverified{}, os.ErrNotExist
	case *session.ObjectEndError:
		err = nil
	}
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.ReadUnverified(&got, limit)
}

// TestUpToDate comes to the current release over an offer of C1. Whoever has it already learns so from the answer: without a
// request, and from less than a kilobyte.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1), releasetest.Standard(2))
	set := releaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 100_000
	h := start(t, set)
	known := &trust.MemoryStore{}
	for _, test := range []struct {
		name     string
		requests string
	}{{"for the first time", "2"}, {"up to date", "2"}} {
		var line counting
		client, err := session.Dial(t.Context(), session.Options{Addr: h.addr, Auto: true, Compatibility: "compat-2", Target: "Linux-x64", Unlisted: true, Dial: line.dial})
		if err != nil {
			t.Fatal(err)
		}
		verified, err := trust.Open(f.Repo.Root(), known, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		q := release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "an install"}
		if current, err := verified.Refresh(t.Context(), clientFetcher{client}, q); err != nil || current.Number != 2 || !current.Fresh {
			t.Errorf("%s: %+v, %v", test.name, current, err)
		}
		client.Close()
		var m origin.Monitor
		m.Watch(h.Server)
		if got := value(t, &m, `collet_requests_total{generation="C1",transport="tcp"}`); got != test.requests { // snapshot and list
			t.Errorf("%s: %s requests so far", test.name, got)
		}
		n := line.bytes.Load()
		t.Logf("%s: %d bytes came", test.name, n)
		if test.name == "up to date" && n > 1000 {
			t.Errorf("%d bytes came", n)
		}
	}
}

// counting counts what comes over a connection.
type counting struct{ bytes atomic.Int64 }

func (c *counting) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return countingConn{conn, c}, err
}

type countingConn struct {
	net.Conn
	of *counting
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

// big is a release with a patch that does not fit into the buffers of a connection.
func big(t *testing.T) (dir, name, content string, set config.Settings) {
	t.Helper()
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 1<<20)
	f := published(t, r)
	set = releaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = config.MaxPortion
	return f.Dir, release.ObjectOf([]byte(r.Patch)).Path(), r.Patch, set
}

// TestObjectChangesWhileItIsSent never completes an answer of a file that was written into meanwhile.
func TestObjectChangesWhileItIsSent(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for name, spoil := range map[string]func(path string) error{
		"touched":   func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) },
		"truncated": func(path string) error { return os.Truncate(path, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, object, content, set := big(t)
			h := start(t, set)
			p, _ := h.objects(t, "compat-1")
			p.send(&netproto.GetObject{Request: 1, Name: object, Length: 1 << 30})
			first := make([]byte, 1)
			if _, err := io.ReadFull(p.raw, first); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(dir, filepath.FromSlash(object))); err != nil {
				t.Fatal(err)
			}
			if n, _ := io.Copy(io.Discard, p.raw); n >= int64(len(content)) {
				t.Errorf("%d bytes came", n)
			}
			h.log.has(t, "warn", "changed while it was handed out")
		})
	}
}

// TestOriginFileChangesWhileItIsSent is the same over HTTP.
func TestOriginFileChangesWhileItIsSent(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	dir, object, content, set := big(t)
	s := openSite(t, set)
	answer, err := s.client.Get(s.url + "/" + object)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(object)), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil || n >= int64(len(content)) {
		t.Errorf("%d bytes came, %v", n, err)
	}
	s.log.has(t, "warn", "changed while it was handed out")
}

// TestOriginSlowStream ends a stream of HTTP/2 whose client takes nothing of it, while others on the connection go on.
func TestOriginSlowStream(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	_, object, content, set := big(t)
	set.Limits.ProgressTime = time.Second
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	set.Operations.HTTPCertificate, set.Operations.HTTPPrivateKey = renew(t, t.TempDir(), authority)
	s := openSite(t, set)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM())
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}, Timeout: 60 * time.Second}
	defer client.CloseIdleConnections()
	slow, err := client.Get(s.url + "/" + object)
	if err != nil || slow.ProtoMajor != 2 {
		t.Fatalf("%v, %v", slow, err)
	}
	defer slow.Body.Close()
	s.stopped(t, func() bool { return value(t, s.monitor, `collet_http_requests_total{status="200"}`) == "1" })
	if got := fetchURL(t, client, http.MethodGet, s.url+"/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("another stream: %d", got.StatusCode)
	}
	if n, err := io.Copy(io.Discard, slow.Body); err == nil || n >= int64(len(content)) {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

// FuzzOrigin asks for any path and range in any method. Nothing is given out but files of a release folder, whole or in
// the part that was asked for.
func FuzzOrigin(f *testing.F) {
	folder := published(f, releasetest.Standard(1))
	put(f, filepath.Join(folder.Dir, "metadata", "keys.pem"), "a secret")
	put(f, filepath.Join(folder.Dir, "secret.txt"), "a secret")
	set := releaseSettings(folder)
	h := start(f, set)
	h.stopped(f, h.Ready)
	var m origin.Monitor
	if err := m.Configure(set, h.logger()); err != nil {
		f.Fatal(err)
	}
	m.Watch(h.Server)
	files := every(f, folder.Dir)
	patch := release.ObjectOf([]byte(releasetest.Standard(1).Patch)).Path()
	for name := range files {
		f.Add("GET", "/"+name, "bytes=0-5")
	}
	for _, asked := range []string{"bytes=5-", "bytes=-5", "bytes=0-1,3-4", "bytes=9-1", "bytes=99999999999999999999-", "lines=1-2", "bytes=-0", ""} {
		f.Add("GET", "/"+patch, asked)
		f.Add("HEAD", "/"+patch, asked)
	}
	for _, path := range []string{"/metadata/../secret.txt", "/metadata/%2e%2e/secret.txt", "/metadata/keys.pem", "/", "//", "/metadata/1.root.json/..", "/objects/ab/\x00"} {
		f.Add("GET", path, "bytes=0-")
	}
	f.Add("POST", "/metadata/timestamp.json", "")
	f.Fuzz(func(t *testing.T, method, path, asked string) {
		if path == "/healthz" || path == "/readyz" {
			return
		}
		answer := httptest.NewRecorder()
		m.ServeHTTP(answer, &http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Range": {asked}}, ProtoMajor: 1})
		code, header, body := answer.Code, answer.Header(), answer.Body.String()
		if strings.Contains(body, "a secret") {
			t.Fatalf("%q gives a secret", path)
		}
		if code != 200 && code != 206 {
			return
		}
		whole, is := files[strings.TrimPrefix(path, "/")]
		if !is {
			t.Fatalf("%q is a file: %d", path, code)
		}
		var first, last, size int
		if code == 206 {
			if n, err := fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n != 3 || err != nil || size != len(whole) {
				t.Fatalf("%q: %q", asked, header.Get("Content-Range"))
			}
			whole = whole[first : last+1]
		}
		if method != http.MethodHead && body != whole {
			t.Fatalf("%q, %q: %d bytes, want %d", path, asked, len(body), len(whole))
		}
	})
}
