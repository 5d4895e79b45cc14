package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/certificate"
	"collet/platform/text"
)

// ServeMonitor serves until ctx ends, lets pending answers finish for at most Limits.DrainTime, and closes the listener.
func (m *Monitor) ServeMonitor(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	what, drain := "Health and the dashboard are served", min(m.set.Limits.DrainTime, lastAnswers)
	if m.servesFolder() {
		what, drain = "Health, the dashboard and the release folder are served", m.set.Limits.DrainTime
	}
	log.Info().Stringer("http", listener.Addr()).Bool("tls", m.pair != nil).Msg(what)
	return m.serve(ctx, &portListener{Listener: listener, monitor: m, offers: m.servesFolder()}, m, m.pair, drain, log)
}

// ServeMetrics serves MetricsHandler over plain HTTP until ctx ends, lets pending answers finish, and closes the listener. It is called after Configure.
func (m *Monitor) ServeMetrics(ctx context.Context, listener net.Listener, log zerolog.Logger) error {
	log.Info().Stringer("metrics", listener.Addr()).Msg("Metrics are served")
	return m.serve(ctx, &portListener{Listener: listener, monitor: m}, m.MetricsHandler(), nil, lastAnswers, log)
}

// lastAnswers is how long answers that are no files may take at the end: they are short.
const lastAnswers = 2 * time.Second

// serve runs a handler for the connections of a port, over TLS if there is a certificate.
func (m *Monitor) serve(ctx context.Context, l *portListener, handler http.Handler, pair *certificate.Pair, drain time.Duration, log zerolog.Logger) error {
	alive, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	l.ctx = alive
	var inner net.Listener = l
	if pair != nil {
		inner = tls.NewListener(l, pair.Config("h2", "http/1.1"))
	}
	s := &http.Server{
		Handler:           trackAnswers(logPanics(handler, log)),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderSize,
		ConnContext:       withConnection,
		ErrorLog:          stdlog.New(webLog{log}, "", 0),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: idleTime, WriteByteTimeout: m.progressTime()},
	}
	return serveUntil(ctx, s, inner, drain)
}

// serveUntil serves until ctx ends, then lets pending answers finish for at most drain.
func serveUntil(ctx context.Context, s *http.Server, listener net.Listener, drain time.Duration) error {
	var stopping sync.WaitGroup
	defer stopping.Wait()
	done, stop := context.WithCancel(ctx)
	defer stop()
	stopping.Go(func() {
		<-done.Done()
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		s.Shutdown(shutdown)
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

// logPanics logs a handler's panic as a fault of this program, with its type and stack, and aborts the answer.
func logPanics(handler http.Handler, log zerolog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault != http.ErrAbortHandler { // a handler aborts its answer this way
				log.Error().Str("type", fmt.Sprintf("%T", fault)).Str("fault", text.Quote(fmt.Sprint(fault))).Str("path", text.Quote(r.URL.Path)).Bytes("stack", debug.Stack()).
					Msg("A fault of this program ended an answer over HTTP; please report it with this line")
			}
			panic(http.ErrAbortHandler)
		}()
		handler.ServeHTTP(w, r)
	})
}
