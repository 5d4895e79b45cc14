package public_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"collet/app/download"
	"collet/build/publish/public"
	"collet/netproto/release/trust"
	"collet/netproto/releasetest"
)

// TestCheckLists reads the lists of a place at several times, and with one thing wrong each.
func TestCheckLists(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dir := t.TempDir()
	published, err := releasetest.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	root := published.Repo.Root()
	other, err := releasetest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	origin := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(origin.Close)
	to, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	nothing := on("nothing", func(*http.Response) {})
	for _, test := range []struct {
		name   string
		root   []byte
		later  time.Duration // than the signing
		change func(*http.Response) error
		lists  int
		want   []string // name, what is wrong, and a word of the advice
	}{
		{"signed today", root, 0, nothing, 4, nil},
		{"signed yesterday", root, day, nothing, 4, nil},
		{"not signed for three days", root, 3 * day, nothing, 4, []string{"timestamp|ends 2|release refresh runs every day"}},
		{"ended", root, 20 * day, nothing, 4, []string{"timestamp|in less than 288h|reaches this place"}},
		{"nothing signed for a year", root, 360 * day, nothing, 4,
			[]string{"root|in less than|collet keys rotate", "snapshot|in less than|refresh", "targets|in less than|refresh", "timestamp|in less than|refresh"}},
		{"a cache that answers for the origin", root, 0, on("metadata/timestamp", header("Age", "3600")), 4, []string{"metadata/timestamp.json|has had it for 3600 s|half a minute"}},
		{"a cache of the next root", root, 0, on("metadata/2.root", header("Age", "900")), 4, []string{"metadata/2.root.json|has had it for 900 s|404"}},
		{"keys of another publisher", other.Repo.Root(), 0, nothing, 0, []string{"metadata/timestamp.json|is rejected by clients: timestamp.json|--trusted-root"}},
		{"a changed list", root, 0, on("metadata/1.targets", func(r *http.Response) { answer(r, 200, "{}") }), 0, []string{"metadata/1.targets.json|is rejected|publish there again"}},
		{"a list that is too long", root, 0, on("metadata/timestamp", func(r *http.Response) { answer(r, 200, strings.Repeat(" ", trust.MaxTimestamp+1)) }), 0,
			[]string{"metadata/timestamp.json|is rejected|publish there again"}},
		{"an error", root, 0, on("metadata/timestamp", status(http.StatusBadGateway)), 0, []string{"metadata/timestamp.json|status 502|log"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: test.change})
			t.Cleanup(proxy.Close)
			r, err := public.CheckLists(t.Context(), proxy.URL, test.root, time.Now().Add(test.later), 12*day, download.HTTPOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Lists) != test.lists || r.Files < 2 || r.Files > 4 || len(r.Findings) != len(test.want) {
				t.Fatalf("%d files, %d lists, %+v", r.Files, len(r.Lists), r.Findings)
			}
			for i, want := range test.want {
				part := strings.Split(want, "|")
				if f := r.Findings[i]; f.Names[0] != part[0] || !strings.Contains(f.What, part[1]) || !strings.Contains(f.Want, part[2]) {
					t.Errorf("found %+v, want %s", f, want)
				}
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	var unreachable *download.NetError
	if _, err := public.CheckLists(t.Context(), gone.URL, root, time.Now(), 12*day, download.HTTPOptions{}); !errors.As(err, &unreachable) {
		t.Errorf("a place that is gone: %v", err)
	}
}
