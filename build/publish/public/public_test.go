package public_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/app/download"
	"collet/build/publish/public"
	"collet/platform"
)

// files are those of a small release folder.
var files = map[string]string{
	"metadata/timestamp.json": `{"signed":{"version":9}}`, "metadata/1.root.json": `{"signed":{"version":1}}`, "metadata/8.targets.json": "targets",
	"objects/aa/large": strings.Repeat("0123456789abcdef", 100_000), "objects/bb/small": "small", "releases/head": "head", "sequels/1.sequel": "sequel",
	"objects/cc/empty": "",
}

// place is a published place: an origin with the folder, and a proxy before it that changes answers. It returns the folder and the address
// of the proxy.
func place(t *testing.T, change func(*http.Response) error) (public.Folder, string) {
	t.Helper()
	folder, dir := public.Folder{NextRoot: "metadata/2.root.json"}, t.TempDir()
	for name, text := range files {
		folder.Names = append(folder.Names, name)
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	folder.FS = fsys
	origin := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(origin.Close)
	to, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: change})
	t.Cleanup(proxy.Close)
	return folder, proxy.URL
}

// on changes the answers for names that begin with a prefix.
func on(prefix string, change func(*http.Response)) func(*http.Response) error {
	return func(r *http.Response) error {
		if strings.HasPrefix(r.Request.URL.Path, "/"+prefix) {
			change(r)
		}
		return nil
	}
}

// answer replaces an answer.
func answer(r *http.Response, status int, text string) {
	r.StatusCode, r.Status, r.ContentLength = status, fmt.Sprint(status), int64(len(text))
	r.Header.Del("Content-Range")
	r.Header.Set("Content-Length", fmt.Sprint(len(text)))
	_ = r.Body.Close()
	r.Body = io.NopCloser(strings.NewReader(text))
}

// header adds a header to an answer.
func header(key, value string) func(*http.Response) {
	return func(r *http.Response) { r.Header.Set(key, value) }
}

func compress(r *http.Response) {
	text, _ := io.ReadAll(r.Body)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	answer(r, http.StatusOK, b.String())
	r.Header.Set("Content-Encoding", "gzip")
}

func status(code int) func(*http.Response) {
	return func(r *http.Response) { answer(r, code, "no") }
}

// TestCheck reads places behind a proxy with one thing wrong each.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*http.Response) error
		want   []string // files, what is wrong, and a word of the advice
	}{
		{"nothing is wrong", on("nothing", func(*http.Response) {}), nil},
		{"caches of half a minute", on("metadata/timestamp", header("Cache-Control", "max-age=0, s-maxage=30, stale-while-revalidate=60, stale-if-error=86400")), nil},
		{"the same for a CDN", on("metadata/timestamp", header("CDN-Cache-Control", "max-age=30, stale-while-revalidate=60, stale-if-error=86400")), nil},
		{"a CDN that may keep it", on("metadata/timestamp", header("CDN-Cache-Control", "max-age=3600")), []string{"metadata/timestamp.json|may be kept by caches for 3600 s|half a minute"}},
		{"a cache that may ask for long", on("sequels", header("Cache-Control", "max-age=0, s-maxage=30, stale-while-revalidate=600")), []string{"sequels/1.sequel|may be kept by caches for 630 s|half a minute"}},
		{"a cache that must ask", on("sequels", header("Cache-Control", "max-age=30, stale-while-revalidate=600, must-revalidate")), nil},
		{"a cache of 404 for a CDN", on("metadata/2", header("CDN-Cache-Control", "max-age=600")), []string{"metadata/2.root.json|may be kept by caches for 600 s|answers of 404"}},
		{"short caches", on("metadata/timestamp", header("Cache-Control", "public, max-age=60")), nil},
		{"objects for ever", on("objects", header("Cache-Control", "public, max-age=31536000, immutable")), nil},
		{"compressed lists", on("metadata/8", compress), []string{"metadata/8.targets.json|is compressed on the way|gzip off"}},
		{"a forbidden folder", on("objects", status(http.StatusForbidden)), []string{"objects/aa/large objects/bb/small objects/cc/empty|is forbidden (status 403)|policy of the bucket"}},
		{"missing sequels", on("sequels", status(http.StatusNotFound)), []string{"sequels/1.sequel|is missing|publish the folder sequels"}},
		{"forbidden sequels", on("sequels", status(http.StatusForbidden)), []string{"sequels/1.sequel|is forbidden|policy"}},
		{"a missing object", on("objects/bb", status(http.StatusNotFound)), []string{"objects/bb/small|is missing|publish there again"}},
		{"an old timestamp", on("metadata/timestamp", func(r *http.Response) { answer(r, 200, `{"signed":{"version":7}}`) }),
			[]string{"metadata/timestamp.json|is old: players see version 7, and the folder has 9|empty the cache"}},
		{"the timestamp of another game", on("metadata/timestamp", func(r *http.Response) { answer(r, 200, `{"signed":{"version":12}}`) }),
			[]string{"metadata/timestamp.json|is another one: version 12, and the folder has 9|bring the folders together"}},
		{"a cache that keeps the timestamp", on("metadata/timestamp", header("Age", "3600")), []string{"metadata/timestamp.json|comes from a cache that has had it for 3600 s|half a minute"}},
		{"a cache that may keep it", on("metadata/timestamp", header("Cache-Control", "public, MAX-AGE=86400")), []string{"metadata/timestamp.json|may be kept by caches for 86400 s|half a minute"}},
		{"a shared cache that may keep it", on("sequels", header("Cache-Control", "max-age=0, s-maxage=600")), []string{"sequels/1.sequel|may be kept by caches for 600 s|half a minute"}},
		{"a cache of what does not exist", on("metadata/2", header("Age", "900")), []string{"metadata/2.root.json|comes from a cache that has had it for 900 s|answers of 404"}},
		{"a page for what does not exist", on("metadata/2", func(r *http.Response) { answer(r, 200, "<html>") }),
			[]string{"metadata/2.root.json|is answered, and no such file exists|404"}},
		{"other bytes", on("objects/bb", func(r *http.Response) { answer(r, 200, "SMALL") }), []string{"objects/bb/small|has other bytes than in the folder|must not change"}},
		{"an old sequel", on("sequels", func(r *http.Response) { answer(r, 200, "SEQUEL") }), []string{"sequels/1.sequel|is old|for a minute"}},
		{"a minified list", on("metadata/8", func(r *http.Response) { answer(r, 200, "targ") }), []string{"metadata/8.targets.json|has other bytes|must not change"}},
		{"no ranges", on("objects/aa", func(r *http.Response) { answer(r, 200, files["objects/aa/large"]) }), []string{"objects/aa/large|comes whole where a range was asked for|Range"}},
		{"an error", on("releases", status(http.StatusBadGateway)), []string{"releases/head|fails: it answered with an error (status 502)|log"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder, address := place(t, test.change)
			r, err := public.Check(t.Context(), address, folder, download.HTTPOptions{}, func(int, int, string) {})
			if err != nil {
				t.Fatal(err)
			}
			if r.Files != len(files) {
				t.Errorf("%d files were asked for, want %d", r.Files, len(files))
			}
			if len(r.Findings) != len(test.want) {
				t.Fatalf("%d findings, want %d: %+v", len(r.Findings), len(test.want), r.Findings)
			}
			for i, f := range r.Findings {
				part := strings.Split(test.want[i], "|")
				if strings.Join(f.Names, " ") != part[0] || !strings.Contains(f.What, part[1]) || !strings.Contains(f.Want, part[2]) {
					t.Errorf("%+v, want %s", f, test.want[i])
				}
			}
		})
	}
}

// TestCheckThroughProxy reads a place through a proxy of the network, which answers in its place.
func TestCheckThroughProxy(t *testing.T) {
	t.Parallel()
	folder, address := place(t, on("metadata/timestamp", header("Age", "100")))
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	r, err := public.Check(t.Context(), "http://games.example.org/", folder, download.HTTPOptions{
		PlainProxy: func(to *url.URL) (*url.URL, error) { asked = append(asked, to.Host); return at, nil },
	}, func(int, int, string) {})
	if err != nil || len(r.Findings) != 1 || !slices.Contains(asked, "games.example.org") {
		t.Errorf("%+v, %v, asked for %v", r, err, asked)
	}
}

// TestCheckUnreachable: a place that does not answer is an error and no finding.
func TestCheckUnreachable(t *testing.T) {
	t.Parallel()
	folder, address := place(t, nil)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, wrong := range []string{closed.URL, "ftp://games.example.org", address[len("http://"):]} {
		if r, err := public.Check(t.Context(), wrong, folder, download.HTTPOptions{}, func(int, int, string) {}); err == nil {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
}
