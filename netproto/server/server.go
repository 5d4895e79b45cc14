package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/limits"
	"collet/netproto/server/metrics"
	"collet/netproto/server/operator"
	"collet/platform/interrupt"
)

// Server serves the files of a catalogue. New makes one; all methods are safe for concurrent use.
type Server struct {
	log       zerolog.Logger
	set       config.Settings // the argument of New
	portion   int             // bytes
	started   time.Time
	catalogue atomic.Pointer[catalogue.Catalogue]
	operator  atomic.Pointer[operator.Operator] // nil: no settings change at run time
	onVerdict func(compat.Meeting)              // nil: verdicts are not reported
	onReady   func()                            // nil: not called
	sealed    <-chan struct{}                   // closed when hellos may be accepted; nil: always
	reloading sync.Mutex
	limiter   *limits.Limiter
	metrics   *metrics.Metrics
	ready     atomic.Bool
	writing   netproto.Buffers
	unjudged  sync.WaitGroup                // admitted clients whose hello has not been judged
	hurry     atomic.Pointer[chan struct{}] // closed when hellos are awaited no longer
}

// New makes a server of an opened catalogue and takes ownership of it. Of the settings it uses the network and the limits; they
// are fixed for its lifetime. A portion size of 0 or less is not refused here but, as in the source, at each request for a file.
func New(c *catalogue.Catalogue, set config.Settings, log zerolog.Logger) *Server {
	s := &Server{
		log:     log,
		set:     set,
		portion: min(set.Network.UpdateFileMaxPortionSize, config.MaxPortion),
		started: time.Now(),
		limiter: limits.New(set.Limits),
	}
	hurry := make(chan struct{})
	s.hurry.Store(&hurry)
	s.metrics = metrics.New(s.limiter)
	s.catalogue.Store(c)
	s.metrics.SetCatalogue(c)
	return s
}

// Govern judges clients by an operator's settings, from the next handshake on. The operator was opened with the server's
// catalogue, and is closed after the server. Govern is called at most once before Serve; a second operator was opened after the
// first one (operator.Options.After).
func (s *Server) Govern(o *operator.Operator) {
	if o == nil {
		return
	}
	if s.operator.Load() == nil {
		s.metrics.RegisterOperator(o)
	}
	s.operator.Store(o)
}

// AwaitVerdicts returns when every admitted client has been judged, so that the operator's store may be closed and the remaining sessions
// go on. A client whose hello has not come within patience is disconnected, and tries again. The listeners are paused meanwhile.
func (s *Server) AwaitVerdicts(patience time.Duration) {
	hurry := *s.hurry.Load()
	late := time.AfterFunc(patience, func() { close(hurry) })
	s.unjudged.Wait()
	if !late.Stop() {
		next := make(chan struct{})
		s.hurry.Store(&next)
	}
}

// OnVerdict sets a callback that is called once for every judged client: at once, or after the exchange of components, with the
// differences. The connection's own goroutine calls f, several at the same time; f must be quick. OnVerdict is called before Serve.
func (s *Server) OnVerdict(f func(compat.Meeting)) { s.onVerdict = f }

// OnReady sets a callback that Serve calls once, as soon as Ready is true. OnReady is called before Serve.
func (s *Server) OnReady(f func()) { s.onReady = f }

// Seal refuses hellos until sealed is closed (compat.Registry.Sealed): an earlier connection ends without an answer, and the
// client tries again. It is for programs whose components register themselves at start. A program that reads them from a
// manifest, as collet-server does, reads it before it listens. Seal is called at most once, before Serve.
func (s *Server) Seal(sealed <-chan struct{}) { s.sealed = sealed }

// Operator is nil for a server whose settings do not change at run time.
func (s *Server) Operator() *operator.Operator { return s.operator.Load() }

// Catalogue is the catalogue that new connections are offered.
func (s *Server) Catalogue() *catalogue.Catalogue { return s.catalogue.Load() }

// Limiter counts the connections of all ports against the limits.
func (s *Server) Limiter() *limits.Limiter { return s.limiter }

// Metrics are the metrics of the server and of its HTTP ports.
func (s *Server) Metrics() *metrics.Metrics { return s.metrics }

// Connections is how many clients are connected now.
func (s *Server) Connections() int { return s.limiter.Connections() }

// Ready reports whether new connections are accepted: Serve runs and has not been asked to stop.
func (s *Server) Ready() bool { return s.ready.Load() }

// Reload opens a new catalogue and offers it to new connections; existing ones keep theirs. On failure the old one stays; the
// error is that of catalogue.Reopen or of the operator's Adopt. Other settings stay as they were. Only one reload runs at a time.
func (s *Server) Reload(ctx context.Context, set config.Settings) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	c, err := catalogue.Reopen(ctx, set, s.Catalogue(), s.log)
	if o := s.operator.Load(); err == nil && o != nil {
		if err = o.Adopt(c.Declared()); err != nil {
			c.Close()
		}
	}
	s.metrics.CountReload(err)
	if err != nil {
		return err
	}
	old := s.catalogue.Swap(c)
	old.Close()
	s.metrics.SetCatalogue(c)
	s.announce(c)
	if name := tableToRestart(s.set, set); name != "" {
		s.log.Warn().Msgf("Settings of %s changed: they take effect when the server is started again", name)
	}
	return nil
}

// tableToRestart names the first changed table whose settings are fixed for a server's lifetime, or "".
func tableToRestart(s, now config.Settings) string {
	switch {
	case s.Network != now.Network:
		return "the network"
	case !reflect.DeepEqual(s.Limits, now.Limits):
		return "the limits"
	case !reflect.DeepEqual(s.Operations, now.Operations):
		return "operations"
	case !reflect.DeepEqual(s.SignIn, now.SignIn):
		return "the sign-in"
	case s.Compat.Store != now.Compat.Store || s.Compat.FloorsByAPI != now.Compat.FloorsByAPI:
		return "the compatibility store"
	case s.Release.HTTPPrefix != now.Release.HTTPPrefix:
		return "the release folder over HTTP"
	default:
		return ""
	}
}

// Close closes the catalogue's files after the last connection has released them. Serve must have returned.
func (s *Server) Close() { s.Catalogue().Close() }

// announce logs what is being served.
func (s *Server) announce(c *catalogue.Catalogue) {
	s.log.Info().Msgf("Updater version: %d and %d", netproto.G1.Version(), netproto.G2b.Version())
	c.Announce(s.log)
}

// Serve accepts connections until ctx ends or a listener fails. It then closes the listeners, lets pending answers finish for at
// most Limits.DrainTime, and returns when the last connection has ended. It returns nil when ctx ended it.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hard, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	v := &service{server: s, ctx: ctx, hard: hard}
	s.announce(s.Catalogue())
	s.warnOfDescriptors(descriptors())
	faults := make([]error, len(listeners))
	var accepting sync.WaitGroup
	s.ready.Store(true)
	for i, listener := range listeners {
		s.log.Info().Stringer("address", listener.Addr()).Msg("Listening")
		accepting.Go(func() {
			defer stop()
			defer context.AfterFunc(ctx, func() { listener.Close() })()
			faults[i] = v.accept(listener)
		})
	}
	if s.onReady != nil {
		s.onReady()
	}
	<-ctx.Done()
	s.ready.Store(false)
	for _, listener := range listeners {
		listener.Close()
	}
	accepting.Wait()
	drain := time.AfterFunc(s.set.Limits.DrainTime, breakOff)
	v.owned.Wait()
	drain.Stop()
	s.log.Info().Msg("Stopped")
	return errors.Join(faults...)
}

// accept admits connections until the listener is closed. After an error (out of descriptors) it retries after a pause that grows
// up to maxAcceptPause.
func (v *service) accept(listener net.Listener) error {
	wait := acceptPause
	for {
		conn, err := listener.Accept()
		switch {
		case v.ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case errors.Is(err, errPaused):
			continue
		case err != nil:
			v.server.log.Warn().Err(err).Dur("pause", wait).Msg("Can't accept connections")
			_ = interrupt.Sleep(v.ctx, wait) // the loop looks at ctx
			wait = min(2*wait, maxAcceptPause)
			continue
		}
		wait = acceptPause
		v.admit(conn)
	}
}

// Warn begins a log line about a fault of an address: at most `most` warnings of one cause per minute, debug lines beyond that.
func (s *Server) Warn(from netip.Prefix, about limits.Cause, most int) *zerolog.Event {
	logged, hidden := s.limiter.Warn(from, about, most, time.Now())
	if !logged {
		s.metrics.CountHiddenWarning()
		return s.log.Debug()
	}
	line := s.log.Warn()
	if hidden > 0 {
		line = line.Int("hidden", hidden)
	}
	return line
}
