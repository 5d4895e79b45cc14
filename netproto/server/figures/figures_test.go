package figures_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"collet/netproto/adoption"
	"collet/netproto/server/figures"
)

const (
	started = "/beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,2"
	failed  = "/beacon?1,first,12,11,failed,Linux-x64,stable,none,0,1"
)

// options are those of a server that knows any name and believes the address of a request.
func options(folder string) figures.Options {
	return figures.Options{
		Folder: folder, Name: adoption.AnyName, Now: time.Now, Log: zerolog.Nop(),
		Remote: func(r *http.Request) netip.Addr {
			from, _ := netip.ParseAddrPort(r.RemoteAddr)
			return from.Addr()
		},
		Sizes: func() map[adoption.Has]int64 {
			return map[adoption.Has]int64{adoption.HasEntry("stable", "Linux-x64", 12): 5000}
		},
	}
}

// open opens figures in a folder.
func open(t *testing.T, o figures.Options) *figures.Figures {
	t.Helper()
	f, err := figures.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// get sends requests.
func get(t *testing.T, f http.Handler, want int, paths ...string) {
	t.Helper()
	for _, path := range paths {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = "192.0.2.7:40000"
		if f.ServeHTTP(w, r); w.Code != want || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, %s", path, w.Code, w.Body)
		}
	}
}

// TestWriting: counts are on the disk after WriteTime, an idle server writes nothing, the last counts are written at the end, and the next
// process continues them.
func TestWriting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, options(folder))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		get(t, f, http.StatusNoContent, started, failed)
		time.Sleep(figures.WriteTime - time.Second)
		synctest.Wait()
		if n := files(t, folder); n != 0 {
			t.Errorf("%d files before it is time", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := files(t, folder); n != 2 {
			t.Errorf("%d files after %s", n, figures.WriteTime)
		}
		if err := os.RemoveAll(filepath.Join(folder, "hour-2000-01-01T00.json")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * figures.WriteTime)
		synctest.Wait()
		if n := files(t, folder); n != 1 {
			t.Errorf("%d files: an idle server wrote", n)
		}
		get(t, f, http.StatusNoContent, started)
		stop()
		running.Wait()
		next := open(t, options(folder))
		get(t, next, http.StatusNoContent, started)
		for _, w := range []adoption.Window{adoption.Hour, adoption.Month} {
			r, err := next.Adoption(w)
			if err != nil || r.Beacons != 4 || r.Releases[0].Starts != 3 || r.Releases[0].Failed != 1 {
				t.Errorf("%s: %+v, %v", w, r, err)
			}
		}
	})
}

// files counts the files of a folder.
func files(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestRetention: hours and days are kept for as long as they should, other files for ever, and today is in both.
func TestRetention(t *testing.T) {
	t.Parallel()
	o, at := options(t.TempDir()), time.Date(2026, 11, 27, 12, 30, 0, 0, time.UTC)
	o.Now = func() time.Time { return at }
	f := open(t, o)
	hour := func(before int) string {
		return at.Add(-time.Duration(before) * time.Hour).Format("hour-2006-01-02T15.json")
	}
	day := func(before int) string { return at.AddDate(0, 0, -before).Format("day-2006-01-02.json") }
	kept := []string{"notes.txt", hour(1), hour(adoption.KeepHours), day(1), day(adoption.KeepDays)}
	for _, name := range append([]string{hour(adoption.KeepHours + 2), day(adoption.KeepDays + 2)}, kept...) {
		if err := os.WriteFile(filepath.Join(o.Folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		get(t, f, http.StatusNoContent, started)
		if _, err := f.Adoption(adoption.Hour); err != nil { // which writes
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
	}
	for _, name := range append(kept, hour(1), hour(2), day(0)) {
		if _, err := os.Stat(filepath.Join(o.Folder, name)); err != nil && name != kept[2] {
			t.Error(err)
		}
	}
	if n := files(t, o.Folder); n != len(kept)+2 { // an hour later the oldest of the hours is gone
		t.Errorf("%d files", n)
	}
	if r, err := f.Adoption(adoption.Month); err != nil || r.Beacons != 2 || r.Installs[29] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNoAddresses: no file has the address of a player in any form.
func TestNoAddresses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f := open(t, options(folder))
	get(t, f, http.StatusNoContent, started)
	if _, err := f.Adoption(adoption.Day); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hour-*.json", "day-*.json"} {
		found, _ := filepath.Glob(filepath.Join(folder, name))
		if len(found) != 1 {
			t.Fatal(found)
		}
		data, err := os.ReadFile(found[0])
		if err != nil || strings.Contains(string(data), "192") || len(data) > 400 {
			t.Errorf("%s, %v", data, err)
		}
	}
}

// TestRefusals: what is no beacon, too much, or of one place only, is answered and counted as such.
func TestRefusals(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	o.Now = func() time.Time { return at }
	f := open(t, o)
	get(t, f, http.StatusBadRequest, "/beacon", "/beacon?1,start,12", "/beacon?"+strings.Repeat("x", 5000))
	w := httptest.NewRecorder()
	if f.ServeHTTP(w, httptest.NewRequest(http.MethodPost, started, strings.NewReader("x"))); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	for range 4000 {
		get(t, f, http.StatusNoContent, started)
	}
	get(t, f, http.StatusTooManyRequests, started)
	r := prometheus.NewRegistry()
	r.MustRegister(f)
	want := `# HELP collet_beacons_refused_total Beacons that were not counted.
# TYPE collet_beacons_refused_total counter
collet_beacons_refused_total{reason="malformed"} 3
collet_beacons_refused_total{reason="rate"} 1
collet_beacons_refused_total{reason="share"} 3899
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "collet_beacons_refused_total"); err != nil {
		t.Error(err)
	}
	report, err := f.Adoption(adoption.Hour)
	if err != nil || report.Beacons != 101 || report.Limited != 3899 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestDamage: a damaged file is left out, and neither stops the server nor the next counts; a folder that can't be made stops it.
func TestDamage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f := open(t, options(folder))
	get(t, f, http.StatusNoContent, started)
	if _, err := f.Adoption(adoption.Hour); err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, name := range all {
		if err := os.WriteFile(name, []byte(`{"begin":"2001-01-01T00:00:00Z","rows":[]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := open(t, options(folder))
	get(t, next, http.StatusNoContent, started)
	if r, err := next.Adoption(adoption.Month); err != nil || r.Beacons != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	o := options(filepath.Join(all[0], "below a file"))
	if _, err := figures.Open(o); err == nil || !strings.Contains(err.Error(), "Operations.Figures") {
		t.Errorf("%v", err)
	}
}
