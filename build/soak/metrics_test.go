package soak

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// exposition is what a server tells, with as many collections of garbage as asked for.
func exposition(collections int64) string {
	return fmt.Sprintf(`# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 17
process_open_fds 13
collet_connections{transport="tcp"} 3
collet_connections{transport="tls"} 4
collet_connections_accepted_total 99
go_memstats_heap_inuse_bytes 1.933312e+06
process_resident_memory_bytes 1.4143488e+07
process_cpu_seconds_total 0.04
collet_reloads_total{result="failed"} 2
collet_reloads_total{result="ok"} 5
go_info{version="go1.26 x"} 1
go_gc_duration_seconds{quantile="0"} 7
go_gc_duration_seconds_count %d
`, collections)
}

func TestParseMetrics(t *testing.T) {
	r, err := parseMetrics(exposition(7))
	if err != nil {
		t.Fatal(err)
	}
	want := Sample{Goroutines: 17, Descriptors: 13, Connections: 7, Heap: 1933312, Resident: 14143488}
	if got := r.sample(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if ok, all := r.sum("collet_reloads_total", `result="ok"`), r.sum("collet_reloads_total"); ok != 5 || all != 7 {
		t.Errorf("%v reloads of %v", ok, all)
	}
}

func TestParseMetricsRefuses(t *testing.T) {
	for _, name := range needed() {
		var kept []string
		for line := range strings.Lines(exposition(7)) {
			if !strings.HasPrefix(line, name) {
				kept = append(kept, line)
			}
		}
		if _, err := parseMetrics(strings.Join(kept, "")); err == nil || !strings.Contains(err.Error(), "tell "+name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, line := range []string{"lonely", "go_goroutines many"} {
		if _, err := parseMetrics(exposition(7) + line + "\n"); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestCollectedWaitsForTwoCollections counts how many were begun and ended since the call.
func TestCollectedWaitsForTwoCollections(t *testing.T) {
	var asked atomic.Int64
	const each = 10 // requests for one collection
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, exposition(asked.Add(1)/each))
	}))
	defer s.Close()
	g := newGauge(strings.TrimPrefix(s.URL, "http://"))
	defer g.close()
	if r, err := g.collected(t.Context()); err != nil || r.sum("go_gc_duration_seconds_count") != collections+1 {
		t.Errorf("%v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.collected(ctx); err == nil {
		t.Error("no error of a call that was ended")
	}
}

func TestCollectedGivesUp(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		fmt.Fprint(w, exposition(7))
	}))
	defer s.Close()
	g := newGauge(strings.TrimPrefix(s.URL, "http://"))
	defer g.close()
	if _, err := g.collected(t.Context()); err == nil || asked != maxAsks+1 {
		t.Errorf("%d requests, %v", asked, err)
	}
}

func TestGaugeWantsMetrics(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	g := newGauge(strings.TrimPrefix(s.URL, "http://"))
	defer g.close()
	if _, err := g.readMetrics(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}
