package soak

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// askTime bounds one request for metrics, which takes a millisecond on a machine that is not overrun.
	askTime = 30 * time.Second
	// maxMetrics is the longest answer that is read, in bytes: a server's has 10 KB.
	maxMetrics = 1 << 20
	// maxAsks is how many requests may bring two collections about. Each allocates some 170 KB, and a collection is due
	// when what lives has been allocated once more: enough for a heap of 300 MB.
	maxAsks = 4000
	// collections is how many of them a quiet moment has: what pools hold is let go of by the second.
	collections = 2
)

// readings are all series of one answer, by name and labels as they stand there.
type readings map[string]float64

// sum adds the series of a name that have all these labels, written like result="ok". Labels beside them don't matter.
func (r readings) sum(name string, labels ...string) (total float64) {
	for series, value := range r {
		own, rest, _ := strings.Cut(series, "{")
		if own == name && hasAll(rest, labels) {
			total += value
		}
	}
	return total
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// sample picks what a verdict is about.
func (r readings) sample() Sample {
	return Sample{
		Goroutines:  r.sum("go_goroutines"),
		Descriptors: r.sum("process_open_fds"),
		Connections: r.sum("collet_connections"),
		Heap:        r.sum("go_memstats_heap_inuse_bytes"),
		Resident:    r.sum("process_resident_memory_bytes"),
	}
}

// needed are the series without which nothing can be judged.
func needed() []string {
	return []string{
		"go_goroutines", "process_open_fds", "collet_connections", "go_memstats_heap_inuse_bytes", "process_resident_memory_bytes",
		"go_gc_duration_seconds_count", "process_cpu_seconds_total",
	}
}

// parseMetrics reads the text format of Prometheus, as far as one server of ours writes it: no timestamps.
func parseMetrics(text string) (readings, error) {
	r, names := readings{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("metrics: no value in %q", line)
		}
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		r[line[:cut]] = value
		name, _, _ := strings.Cut(line[:cut], "{")
		names[name] = true
	}
	for _, name := range needed() {
		if !names[name] {
			return nil, fmt.Errorf("metrics: the server does not tell %s on this system", name)
		}
	}
	return r, nil
}

// gauge asks a server for its metrics, over one connection that stays, so that it is the same in every sample. It is safe
// for concurrent use.
type gauge struct {
	url    string
	client *http.Client
}

func newGauge(addr string) *gauge {
	return &gauge{url: "http://" + addr + "/metrics", client: &http.Client{
		Timeout: askTime, Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true},
	}}
}

func (g *gauge) close() { g.client.CloseIdleConnections() }

// readMetrics asks once.
func (g *gauge) readMetrics(ctx context.Context) (readings, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := g.client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMetrics))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: the server answers %s", answer.Status)
	}
	return parseMetrics(string(text))
}

// collected asks until the server has collected its garbage twice since the call, and returns the last answer.
func (g *gauge) collected(ctx context.Context) (readings, error) {
	first, err := g.readMetrics(ctx)
	if err != nil {
		return nil, err
	}
	// The one after a collection that was under way at the first look is the first that began in the quiet moment.
	return g.collect(ctx, first, collections+1)
}

// collect asks until as many collections have ended since an answer, and returns the last answer.
func (g *gauge) collect(ctx context.Context, since readings, times float64) (readings, error) {
	const count = "go_gc_duration_seconds_count"
	for range maxAsks {
		now, err := g.readMetrics(ctx)
		if err != nil || now.sum(count) >= since.sum(count)+times {
			return now, err
		}
	}
	return nil, fmt.Errorf("the server has not collected its garbage in %d requests", maxAsks)
}
