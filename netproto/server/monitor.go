package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"collet/netproto/server/config"
	"collet/netproto/server/limits"
	"collet/netproto/server/operator"
)

// Limits of the HTTP ports and the control socket.
const (
	// askTime is how long a request's head may take to arrive; a scraper sends it in one packet.
	askTime = 5 * time.Second
	// answerTime is how long a connection may be idle between requests, and how long a client may take to read a piece of an answer.
	answerTime = 30 * time.Second
	// maxAsk is the largest request head in bytes.
	maxAsk = 8 << 10
	// maxAskers is how many connections one port serves at once beside those for files. A connection beyond them replaces one
	// that is not being answered, see seating.
	maxAskers = 32
)

// Monitor answers over HTTP, at two addresses. ServeMonitor: GET /healthz (200 while the process runs), /readyz (200 while new
// players are accepted, else 503 with the reason), the mounted handlers (dashboard, admin API), and the files of a release
// folder, see Configure. ServeMetrics: GET /metrics for Prometheus, and health too. It answers before there is a server as well.
// The zero value is ready to use.
type Monitor struct {
	server atomic.Pointer[Server]
	pages  []page

	// Set by Configure, then fixed.
	set    *config.Settings
	anyone bool           // every address may request health and metrics
	from   []netip.Prefix // the allowed addresses, unless anyone
	pair   *certificate   // nil: plain HTTP
}

// page is a mounted handler and the paths that it owns.
type page struct {
	owns    func(path string) bool
	handler http.Handler
}

// Mount adds a handler for the paths for which owns is true. It is called before ServeMonitor.
func (m *Monitor) Mount(owns func(path string) bool, handler http.Handler) {
	m.pages = append(m.pages, page{owns, handler})
}

// pageFor is the mounted handler that owns a path, or nil.
func (m *Monitor) pageFor(path string) http.Handler {
	for _, p := range m.pages {
		if p.owns(path) {
			return p.handler
		}
	}
	return nil
}

// Operator implements admin.Door.
func (m *Monitor) Operator() *operator.Operator {
	if s := m.server.Load(); s != nil {
		return s.Operator()
	}
	return nil
}

// Recognised implements admin.Door: the connection is not replaced by newer ones.
func (m *Monitor) Recognised(r *http.Request) { visitorOf(r).trust() }

// Unrecognised implements admin.Door.
func (m *Monitor) Unrecognised(r *http.Request, wrong bool) bool {
	s, from := m.server.Load(), limits.Client(limits.Address(r.RemoteAddr))
	if !s.limiter.AllowToken(from, time.Now()) {
		return false
	}
	if wrong {
		s.warn(from, causeToken, limits.WarnKnown).Str("peer", r.RemoteAddr).Msg("Refused a wrong token")
	}
	return true
}

// causeToken counts warnings about wrong tokens.
const causeToken limits.Cause = "token"

// Watch sets the server that the monitor reports on.
func (m *Monitor) Watch(s *Server) { m.server.Store(s) }

// ServeHTTP implements http.Handler.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// net/http would wait for the unread body after the answer.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(askTime))
		w.Header().Set("Connection", "close")
	}
	if page := m.pageFor(r.URL.Path); page != nil {
		if v := visitorOf(r); v != nil && v.refused {
			w.Header().Set("Connection", "close") // answered, but then closed: the refusal's slot is for the next connection
		}
		page.ServeHTTP(w, r)
		return
	}
	if name, is := under(m.prefix(), r.URL.Path); is {
		m.serveFolder(w, r, name)
		return
	}
	if v := visitorOf(r); v != nil && !v.operator {
		refuseWith(w, http.StatusNotFound, "there is nothing here")
		return
	}
	m.tell(w, r, m.set != nil && m.set.Operations.MetricsAddress == config.MetricsHere)
}

// prefix is the path of the release folder; empty if it is not served.
func (m *Monitor) prefix() string {
	if !m.handsOut() {
		return ""
	}
	return m.set.Release.HTTPPrefix
}

// tell answers about the server's state; measured includes the metrics.
func (m *Monitor) tell(w http.ResponseWriter, r *http.Request, measured bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered here", http.StatusMethodNotAllowed)
		return
	}
	s := m.server.Load()
	switch path := r.URL.Path; {
	case path == "/healthz":
		fmt.Fprintln(w, "ok")
	case path == "/readyz":
		ready(w, s)
	case path == "/metrics" && measured:
		if s == nil {
			http.Error(w, "starting: the catalogue is being built", http.StatusServiceUnavailable)
			return
		}
		promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	case measured:
		http.Error(w, "ask for /metrics, /healthz or /readyz", http.StatusNotFound)
	default:
		http.Error(w, "ask for /healthz or /readyz; metrics have an address of their own, Operations.MetricsAddress", http.StatusNotFound)
	}
}

func ready(w http.ResponseWriter, s *Server) {
	switch {
	case s == nil:
		http.Error(w, "starting: the catalogue is being built", http.StatusServiceUnavailable)
	case !s.Ready():
		http.Error(w, "stopping: no new connections are accepted", http.StatusServiceUnavailable)
	default:
		fmt.Fprintf(w, "ready: %d files for compatibility version %s\n", s.Catalogue().Len(), s.Catalogue().Compatibility())
	}
}

// MetricsHandler answers GET /metrics, /healthz and /readyz. With Operations.MetricsFrom only these addresses are answered.
func (m *Monitor) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.set != nil && m.set.Operations.MetricsFrom != nil && !m.mayAsk(limits.Address(r.RemoteAddr)) {
			refuseWith(w, http.StatusNotFound, "there is nothing here")
			return
		}
		m.tell(w, r, true)
	})
}

// serveUntil serves until ctx ends, then lets pending answers finish for at most drain.
func serveUntil(ctx context.Context, s *http.Server, listener net.Listener, drain time.Duration) error {
	var stopping sync.WaitGroup
	defer stopping.Wait()
	ended, stop := context.WithCancel(ctx)
	defer stop()
	stopping.Go(func() {
		<-ended.Done()
		patience, enough := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer enough()
		s.Shutdown(patience)
		s.Close()
	})
	err := s.Serve(listener)
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// webLog is the error log of http.Server. Its lines are about scanners and broken connections and go to the debug level. The
// server counts and logs elsewhere what an operator needs.
type webLog struct{ log zerolog.Logger }

// Write implements io.Writer.
func (w webLog) Write(line []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// ownFaults logs a handler's panic as a fault of this program, with its type and stack, and aborts the answer.
func ownFaults(handler http.Handler, log zerolog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault != http.ErrAbortHandler { // a handler aborts its answer this way
				log.Error().Str("type", fmt.Sprintf("%T", fault)).Str("fault", quote(fmt.Sprint(fault))).Str("path", quote(r.URL.Path)).Bytes("stack", debug.Stack()).
					Msg("A fault of this program ended an answer over HTTP; please report it with this line")
			}
			panic(http.ErrAbortHandler)
		}()
		handler.ServeHTTP(w, r)
	})
}
