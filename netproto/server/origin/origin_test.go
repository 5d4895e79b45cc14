package origin_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/netproto/transporttest"
	"collet/platform/testlevel"
)

// site is a server whose HTTP port is open.
type site struct {
	*servertest.Server
	monitor *origin.Monitor
	url     string
	client  *http.Client
	dir     string // the release folder, where a test says it
}

// open serves a release folder over HTTP, and to players, until the test ends.
func openSite(t testing.TB, set config.Settings) *site {
	t.Helper()
	h := servertest.Start(t, set)
	s := &site{Server: h, monitor: servertest.NewMonitor(h)}
	if err := s.monitor.Configure(set, s.Logger()); err != nil {
		t.Fatal(err)
	}
	s.WaitUntil(t, s.Ready)
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.monitor.Watch(s.Server.Server)
	s.url = "http://" + listener.Addr().String()
	if set.Operations.HTTPCertificate != "" {
		s.url = "https://" + listener.Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.monitor.ServeMonitor(ctx, listener, s.Logger()); err != nil {
			t.Error(err)
		}
	})
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 2 * time.Minute}
	t.Cleanup(func() { s.client.CloseIdleConnections(); stop(); serving.Wait() })
	return s
}

// fetched is an answer that was read to its end.
type fetched struct {
	*http.Response
	body string
}

// request makes one; headers are name and value by turns.
func (s *site) request(t testing.TB, method, path string, headers ...string) fetched {
	t.Helper()
	return fetchURL(t, s.client, method, s.url+path, headers...)
}

func fetchURL(t testing.TB, client *http.Client, method, url string, headers ...string) fetched {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return fetched{answer, string(body)}
}

func etag(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// targetedCache is what a CDN may do with what changes under its name.
const targetedCache = "max-age=30, stale-while-revalidate=60, stale-if-error=86400"

// TestOriginFiles hands out every file of the folder with the headers that it should have.
func TestOriginFiles(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1), releasetest.Standard(2))
	s := openSite(t, servertest.ReleaseSettings(f))
	for name, want := range servertest.ReadFolder(t, f.Dir) {
		got := s.request(t, http.MethodGet, "/"+name, "Accept-Encoding", "gzip, br")
		h := got.Header
		cache, kind := "public, max-age=31536000, immutable", "application/octet-stream"
		sequel, tag := strings.HasPrefix(name, "sequels/"), etag(want)
		if sequel {
			tag = h.Get("Etag") // which is made of its time and size, as nginx does it
		}
		targeted := ""
		if name == "metadata/timestamp.json" || sequel {
			cache, targeted = "no-cache", targetedCache
		}
		if !strings.HasPrefix(name, "objects/") && !sequel {
			kind = "application/json"
		}
		if got.StatusCode != 200 || got.body != want || h.Get("Cache-Control") != cache || h.Get("CDN-Cache-Control") != targeted || h.Get("Content-Type") != kind || h.Get("Etag") != tag || len(tag) < 10 ||
			h.Get("Accept-Ranges") != "bytes" || h.Get("Content-Encoding") != "" || h.Get("Last-Modified") != "" || got.ContentLength != int64(len(want)) {
			t.Errorf("%s: %d, %d bytes, %v", name, got.StatusCode, len(got.body), h)
		}
		head := s.request(t, http.MethodHead, "/"+name, "Range", "bytes=0-0")
		if head.StatusCode != 200 || head.body != "" || head.ContentLength != int64(len(want)) || head.Header.Get("Etag") != tag {
			t.Errorf("HEAD %s: %d, %v", name, head.StatusCode, head.Header)
		}
		if same := s.request(t, http.MethodGet, "/"+name, "If-None-Match", tag); same.StatusCode != 304 || same.body != "" || same.Header.Get("Etag") != tag || same.Header.Get("Cache-Control") != cache || same.Header.Get("CDN-Cache-Control") != targeted {
			t.Errorf("%s again: %d, %v", name, same.StatusCode, same.Header)
		}
	}
}

// TestOriginRanges is RFC 9110, section 14, as far as it concerns a server of whole files.
func TestOriginRanges(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	s := openSite(t, servertest.ReleaseSettings(f))
	patch := releasetest.Standard(1).Patch
	path := "/" + release.ObjectOf([]byte(patch)).Path()
	n := len(patch)
	whole := ""
	for _, test := range []struct {
		asked string
		code  int
		want  string // Content-Range
	}{
		{"bytes=0-0", 206, "bytes 0-0/100000"},
		{"bytes=5-9", 206, "bytes 5-9/100000"},
		{"bytes=99990-", 206, "bytes 99990-99999/100000"},
		{"bytes=99990-200000", 206, "bytes 99990-99999/100000"},
		{"bytes=5-99999999999999999999", 206, "bytes 5-99999/100000"},
		{"bytes=-10", 206, "bytes 99990-99999/100000"},
		{"bytes=-200000", 206, "bytes 0-99999/100000"},
		{"bytes=-99999999999999999999", 206, "bytes 0-99999/100000"},
		{"BYTES=5-9", 206, "bytes 5-9/100000"},
		{"bytes= 5-9 ", 206, "bytes 5-9/100000"},
		{"bytes=0-65535", 206, "bytes 0-65535/100000"},
		{"bytes=100000-", 416, "bytes */100000"},
		{"bytes=100000-100001", 416, "bytes */100000"},
		{"bytes=99999999999999999999-", 416, "bytes */100000"},
		{"bytes=-0", 416, "bytes */100000"},
		{"bytes=0-0,5-9", 200, whole},
		{"bytes=0-0, -1", 200, whole},
		{"bytes=", 200, whole},
		{"bytes=-", 200, whole},
		{"bytes=9-5", 200, whole},
		{"bytes=a-b", 200, whole},
		{"bytes=+1-5", 200, whole},
		{"bytes=0x1-5", 200, whole},
		{"bytes 0-5", 200, whole},
		{"lines=0-5", 200, whole},
		{"", 200, whole},
	} {
		got := s.request(t, http.MethodGet, path, "Range", test.asked)
		if got.StatusCode != test.code || got.Header.Get("Content-Range") != test.want {
			t.Errorf("%q: %d %q", test.asked, got.StatusCode, got.Header.Get("Content-Range"))
			continue
		}
		var first, last int
		switch test.code {
		case 206:
			fmt.Sscanf(test.want, "bytes %d-%d/", &first, &last)
			if got.body != patch[first:last+1] || got.ContentLength != int64(last+1-first) {
				t.Errorf("%q: %d bytes", test.asked, len(got.body))
			}
		case 200:
			if len(got.body) != n {
				t.Errorf("%q: %d bytes", test.asked, len(got.body))
			}
		}
	}
	if got := s.request(t, http.MethodGet, path, "Range", "bytes=0-0", "Range", "bytes=5-9"); got.StatusCode != 200 {
		t.Errorf("two fields: %d", got.StatusCode)
	}
	empty := release.ObjectOf(nil).Path()
	if got := s.request(t, http.MethodGet, "/"+empty, "Range", "bytes=0-"); got.StatusCode != 200 || got.body != "" {
		t.Errorf("of an empty file: %d", got.StatusCode)
	}
}

// TestOriginConditions is RFC 9110, section 13, for strong validators.
func TestOriginConditions(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	s := openSite(t, servertest.ReleaseSettings(f))
	patch := releasetest.Standard(1).Patch
	path, tag := "/"+release.ObjectOf([]byte(patch)).Path(), etag(patch)
	for _, test := range []struct {
		name    string
		headers []string
		code    int
	}{
		{"the same", []string{"If-None-Match", tag}, 304},
		{"weak comparison", []string{"If-None-Match", "W/" + tag}, 304},
		{"one of several", []string{"If-None-Match", `"x", ` + tag}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another", []string{"If-None-Match", `"x"`}, 200},
		{"match", []string{"If-Match", tag}, 200},
		{"no match", []string{"If-Match", `"x"`}, 412},
		{"no strong match", []string{"If-Match", "W/" + tag}, 412},
		{"range of the same", []string{"Range", "bytes=0-5", "If-Range", tag}, 206},
		{"range of another", []string{"Range", "bytes=0-5", "If-Range", `"x"`}, 200},
		{"range of a weak one", []string{"Range", "bytes=0-5", "If-Range", "W/" + tag}, 200},
		{"range of a time", []string{"Range", "bytes=0-5", "If-Range", time.Now().UTC().Format(http.TimeFormat)}, 200},
		{"a time, which is not known here", []string{"If-Modified-Since", time.Now().UTC().Format(http.TimeFormat)}, 200},
	} {
		if got := s.request(t, http.MethodGet, path, test.headers...); got.StatusCode != test.code {
			t.Errorf("%s: %d, want %d", test.name, got.StatusCode, test.code)
		}
	}
}

// TestOriginRefusals checks that nothing else is served, and that caches don't store the refusal.
func TestOriginRefusals(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	store := releasetest.Store(f.Dir)
	for _, name := range []string{"metadata/keys.pem", "metadata/.hidden", "secret.txt", "metadata/9.targets.json"} {
		if err := store.Save(name, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	s := openSite(t, servertest.ReleaseSettings(f))
	if err := store.Save("metadata/2.root.json", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("ab", 32)
	for _, path := range []string{
		"/metadata", "/metadata/", "/objects/", "/objects/ab/", "/releases/", "/metadata/keys.pem", "/metadata/.hidden", "/metadata/9.targets.json",
		"/metadata/2.root.json", "/sequels/" + sum + ".sequel", "/objects/ab/" + sum, "/releases/" + sum + ".release", "/secret.txt", "/Resources/Core.zip", "/.collet-server/",
		"/metadata/../secret.txt", "/metadata/%2e%2e/secret.txt", "/metadata/..%2fsecret.txt", "/objects/ab/../../secret.txt", "/%6detadata/keys.pem",
		"/metadata//timestamp.json", "//metadata/timestamp.json", "/metadata/timestamp.json/", "/metadata/timestamp.json%00", "/",
	} {
		raw := rawly(t, s, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if raw.StatusCode != 404 || strings.Contains(raw.body, "secret") {
			t.Errorf("%s: %d %q", path, raw.StatusCode, raw.body)
		}
		if strings.HasPrefix(path, "/metadata") && raw.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be remembered: %v", path, raw.Header)
		}
		targeted := "" // a CDN may remember what clients ask for in vain
		if path == "/metadata/2.root.json" || strings.HasPrefix(path, "/sequels/") {
			targeted = targetedCache
		}
		if got := raw.Header.Get("CDN-Cache-Control"); got != targeted {
			t.Errorf("%s: %q for a CDN", path, got)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"} {
		if got := s.request(t, method, "/metadata/timestamp.json"); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, %v", method, got.StatusCode, got.Header)
		}
	}
	for status, least := range map[string]int{"404": 10, "405": 5} {
		var n int
		fmt.Sscan(servertest.MetricValue(t, s.monitor, `collet_http_requests_total{status="`+status+`"}`), &n)
		if n < least {
			t.Errorf("%d answers %s were counted", n, status)
		}
	}
}

// rawly sends bytes as they stand and reads one answer.
func rawly(t testing.TB, s *site, text string) fetched {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{answer, string(body)}
}

// TestOriginPrefix moves the folder, or takes it away, and leaves metrics where they are.
func TestOriginPrefix(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	for _, test := range []struct {
		prefix string
		found  string
	}{{"/", "/"}, {"/game/files/", "/game/files/"}, {"", ""}} {
		t.Run(test.prefix, func(t *testing.T) {
			f := published(t, releasetest.Standard(1))
			set := servertest.ReleaseSettings(f)
			set.Release.HTTPPrefix = test.prefix
			s := openSite(t, set)
			for _, prefix := range []string{"/", "/game/files/", "/game/"} {
				want := 404
				if prefix == test.found {
					want = 200
				}
				if got := s.request(t, http.MethodGet, prefix+"metadata/timestamp.json"); got.StatusCode != want {
					t.Errorf("below %s: %d", prefix, got.StatusCode)
				}
			}
			for path, text := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
				if got := s.request(t, http.MethodGet, path); got.StatusCode != 200 || !strings.Contains(got.body, text) {
					t.Errorf("%s: %d", path, got.StatusCode)
				}
			}
		})
	}
}

// TestMetricsAreNotForEverybody hides what is an operator's from those who may not ask.
func TestMetricsAreNotForEverybody(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Operations.MetricsFrom = []string{"192.0.2.0/24"}
	s := openSite(t, set)
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/"} {
		got := s.request(t, http.MethodGet, path)
		if got.StatusCode != 404 || strings.Contains(got.body, "collet") || strings.Contains(got.body, "ask for") || (path == "/") != strings.Contains(got.body, "This is an update server") {
			t.Errorf("%s: %d %q", path, got.StatusCode, got.body)
		}
	}
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("the release folder: %d", got.StatusCode)
	}
}

// TestOriginFollowsTheCatalogue changes the timestamp with the catalogue and not with the folder.
func TestOriginFollowsTheCatalogue(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	s := openSite(t, set)
	first := s.request(t, http.MethodGet, "/metadata/timestamp.json")
	servertest.Publish(t, f, releasetest.Standard(2))
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json", "If-None-Match", first.Header.Get("Etag")); got.StatusCode != 304 {
		t.Errorf("before the reload: %d", got.StatusCode)
	}
	if got := s.request(t, http.MethodGet, "/metadata/3.targets.json"); got.StatusCode != 404 {
		t.Errorf("a list that is not verified: %d", got.StatusCode)
	}
	if err := s.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json", "If-None-Match", first.Header.Get("Etag")); got.StatusCode != 200 || got.body == first.body {
		t.Errorf("behind it: %d", got.StatusCode)
	}
	for _, name := range []string{"2.targets.json", "3.targets.json", "2.snapshot.json", "3.snapshot.json"} {
		if got := s.request(t, http.MethodGet, "/metadata/"+name); got.StatusCode != 200 {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
}

// TestOriginOverTLS speaks HTTP/2, and takes a renewed certificate.
func TestOriginOverTLS(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	authority, err := transporttest.NewAuthority("test authority")
	if err != nil {
		t.Fatal(err)
	}
	set.Operations.HTTPCertificate, set.Operations.HTTPPrivateKey = renew(t, t.TempDir(), authority)
	s := openSite(t, set)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM())
	trusting := &tls.Config{RootCAs: pool, ServerName: "localhost"}
	for _, two := range []bool{true, false} {
		transport := &http.Transport{TLSClientConfig: trusting.Clone(), ForceAttemptHTTP2: two, DisableCompression: true}
		client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
		for name, want := range servertest.ReadFolder(t, f.Dir) {
			got := fetchURL(t, client, http.MethodGet, s.url+"/"+name)
			if (got.ProtoMajor == 2) != two || got.StatusCode != 200 || got.body != want {
				t.Errorf("%s: %s %d, %d bytes", name, got.Proto, got.StatusCode, len(got.body))
			}
		}
		patch := releasetest.Standard(1).Patch
		if got := fetchURL(t, client, http.MethodGet, s.url+"/"+release.ObjectOf([]byte(patch)).Path(), "Range", "bytes=7-70000"); got.StatusCode != 206 || got.body != patch[7:70001] {
			t.Errorf("a range: %d, %d bytes", got.StatusCode, len(got.body))
		}
		transport.CloseIdleConnections()
	}
	serial := func() string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), trusting)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	renew(t, filepath.Dir(set.Operations.HTTPCertificate), authority)
	s.monitor.Reload()
	if serial() == before {
		t.Error("the old certificate is shown")
	}
}

// renew writes a certificate for localhost and its key.
func renew(t testing.TB, dir string, authority *transporttest.Authority) (cert, key string) {
	t.Helper()
	if err := authority.Files(dir, transporttest.Spec{}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// TestOriginLimits refuses connections above the limits, and lets an operator in all the same.
func TestOriginLimits(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Limits.Connections = 2
	s := openSite(t, set)
	p, _ := s.DialForObjects(t, "compat-1")
	q, _ := s.DialForObjects(t, "compat-1")
	got := s.request(t, http.MethodGet, "/metadata/timestamp.json")
	if got.StatusCode != 503 || got.Header.Get("Retry-After") != "5" || !got.Close || !strings.Contains(got.body, "Limits.Connections") {
		t.Errorf("full: %d, %v, %q", got.StatusCode, got.Header, got.body)
	}
	if got := s.request(t, http.MethodGet, "/readyz"); got.StatusCode != 200 {
		t.Errorf("an operator is told %d", got.StatusCode)
	}
	if n := servertest.MetricValue(t, s.monitor, `collet_connections_refused_total{limit="connections",transport="http"}`); n == "0" {
		t.Error("nothing was counted")
	}
	p.Raw.Close()
	q.Raw.Close()
	s.WaitUntil(t, func() bool { return s.Connections() == 0 })
	s.client.CloseIdleConnections()
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("when they have gone: %d", got.StatusCode)
	}
	s.client.CloseIdleConnections()
	s.WaitUntil(t, func() bool { return s.Connections() == 0 })
}

// TestOriginConnections bounds the downloads of those who are no operators. One who has nothing under way makes room, and the admin
// pages are answered also when all connections are taken.
func TestOriginConnections(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 1<<20) // more than two sockets hold; the folder of other tests, too
	f := published(t, r)
	set := servertest.ReleaseSettings(f)
	set.Operations.MetricsFrom = []string{"192.0.2.0/24"}
	set.Limits.HTTPConnections = 1
	s := openSite(t, set)
	first := &http.Client{Transport: &http.Transport{}, Timeout: 2 * time.Minute}
	if got := fetchURL(t, first, http.MethodGet, s.url+"/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("the first: %d", got.StatusCode)
	}
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("one in the place of an idle one: %d", got.StatusCode)
	}
	first.CloseIdleConnections()
	s.client.CloseIdleConnections()
	slow := knocks(t, s.url, "GET /"+release.ObjectOf([]byte(r.Patch)).Path()+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(slow, make([]byte, len("HTTP/1.1 200"))); err != nil {
		t.Fatal(err)
	}
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 503 || !strings.Contains(got.body, "Limits.HTTPConnections") {
		t.Errorf("beside a download: %d %q", got.StatusCode, got.body)
	}
	if got := s.request(t, http.MethodGet, "/api/compat"); got.StatusCode != 404 || !strings.Contains(got.body, "Compat.Store") || !got.Close {
		t.Errorf("an operator from elsewhere: %d %q", got.StatusCode, got.body)
	}
	slow.Close()
	s.WaitUntil(t, func() bool { return s.Connections() == 0 })
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("when it has gone: %d", got.StatusCode)
	}
}

// TestOriginBandwidth holds the connections of an address to its share, whatever they speak.
func TestOriginBandwidth(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789", 30_000)
	f := published(t, r)
	set := servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 100_000
	set.Limits.ExemptAddresses = []string{}
	set.Limits.ClientBandwidth = 400_000
	s := openSite(t, set)
	began := time.Now()
	name := release.ObjectOf([]byte(r.Patch)).Path()
	var both sync.WaitGroup
	both.Go(func() {
		if got := s.request(t, http.MethodGet, "/"+name); got.body != r.Patch {
			t.Errorf("over HTTP: %d bytes", len(got.body))
		}
	})
	p, _ := s.DialForObjects(t, "compat-1")
	if got, _ := servertest.FetchObject(p, name); got != r.Patch {
		t.Errorf("over C1: %d bytes", len(got))
	}
	both.Wait()
	if took := time.Since(began); took < 1200*time.Millisecond {
		t.Errorf("600 KB at 400 KB/s took %v", took)
	}
}

// TestOriginSlowClients ends connections that say or take nothing, in the time that they have.
func TestOriginSlowClients(t *testing.T) {
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 2<<20)
	f := published(t, r)
	set := servertest.ReleaseSettings(f)
	set.Limits.ProgressTime = time.Second
	s := openSite(t, set)
	addr := strings.TrimPrefix(s.url, "http://")
	name := release.ObjectOf([]byte(r.Patch)).Path()
	for what, begin := range map[string]string{
		"nothing":       "",
		"half a head":   "GET /metadata/timestamp.json HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"takes nothing": "GET /" + name + " HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n",
		"half a body":   "GET /metadata/timestamp.json HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, begin); err != nil {
				t.Fatal(err)
			}
			if what == "takes nothing" {
				s.WaitUntil(t, func() bool {
					return servertest.MetricValue(t, s.monitor, `collet_http_requests_total{status="206"}`) != "0"
				})
			}
			conn.SetDeadline(time.Now().Add(2 * time.Minute))
			n, err := io.Copy(io.Discard, conn)
			if n >= int64(len(r.Patch)) {
				t.Errorf("got all %d bytes", n)
			}
			if os.IsTimeout(err) {
				t.Errorf("is served for ever: %v", err)
			}
		})
	}
}

// TestOriginBeforeAndBehind answers with 503 while there is no catalogue, and when the server stops.
func TestOriginBeforeAndBehind(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	var m origin.Monitor
	if err := m.Configure(set, servertest.New().Logger()); err != nil {
		t.Fatal(err)
	}
	if code, text := servertest.AskMonitor(&m, http.MethodGet, "/metadata/timestamp.json"); code != 503 || !strings.Contains(text, "starting") {
		t.Errorf("before: %d %s", code, text)
	}
	s := openSite(t, set)
	s.Stop()
	s.WaitUntil(t, func() bool { return !s.Ready() })
	if got := s.request(t, http.MethodGet, "/metadata/timestamp.json"); got.StatusCode != 503 || !strings.Contains(got.body, "stopping") {
		t.Errorf("behind: %d %s", got.StatusCode, got.body)
	}
}

// counted is a listener that counts which bytes its connections take straight from files.
type counted struct {
	net.Listener
	straight atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{conn.(*net.TCPConn), c}, nil
}

type countedConn struct {
	*net.TCPConn
	of *counted
}

func (c *countedConn) ReadFrom(from io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(from)
	if part, is := from.(*io.LimitedReader); is {
		if _, is := part.R.(*os.File); is {
			c.of.straight.Add(n)
		}
	}
	return n, err
}

// TestOriginCopiesNothing gives the system the file itself, of which it sends what was asked for.
func TestOriginCopiesNothing(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 1<<16)
	f := published(t, r)
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	h.WaitUntil(t, h.Ready)
	var m origin.Monitor
	if err := m.Configure(set, h.Logger()); err != nil {
		t.Fatal(err)
	}
	m.Watch(h.Server)
	inner, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &counted{Listener: inner}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { m.ServeMonitor(ctx, listener, h.Logger()) })
	defer serving.Wait()
	defer stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	url := "http://" + inner.Addr().String() + "/" + release.ObjectOf([]byte(r.Patch)).Path()
	if got := fetchURL(t, client, http.MethodGet, url, "Range", "bytes=16-"); got.body != r.Patch[16:] {
		t.Errorf("%d bytes", len(got.body))
	}
	stop() // what went straight is counted when it has gone
	serving.Wait()
	const looked = 512 + 4096 // what net/http copies in any case, to look at it, and what its buffer may hold
	if n := listener.straight.Load(); n < int64(len(r.Patch)-16-looked) {
		t.Errorf("%d bytes of %d went straight", n, len(r.Patch)-16)
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
	s.Log.Has(t, "warn", "changed while it was handed out")
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
	s.WaitUntil(t, func() bool {
		return servertest.MetricValue(t, s.monitor, `collet_http_requests_total{status="200"}`) == "1"
	})
	if got := fetchURL(t, client, http.MethodGet, s.url+"/metadata/timestamp.json"); got.StatusCode != 200 {
		t.Errorf("another stream: %d", got.StatusCode)
	}
	if n, err := io.Copy(io.Discard, slow.Body); err == nil || n >= int64(len(content)) {
		t.Errorf("%d bytes came, %v", n, err)
	}
}
