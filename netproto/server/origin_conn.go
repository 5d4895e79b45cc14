package server

import (
	"context"
	"crypto/tls"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/config"
	"collet/netproto/server/limits"
)

// maxStreams is how many requests of one HTTP/2 connection are answered at a time: more than a client has in flight.
const maxStreams = 32

// hall is the listener of an HTTP port. While it offers a release folder, every connection needs a slot among those of all
// clients and shares the bandwidth of its address. maxAskers further connections beside Limits.HTTPConnections are reserved for
// addresses that may request health, so an operator can connect to a full server.
type hall struct {
	net.Listener
	monitor *Monitor
	offers  bool            // a release folder is offered here
	ctx     context.Context // connections are closed when it ends
	seating seating
}

// Accept implements net.Listener.
func (h *hall) Accept() (net.Conn, error) {
	for {
		conn, err := h.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v, welcome := h.seat(conn); welcome {
			return v, nil
		}
		conn.Close()
	}
}

// seat makes a visitor of a connection. A refused connection is answered with the reason, while few refusals are in progress.
func (h *hall) seat(conn net.Conn) (*visitor, bool) {
	m := h.monitor
	addr := limits.Address(conn.RemoteAddr().String())
	v := &visitor{hall: h, steady: steady{Conn: conn, progress: m.progress(), broken: h.ctx}, operator: m.mayAsk(addr)}
	v.from = limits.Client(addr)
	s := m.server.Load()
	v.guest = s != nil && h.offers && !v.operator
	room := room{most: maxAskers, share: maxAskersPerAddress}
	switch {
	case v.guest:
		room.most, room.share = s.set.Limits.HTTPConnections, 0 // the Limiter has the limit per address
	case s != nil && s.limiter.IsExempt(addr):
		room.share = 0
	}
	entered := h.seating.enter(v, room, time.Now())
	switch {
	case !v.guest && !entered:
		return nil, false
	case s == nil || !h.offers:
		return v, true
	case !entered:
		v.why, v.taken.Client = limits.CauseHTTP, v.from
	default:
		v.taken, v.why = s.limiter.Enter(addr, time.Now())
	}
	if v.why == "" {
		v.server, v.bandwidth = s, v.taken.Bandwidth
		v.left = s.meter.seated(h.transport())
		return v, true
	}
	s.meter.refused(v.why, h.transport())
	s.warn(v.taken.Client, v.why, limits.WarnUnknown).Str("peer", conn.RemoteAddr().String()).
		Msgf("Refused an HTTP connection from host '%s': %s", addr, s.overLimit(v.why))
	if v.operator {
		return v, true
	}
	if v.refused = s.limiter.BeginRefusal(v.taken, time.Now()); v.refused {
		v.server = s
		return v, true
	}
	v.forget()
	return nil, false
}

func (h *hall) transport() transport {
	if h.monitor.pair != nil {
		return overHTTPS
	}
	return overHTTP
}

// visitor is a connection to the HTTP port. All writes have the write deadline and the rate limit of steady.
type visitor struct {
	steady
	hall     *hall
	operator bool         // may request health
	guest    bool         // may only fetch files
	from     netip.Prefix // its address
	why      limits.Cause // the cause of its refusal
	server   *Server      // has given it a slot, or a refusal's slot
	taken    limits.Slot
	left     func()
	refused  bool
	once     sync.Once

	// Guarded by the lock of seating.
	answers int       // in progress
	since   time.Time // begin or end of the last answer, or begin of the connection
	trusted bool      // has sent a valid token
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.once.Do(v.forget)
	return v.hangUp()
}

// hangUp closes the underlying connection; net/http notices that and closes the visitor.
func (v *visitor) hangUp() error { return v.steady.Conn.Close() }

// forget releases the visitor's slots.
func (v *visitor) forget() {
	v.hall.seating.leave(v)
	switch {
	case v.refused:
		v.server.limiter.EndRefusal()
	case v.server != nil:
		v.left()
		v.server.limiter.Leave(v.taken)
	}
}

// ReadFrom implements io.ReaderFrom: a part of a file is sent by sendfile(2), in pieces, each with the rate limit and its own deadline.
func (v *visitor) ReadFrom(from io.Reader) (sent int64, err error) {
	part, limited := from.(*io.LimitedReader)
	direct, able := v.steady.Conn.(io.ReaderFrom)
	if !limited || !able {
		return io.Copy(struct{ io.Writer }{&v.steady}, from)
	}
	for part.N > 0 {
		piece := min(part.N, int64(v.step()))
		if v.bandwidth != nil {
			if err := v.bandwidth.Wait(v.broken, int(piece)); err != nil {
				return sent, net.ErrClosed
			}
		}
		if err := v.SetWriteDeadline(time.Now().Add(v.progress)); err != nil {
			return sent, err
		}
		n, err := direct.ReadFrom(&io.LimitedReader{R: part.R, N: piece})
		sent, part.N = sent+n, part.N-n
		if err != nil || n < piece {
			return sent, err
		}
	}
	return sent, nil
}

// visitorKey is the context key of a request's visitor.
type visitorKey struct{}

// visitorOf is the visitor of a request; nil if the connection came from another listener.
func visitorOf(r *http.Request) *visitor {
	v, _ := r.Context().Value(visitorKey{}).(*visitor)
	return v
}

func withVisitor(ctx context.Context, conn net.Conn) context.Context {
	if secured, is := conn.(*tls.Conn); is {
		conn = secured.NetConn()
	}
	return context.WithValue(ctx, visitorKey{}, conn)
}

// Configure makes the monitor serve a release folder, speak TLS, and restrict metrics and health to the configured addresses. It
// is called before ServeMonitor. Without it, health and the dashboard are served in plain HTTP to all addresses. The error is a
// *CertificateError.
func (m *Monitor) Configure(set config.Settings, log zerolog.Logger) error {
	o := set.Operations
	m.set = &set
	texts := o.MetricsFrom
	if texts == nil && m.handsOut() {
		texts = []string{"127.0.0.0/8", "::1"}
	}
	if m.anyone = texts == nil; !m.anyone {
		for _, text := range texts {
			if prefix, err := config.ParsePrefix(text); err == nil {
				m.from = append(m.from, prefix)
			}
		}
	}
	if o.HTTPCertificate == "" {
		return nil
	}
	var err error
	m.pair, err = openCertificate(o.HTTPCertificate, o.HTTPPrivateKey, log, time.Now)
	return err
}

// Reload checks the files of the certificate now, instead of within seconds.
func (m *Monitor) Reload() {
	if m.pair != nil {
		m.pair.reload()
	}
}

// handsOut reports whether a release folder is served.
func (m *Monitor) handsOut() bool {
	return m.set != nil && m.set.Release.Folder != "" && m.set.Release.HTTPPrefix != ""
}

// mayAsk reports whether an address may request health, and metrics where they are served.
func (m *Monitor) mayAsk(addr netip.Addr) bool {
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

// progress is how long a client may take to receive a piece of an answer.
func (m *Monitor) progress() time.Duration {
	if m.set == nil {
		return answerTime
	}
	return m.set.Limits.ProgressTime
}

// ServeMonitor serves until ctx ends, lets pending answers finish for at most Limits.DrainTime, and closes the listener.
func (m *Monitor) ServeMonitor(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	what, drain := "Health and the dashboard are served", time.Duration(0)
	if m.handsOut() {
		what, drain = "Health, the dashboard and the release folder are served", m.set.Limits.DrainTime
	}
	log.Info().Stringer("http", listener.Addr()).Bool("tls", m.pair != nil).Msg(what)
	return m.serve(ctx, &hall{Listener: listener, monitor: m, offers: m.handsOut()}, m, m.pair, drain, log)
}

// ServeMetrics serves MetricsHandler over plain HTTP until ctx ends, and closes the listener. It is called after Configure.
func (m *Monitor) ServeMetrics(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	log.Info().Stringer("metrics", listener.Addr()).Msg("Metrics are served")
	return m.serve(ctx, &hall{Listener: listener, monitor: m}, m.MetricsHandler(), nil, 0, log)
}

// serve runs a handler for the connections of a hall, over TLS if there is a certificate.
func (m *Monitor) serve(ctx context.Context, h *hall, handler http.Handler, pair *certificate, drain time.Duration, log zerolog.Logger) error {
	alive, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	h.ctx = alive
	var inner net.Listener = h
	if pair != nil {
		inner = tls.NewListener(h, pair.config("h2", "http/1.1"))
	}
	s := &http.Server{
		Handler:           attend(ownFaults(handler, log)),
		ReadHeaderTimeout: askTime,
		IdleTimeout:       answerTime,
		MaxHeaderBytes:    maxAsk,
		ConnContext:       withVisitor,
		ErrorLog:          stdlog.New(webLog{log}, "", 0),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: answerTime, WriteByteTimeout: m.progress()},
	}
	return serveUntil(ctx, s, inner, drain)
}
