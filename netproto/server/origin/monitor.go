// Package origin is the HTTP side of an update server: the files of a release folder, health, readiness, metrics, and the mounted
// handlers (admin API, dashboard).
//
// # Files
//
// GET and HEAD of the names in a release folder are answered as RFC 9110 says. Everything is immutable and may be cached for a
// year, except timestamp.json and sequels, which caches must revalidate. Every answer with a file has a strong ETag, normally the
// file's SHA-256, and no Last-Modified: the times of copies differ. A single range is answered with 206. A request for several
// ranges, which the RFC lets a server ignore, is answered with the whole file. Files are sent as stored: there is no
// Content-Encoding, whatever the client accepts. The last bytes of a file are sent after a check that it is unchanged.
//
// With Release.TokensFile only requests with one of its bearer tokens are answered; others get 401. Shared caches may not keep the
// answers then.
//
// # Connections
//
// While a port offers a release folder, every connection takes a slot of the server's Limiter and shares the bandwidth of its
// address, as game clients do. Further slots are reserved for addresses that may request health, so an operator can connect to a
// full server. A new connection above a limit replaces the one that has waited longest for a request.
package origin

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/certificate"
	"collet/netproto/server/config"
	"collet/netproto/server/limits"
	"collet/netproto/server/metrics"
	"collet/netproto/server/operator"
)

// Limits of the HTTP ports.
const (
	// headerTime is how long a request's header may take to arrive; a scraper sends it in one packet.
	headerTime = 5 * time.Second
	// idleTime is how long a connection may be idle between requests, and how long a client may take to read a piece of an answer.
	idleTime = 30 * time.Second
	// maxHeaderSize is the largest request header in bytes.
	maxHeaderSize = 8 << 10
	// maxHealthConnections is how many connections one port serves at once beside those for files. A connection beyond them
	// replaces one that is not being answered, see slots.
	maxHealthConnections = 32
	// maxStreams is how many requests of one HTTP/2 connection are answered at a time: more than a client has in flight.
	maxStreams = 32
)

// Monitor answers over HTTP, at two addresses. ServeMonitor: GET /healthz (200 while the process runs), /readyz (200 while new
// players are accepted, else 503 with the reason), the mounted handlers (dashboard, admin API), and the files of a release
// folder, see Configure. ServeMetrics: GET /metrics for Prometheus, and health too. It answers before there is a server as well.
// The zero value is ready to use.
type Monitor struct {
	server  atomic.Pointer[server.Server]
	readers atomic.Pointer[readers] // of a private release folder; nil: it is public
	pages   []page

	// Set by Configure, then fixed.
	set    *config.Settings
	anyone bool              // every address may request health and metrics
	from   []netip.Prefix    // the allowed addresses, unless anyone
	pair   *certificate.Pair // nil: plain HTTP
	log    zerolog.Logger
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

// ClientsOf are the clients that had a release, since the server was started.
func (m *Monitor) ClientsOf(e release.Entry) metrics.Clients {
	if s := m.server.Load(); s != nil {
		return s.Metrics().ClientsOf(e)
	}
	return metrics.Clients{}
}

// NameOf is the name of a release in counts: see catalogue.Folder. It is false without a release folder.
func (m *Monitor) NameOf(channel, target string, number uint64) (name string, known bool) {
	s := m.server.Load()
	if s == nil {
		return "", false
	}
	c := s.HoldCatalogue()
	defer c.Release()
	if c.Folder() == nil {
		return "", false
	}
	return c.Folder().NameOf(channel, target, number)
}

// PlayerAddress is the address of a request. It is invalid for one that stands for many clients, such as a proxy's.
func (m *Monitor) PlayerAddress(r *http.Request) netip.Addr {
	addr := limits.Address(r.RemoteAddr)
	if s := m.server.Load(); s == nil || s.Limiter().IsExempt(addr) {
		return netip.Addr{}
	}
	return addr
}

// Recognised implements admin.Door: the connection is not replaced by newer ones.
func (m *Monitor) Recognised(r *http.Request) { connectionOf(r).markTrusted() }

// Unrecognised implements admin.Door.
func (m *Monitor) Unrecognised(r *http.Request, wrong bool) bool {
	s, from := m.server.Load(), limits.Client(limits.Address(r.RemoteAddr))
	if !s.Limiter().AllowToken(from, time.Now()) {
		return false
	}
	if wrong {
		s.Warn(from, causeToken, limits.WarnKnown).Str("peer", r.RemoteAddr).Msg("Refused a wrong token")
	}
	return true
}

// causeToken counts warnings about wrong tokens.
const causeToken limits.Cause = "token"

// Watch sets the server that the monitor reports on.
func (m *Monitor) Watch(s *server.Server) { m.server.Store(s) }

// ServeHTTP implements http.Handler.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// net/http would wait for the unread body after the answer.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime))
		w.Header().Set("Connection", "close")
	}
	if page := m.pageFor(r.URL.Path); page != nil {
		if c := connectionOf(r); c != nil && c.refusalSlot {
			w.Header().Set("Connection", "close") // answered, but then closed: the refusal's slot is for the next connection
		}
		page.ServeHTTP(w, r)
		return
	}
	if name, is := fileName(m.prefix(), r.URL.Path); is {
		m.serveFolder(w, r, name)
		return
	}
	if r.URL.Path == "/" && m.Operator() != nil && m.pageFor(home) != nil {
		http.Redirect(w, r, home, http.StatusSeeOther)
		return
	}
	if c := connectionOf(r); c != nil && !c.health {
		said := "there is nothing here"
		if r.URL.Path == "/" {
			said = front
		}
		refuse(w, http.StatusNotFound, said)
		return
	}
	m.serveState(w, r, m.set != nil && m.set.Operations.MetricsAddress == config.MetricsHere)
}

// front is said at "/" of a server without a dashboard.
const front = "This is an update server: games fetch their updates from here, and there is no page to look at."

// home is where "/" leads to on a server with a dashboard.
const home = "/admin"

// prefix is the path of the release folder; empty if it is not served.
func (m *Monitor) prefix() string {
	if !m.servesFolder() {
		return ""
	}
	return m.set.Release.HTTPPrefix
}

// starting is the answer until there is a catalogue. The store is opened before, and may wait for its cluster.
const starting = "starting: files are being read, or the cluster does not answer yet; the log says more"

// serveState answers about the server's state; measured includes the metrics.
func (m *Monitor) serveState(w http.ResponseWriter, r *http.Request, measured bool) {
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
		writeReadiness(w, s)
	case path == "/metrics" && measured:
		if s == nil {
			http.Error(w, starting, http.StatusServiceUnavailable)
			return
		}
		s.Metrics().Handler().ServeHTTP(w, r)
	default:
		hint := "ask for /healthz or /readyz; metrics have an address of their own, Operations.MetricsAddress"
		if measured {
			hint = "ask for /metrics, /healthz or /readyz"
		}
		if path == "/" {
			hint = front + "\nWho runs it: " + hint + ". With Compat.Store the server has a dashboard, at /admin of Operations.HTTPAddress."
		}
		http.Error(w, hint, http.StatusNotFound)
	}
}

func writeReadiness(w http.ResponseWriter, s *server.Server) {
	switch {
	case s == nil:
		http.Error(w, starting, http.StatusServiceUnavailable)
	case !s.Ready():
		http.Error(w, "stopping: no new connections are accepted", http.StatusServiceUnavailable)
	default:
		writeReady(w, s.Catalogue())
	}
}

// writeReady says what is offered. A server that offers no client anything is ready, too: it serves the signed lists that say so.
func writeReady(w io.Writer, c *catalogue.Catalogue) {
	offered := fmt.Sprintf("%d files for compatibility version %s", c.Len(), c.Compatibility())
	if c.Len() == 0 && len(c.Withheld()) > 0 {
		offered = "no files for everybody"
	}
	fmt.Fprintf(w, "ready: %s\n", offered)
	if len(c.Withheld()) > 0 {
		fmt.Fprintf(w, "warning: no release is for everybody on %s\n", strings.Join(c.Withheld(), ", "))
	}
}

// MetricsHandler answers GET /metrics, /healthz and /readyz. With Operations.MetricsFrom only these addresses are answered.
func (m *Monitor) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.set != nil && m.set.Operations.MetricsFrom != nil && !m.mayRequestHealth(limits.Address(r.RemoteAddr)) {
			refuse(w, http.StatusNotFound, "there is nothing here")
			return
		}
		m.serveState(w, r, true)
	})
}

// Configure makes the monitor serve a release folder, speak TLS, and restrict metrics and health to the configured addresses. It
// is called before ServeMonitor. Without it, health and the dashboard are served in plain HTTP to all addresses. The error is a
// *certificate.Error or a *config.Error.
func (m *Monitor) Configure(set config.Settings, log zerolog.Logger) error {
	o := set.Operations
	m.set = &set
	texts := o.MetricsFrom
	if texts == nil && m.servesFolder() {
		texts = []string{"127.0.0.0/8", "::1"}
	}
	if m.anyone = texts == nil; !m.anyone {
		for _, text := range texts {
			if prefix, err := config.ParsePrefix(text); err == nil {
				m.from = append(m.from, prefix)
			}
		}
	}
	m.log = log
	if err := m.openReaders(); err != nil || o.HTTPCertificate == "" {
		return err
	}
	var err error
	m.pair, err = certificate.Open(o.HTTPCertificate, o.HTTPPrivateKey, log, time.Now)
	return err
}

// Reload checks the files of the certificate now, instead of within seconds, and reads the tokens again. If they can't be read, those
// before stay, and the log says so.
func (m *Monitor) Reload() {
	if m.readers.Load() != nil {
		if err := m.openReaders(); err != nil {
			m.log.Error().Err(err).Msg("Can't read the tokens of the release folder again; those before stay")
		}
	}
	if m.pair != nil {
		m.pair.Reload()
	}
}

// servesFolder reports whether a release folder is served.
func (m *Monitor) servesFolder() bool {
	return m.set != nil && m.set.Release.Folder != "" && m.set.Release.HTTPPrefix != ""
}

// mayRequestHealth reports whether an address may request health, and metrics where they are served.
func (m *Monitor) mayRequestHealth(addr netip.Addr) bool {
	if m.set == nil || m.anyone || !addr.IsValid() {
		return true
	}
	for _, prefix := range m.from {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// progressTime is how long a client may take to receive a piece of an answer.
func (m *Monitor) progressTime() time.Duration {
	if m.set == nil {
		return idleTime
	}
	return m.set.Limits.ProgressTime
}
