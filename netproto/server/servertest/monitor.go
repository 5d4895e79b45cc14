package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/dashboard"
	"collet/netproto/server/origin"
)

// NewMonitor returns an HTTP handler with the admin API and the dashboard. The caller configures it and calls Watch.
func NewMonitor(s *Server) *origin.Monitor {
	m := &origin.Monitor{}
	m.Mount(admin.Owns, admin.New(m))
	if s.About.ClientsOf == nil {
		s.About.ClientsOf = m.ClientsOf
	}
	m.Mount(dashboard.Owns, dashboard.New(m, s.About, s.Logger()))
	return m
}

// ServeMonitor serves the HTTP port of a server on loopback until the test ends. It returns its URL.
func ServeMonitor(t testing.TB, s *Server, set config.Settings) string {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(s)
	if err := m.Configure(set, s.Logger()); err != nil {
		t.Fatal(err)
	}
	m.Watch(s.Server)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.ServeMonitor(ctx, listener, s.Logger()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait(); http.DefaultClient.CloseIdleConnections() })
	return "http://" + listener.Addr().String()
}

// CallAPI sends a request to the admin API and returns the answer and its body. headers are names and values in turn; without an
// Authorization among them the token is [TokenSecret].
func CallAPI(t testing.TB, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+TokenSecret)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// Decode decodes an answer of the admin API, which must have the given status and only known keys.
func Decode[D any](t testing.TB, answer *http.Response, text string, status int) (document D) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&document); err != nil || answer.StatusCode != status || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %s %v %s, %v", answer.Status, answer.Header, text, err)
	}
	return document
}

// AskMonitor returns status and body of a monitor's answer; /metrics goes to its handler of metrics.
func AskMonitor(m *origin.Monitor, method, path string) (int, string) {
	answer := httptest.NewRecorder()
	handler := http.Handler(m)
	if path == "/metrics" {
		handler = m.MetricsHandler()
	}
	handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	return answer.Code, answer.Body.String()
}

// MetricValue is the value of a series of the metrics, empty where it is missing.
func MetricValue(t testing.TB, m *origin.Monitor, series string) string {
	t.Helper()
	_, text := AskMonitor(m, http.MethodGet, "/metrics")
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
