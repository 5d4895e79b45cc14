package origin_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
	"collet/netproto/server/servertest"
	"collet/netproto/transporttest"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// documented is the configuration of nginx in the operator's document.
func documented(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(strings.ReplaceAll(string(text), "\r", ""), "\n```nginx\n")
	conf, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("OPERATING.md has no configuration of nginx")
	}
	return conf
}

// startNginx runs nginx with the documented configuration, in which only places are other ones. It returns the addresses
// of both ports and the authority behind the certificate.
func startNginx(t testing.TB, folder string) (plain, secure string, authority *transporttest.Authority) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("nginx is not installed: apt-get install nginx-light")
		}
	}
	dir := t.TempDir()
	if authority, err = transporttest.NewAuthority("nginx test"); err != nil {
		t.Fatal(err)
	}
	if err := authority.Files(dir, transporttest.Spec{}); err != nil {
		t.Fatal(err)
	}
	plain, secure = testwait.FreeAddress(t), testwait.FreeAddress(t)
	conf := documented(t)
	for from, to := range map[string]string{
		"listen 80;": "listen " + plain + ";", "listen 443 ssl": "listen " + secure + " ssl", "/run/nginx.pid": dir + "/nginx.pid",
		"/var/log/nginx/error.log": "stderr notice", "/var/log/nginx/access.log": dir + "/access.log", "/srv/release": folder,
		"/etc/ssl/game/chain.pem": dir + "/cert.pem", "/etc/ssl/game/key.pem": dir + "/key.pem",
	} {
		if strings.Count(conf, from) != 1 {
			t.Fatalf("the configuration has %q %d times", from, strings.Count(conf, from))
		}
		conf = strings.Replace(conf, from, to, 1)
	}
	temporary := "http {\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("    %s_temp_path %s/%s;\n", kind, dir, kind)
	}
	conf = strings.Replace(conf, "http {\n", temporary, 1)
	servertest.WriteFile(t, filepath.Join(dir, "nginx.conf"), conf)
	settings := "daemon off;"
	if os.Getuid() == 0 {
		settings += " user root;" // the folders of a test are its own
	}
	run := exec.Command(program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-g", settings)
	said := &servertest.Log{}
	run.Stdout, run.Stderr = said, said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() {
		run.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	said.WaitFor(t, "start worker process") // it listens before
	return plain, secure, authority
}

// TestDocumentedNginx starts nginx as the operator's document has it, and holds it to what a release folder needs.
func TestDocumentedNginx(t *testing.T) {
	testlevel.Lab(t)
	f := published(t, releasetest.Standard(1), releasetest.Standard(2))
	for _, name := range []string{"metadata/keys.pem", ".private/key.pem", "objects/ab/.part"} {
		if err := releasetest.Store(f.Dir).Save(name, []byte("secret")); err != nil {
			t.Fatal(err)
		}
	}
	plain, secure, authority := startNginx(t, f.Dir)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM())
	for _, way := range []struct {
		name, url string
		major     int
		transport *http.Transport
	}{
		{"HTTP/1.1", "http://" + plain, 1, &http.Transport{DisableCompression: true}},
		{"HTTP/2 over TLS", "https://" + secure, 2, &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}},
	} {
		t.Run(way.name, func(t *testing.T) {
			client := &http.Client{Transport: way.transport, Timeout: 2 * time.Minute}
			defer client.CloseIdleConnections()
			get := func(name string, headers ...string) fetched {
				t.Helper()
				got := fetchURL(t, client, http.MethodGet, way.url+"/"+name, headers...)
				if got.ProtoMajor != way.major {
					t.Errorf("%s: %s", name, got.Proto)
				}
				return got
			}
			for name, want := range servertest.ReadFolder(t, f.Dir) {
				nginxFile(t, get, name, want)
			}
			nginxRanges(t, get)
			for _, name := range []string{"", "metadata/", "metadata/keys.pem", ".private/key.pem", "objects/ab/.part", "objects/", "Resources/Core.zip", "metadata/9.root.json",
				"objects/ab/" + strings.Repeat("ab", 32), "objects/cd/" + strings.Repeat("ab", 32)} {
				if got := get(name); got.StatusCode != 404 || strings.Contains(got.body, "secret") || got.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%q: %d, %q", name, got.StatusCode, got.Header.Get("Cache-Control"))
				}
				targeted := ""
				if name == "metadata/9.root.json" {
					targeted = targetedCache
				}
				if got := get(name).Header.Get("CDN-Cache-Control"); got != targeted {
					t.Errorf("%q: %q for a CDN", name, got)
				}
			}
			if got := fetchURL(t, client, http.MethodPost, way.url+"/metadata/timestamp.json"); got.StatusCode != 405 {
				t.Errorf("POST: %d", got.StatusCode)
			}
			nginxTrust(t, f, client, way.url)
		})
	}
}

// nginxFile holds an answer to the bytes on the disk, unchanged, and to how long they may be kept.
func nginxFile(t *testing.T, get func(name string, headers ...string) fetched, name, want string) {
	t.Helper()
	got := get(name, "Accept-Encoding", "gzip, deflate, br, zstd")
	cache, targeted, kind := "public, max-age=31536000, immutable", "", "application/octet-stream"
	if name == "metadata/timestamp.json" || strings.HasPrefix(name, "sequels/") {
		cache, targeted = "no-cache", targetedCache
	}
	if !strings.HasPrefix(name, "objects/") && !strings.HasPrefix(name, "sequels/") {
		kind = "application/json"
	}
	h := got.Header
	if got.StatusCode != 200 || got.body != want || got.ContentLength != int64(len(want)) || h.Get("Content-Encoding") != "" ||
		h.Get("Cache-Control") != cache || h.Get("CDN-Cache-Control") != targeted || h.Get("Content-Type") != kind || h.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%s: %d, %d bytes, %v", name, got.StatusCode, len(got.body), h)
	}
	tag := h.Get("Etag")
	if !strings.HasPrefix(tag, `"`) {
		t.Errorf("%s has no strong ETag: %q", name, tag)
	}
	if same := get(name, "If-None-Match", tag); same.StatusCode != 304 || same.Header.Get("Cache-Control") != cache {
		t.Errorf("%s again: %d, %v", name, same.StatusCode, same.Header)
	}
}

// nginxRanges asks for parts of the largest object.
func nginxRanges(t *testing.T, get func(name string, headers ...string) fetched) {
	t.Helper()
	patch := releasetest.Standard(1).Patch
	name := release.ObjectOf([]byte(patch)).Path()
	tag := get(name).Header.Get("Etag")
	for _, test := range []struct {
		headers     []string
		code        int
		first, last int
	}{
		{[]string{"Range", "bytes=7-1000"}, 206, 7, 1000},
		{[]string{"Range", "bytes=99990-"}, 206, 99990, 99999},
		{[]string{"Range", "bytes=-5"}, 206, 99995, 99999},
		{[]string{"Range", "bytes=5-5", "Accept-Encoding", "gzip"}, 206, 5, 5},
		{[]string{"Range", "bytes=5-9", "If-Range", tag}, 206, 5, 9},
		{[]string{"Range", "bytes=5-9", "If-Range", `"another"`}, 200, 0, 99999},
		{[]string{"Range", "bytes=0-1,5-9"}, 200, 0, 99999},
	} {
		got := get(name, test.headers...)
		if got.StatusCode != test.code || got.body != patch[test.first:test.last+1] || got.Header.Get("Content-Encoding") != "" {
			t.Errorf("%q: %d, %d bytes, %v", test.headers, got.StatusCode, len(got.body), got.Header)
		}
		if want := fmt.Sprintf("bytes %d-%d/100000", test.first, test.last); test.code == 206 && got.Header.Get("Content-Range") != want {
			t.Errorf("%q: %q", test.headers, got.Header.Get("Content-Range"))
		}
	}
	if got := get(name, "Range", "bytes=100000-"); got.StatusCode != 416 || got.Header.Get("Content-Range") != "bytes */100000" {
		t.Errorf("behind the end: %d, %v", got.StatusCode, got.Header)
	}
}

// web fetches a release folder over HTTP.
type web struct {
	client *http.Client
	url    string
}

func (w web) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/"+name, nil)
	if err != nil {
		return trust.Unverified{}, err
	}
	answer, err := w.client.Do(ask)
	if err != nil {
		return trust.Unverified{}, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return trust.ReadUnverified(answer.Body, limit)
	case http.StatusNotFound:
		return trust.Unverified{}, fs.ErrNotExist
	default:
		return trust.Unverified{}, errors.New(answer.Status)
	}
}

// nginxTrust comes to the current release as a client does.
func nginxTrust(t *testing.T, f *releasetest.Folder, client *http.Client, url string) {
	t.Helper()
	verified, err := trust.Open(f.Repo.Root(), &trust.MemoryStore{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	way := web{client, url}
	current, err := verified.Refresh(t.Context(), way, release.Query{Product: releasetest.Product, Channel: "stable", Target: "Linux-x64", Install: "an install"})
	if err != nil || current.Number != 2 || !current.Fresh {
		t.Fatalf("%+v, %v", current, err)
	}
	if head, err := verified.Head(t.Context(), way, current.Choice); err != nil || head.Compatibility != "compat-2" {
		t.Errorf("%+v, %v", head, err)
	}
}

// TestOriginVouches comes to the current release by our own server's HTTP port.
func TestOriginVouches(t *testing.T) {
	testlevel.Slow(t)
	f := published(t, releasetest.Standard(1), releasetest.Standard(2))
	s := openSite(t, servertest.ReleaseSettings(f))
	nginxTrust(t, f, s.client, s.url)
}
