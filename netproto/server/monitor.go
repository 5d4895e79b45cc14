package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// The bounds on what asks for metrics and health, or controls a server.
const (
	// askTime is how long a request may take to arrive; a scraper sends it in one packet.
	askTime = 5 * time.Second
	// answerTime is how long metrics may take to be read; a control waits for a catalogue to be built, and has no such
	// bound.
	answerTime = 30 * time.Second
	// maxAsk is the largest head of a request in bytes.
	maxAsk = 8 << 10
	// maxAskers is how many connections there may be at once. Others wait in the system's queue.
	maxAskers = 32
)

// Monitor answers an operator's questions over HTTP: GET /metrics for Prometheus, /healthz (200 while the process
// answers), /readyz (200 while new players are accepted, else 503 with the reason). It may be asked before there is a
// server. The zero value is ready to use.
type Monitor struct{ server atomic.Pointer[Server] }

// Watch makes the monitor tell about s.
func (m *Monitor) Watch(s *Server) { m.server.Store(s) }

// ServeHTTP implements http.Handler.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered here", http.StatusMethodNotAllowed)
		return
	}
	s := m.server.Load()
	switch r.URL.Path {
	case "/healthz":
		fmt.Fprintln(w, "ok")
	case "/readyz":
		ready(w, s)
	case "/metrics":
		if s == nil {
			http.Error(w, "starting: the catalogue is being built", http.StatusServiceUnavailable)
			return
		}
		promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	default:
		http.Error(w, "ask for /metrics, /healthz or /readyz", http.StatusNotFound)
	}
}

func ready(w http.ResponseWriter, s *Server) {
	switch {
	case s == nil:
		http.Error(w, "starting: the catalogue is being built", http.StatusServiceUnavailable)
	case !s.Ready():
		http.Error(w, "stopping: no new connections are accepted", http.StatusServiceUnavailable)
	default:
		fmt.Fprintf(w, "ready: %d files for compatibility version %s, %d connections\n", len(s.Catalogue().files), s.Catalogue().Compatibility(), s.Connections())
	}
}

// MonitorAddress is where the settings want metrics and health to be served: loopback if they name no host, "" if they
// want none.
func (s Settings) MonitorAddress() string {
	addr := s.Operations.HTTPAddress
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// ServeMonitor answers with the monitor until ctx ends, and closes the listener.
func (m *Monitor) ServeMonitor(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	log.Info().Stringer("http", listener.Addr()).Msg("Metrics and health are served")
	return serveHTTP(ctx, listener, m, answerTime)
}

// serveHTTP serves until ctx ends; requests under way are broken off then. An answer of 0 is no bound on it.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, answer time.Duration) error {
	s := &http.Server{
		Handler:        handler,
		ReadTimeout:    askTime,
		WriteTimeout:   answer,
		IdleTimeout:    answerTime,
		MaxHeaderBytes: maxAsk,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	err := s.Serve(&few{Listener: listener, seats: make(chan struct{}, maxAskers), closed: make(chan struct{})})
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
