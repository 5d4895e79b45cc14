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
)

// maxStreams is how many requests of one connection of HTTP/2 are answered at a time: what a fetcher has in flight, with
// some to spare.
const maxStreams = 32

// hall is the listener of the HTTP port. While a release folder is offered, every connection takes a seat among those of
// all clients, and shares the bandwidth of its address with them; maxAskers more places are only for those who may ask
// for metrics, so that an operator gets in when the house is full.
type hall struct {
	*few
	monitor *Monitor
	ctx     context.Context // broken off when it ends

	mu   sync.Mutex
	open int // connections that may not ask for metrics
}

// Accept implements net.Listener.
func (h *hall) Accept() (net.Conn, error) {
	for {
		conn, err := h.few.Accept()
		if err != nil {
			return nil, err
		}
		if v, welcome := h.seat(conn); welcome {
			return v, nil
		}
		conn.Close()
	}
}

// seat makes a visitor of a connection. One who finds no seat is told so in an answer, as far as that is bounded.
func (h *hall) seat(conn net.Conn) (*visitor, bool) {
	m := h.monitor
	addr := addressOf(conn.RemoteAddr().String())
	v := &visitor{hall: h, steady: steady{Conn: conn, progress: m.progress(), broken: h.ctx}, operator: m.mayAsk(addr)}
	s := m.server.Load()
	if s == nil || !m.handsOut() {
		return v, true
	}
	if !v.operator {
		h.mu.Lock()
		if h.open >= s.set.Limits.HTTPConnections {
			v.why = causeHTTP
		} else {
			h.open++
			v.counted = true
		}
		h.mu.Unlock()
	}
	if v.why == "" {
		v.taken, v.why = s.guard.enter(addr, time.Now())
	} else {
		v.taken.from = originOf(addr)
	}
	if v.why == "" {
		v.server, v.lane = s, v.taken.lane
		v.left = s.meter.seated(h.transport())
		return v, true
	}
	s.meter.refused(v.why, h.transport())
	s.warn(v.taken.from, v.why, warnStranger).Str("peer", conn.RemoteAddr().String()).
		Msgf("Refused an HTTP connection from host '%s': %s", addr, s.overLimit(v.why))
	if v.operator {
		return v, true
	}
	if v.refused = s.guard.refuse(v.taken, time.Now()); v.refused {
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

// visitor is a connection to the HTTP port. Everything that is written keeps the pace and the patience of steady.
type visitor struct {
	steady
	hall     *hall
	operator bool    // may ask for metrics
	why      cause   // found no seat
	server   *Server // whose seat, or place of a refused one, it has
	taken    seat
	left     func()
	counted  bool
	refused  bool
	once     sync.Once
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.once.Do(v.forget)
	return v.steady.Conn.Close()
}

// forget gives back what the visitor has taken.
func (v *visitor) forget() {
	switch {
	case v.refused:
		v.server.guard.refused()
	case v.server != nil:
		v.left()
		v.server.guard.leave(v.taken)
	}
	if v.counted {
		v.hall.mu.Lock()
		v.hall.open--
		v.hall.mu.Unlock()
	}
}

// ReadFrom implements io.ReaderFrom: a part of a file goes by sendfile(2), in pieces, each in its turn and its time.
func (v *visitor) ReadFrom(from io.Reader) (sent int64, err error) {
	part, limited := from.(*io.LimitedReader)
	direct, able := bare(v.steady.Conn).(io.ReaderFrom)
	if !limited || !able {
		return io.Copy(struct{ io.Writer }{&v.steady}, from)
	}
	for part.N > 0 {
		piece := min(part.N, int64(v.step()))
		if v.lane != nil {
			if err := v.lane.pass(v.broken, int(piece)); err != nil {
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

// bare is the connection of the system beneath a seat.
func bare(conn net.Conn) net.Conn {
	if s, is := conn.(*seated); is {
		return s.Conn
	}
	return conn
}

// visitorKey is where a request's context has its visitor.
type visitorKey struct{}

// visitorOf is nil for a request that came by another way than a hall.
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

// Configure makes the monitor hand out a release folder, speak TLS, and answer about metrics and health whom the settings
// say. It comes before ServeMonitor; without it health and the dashboard are served, in the clear and to all that ask. The
// error is a *CertificateError.
func (m *Monitor) Configure(set Settings, log zerolog.Logger) error {
	o := set.Operations
	m.set = &set
	texts := o.MetricsFrom
	if texts == nil && m.handsOut() {
		texts = []string{"127.0.0.0/8", "::1"}
	}
	if m.anyone = texts == nil; !m.anyone {
		for _, text := range texts {
			if prefix, err := parsePrefix(text); err == nil {
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

// Reload looks at the files of the certificate now, instead of within seconds.
func (m *Monitor) Reload() {
	if m.pair != nil {
		m.pair.reload()
	}
}

// handsOut reports whether a release folder is.
func (m *Monitor) handsOut() bool {
	return m.set != nil && m.set.Release.Folder != "" && m.set.Release.HTTPPrefix != ""
}

// mayAsk reports whether an address may ask about health, and for metrics where they are served.
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

// progress is how long a client may take for a piece of an answer.
func (m *Monitor) progress() time.Duration {
	if m.set == nil {
		return answerTime
	}
	return m.set.Limits.ProgressTime
}

// ServeMonitor answers until ctx ends, lets answers that are under way finish for Limits.DrainTime at most, and closes the
// listener.
func (m *Monitor) ServeMonitor(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	seats, drain := maxAskers, time.Duration(0)
	if m.handsOut() {
		seats, drain = seats+m.set.Limits.HTTPConnections+maxRefusing, m.set.Limits.DrainTime
	}
	alive, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	var inner net.Listener = &hall{monitor: m, ctx: alive, few: &few{Listener: listener, seats: make(chan struct{}, seats), closed: make(chan struct{})}}
	what := "Health and the dashboard are served"
	if m.handsOut() {
		what = "Health, the dashboard and the release folder are served"
	}
	log.Info().Stringer("http", listener.Addr()).Bool("tls", m.pair != nil).Msg(what)
	if m.pair != nil {
		inner = tls.NewListener(inner, m.pair.config("h2", "http/1.1"))
	}
	s := &http.Server{
		Handler:           m,
		ReadHeaderTimeout: askTime,
		IdleTimeout:       answerTime,
		MaxHeaderBytes:    maxAsk,
		ConnContext:       withVisitor,
		ErrorLog:          stdlog.New(webLog{log}, "", 0),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: answerTime, WriteByteTimeout: m.progress()},
	}
	return serveUntil(ctx, s, inner, drain)
}
