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
	"collet/netproto/server/operator"
	"collet/platform/interrupt"
)

// Server hands out a catalogue. Make one with New; all methods are safe for concurrent use.
type Server struct {
	log       zerolog.Logger
	set       config.Settings // as New was given them
	portion   int             // bytes
	started   time.Time
	catalogue atomic.Pointer[catalogue.Catalogue]
	operator  atomic.Pointer[operator.Operator] // nil: nothing is decided while the server runs
	onVerdict func(compat.Meeting)              // nil: nobody wants to know
	sealed    <-chan struct{}                   // closed when hellos may be taken; nil is always
	reloading sync.Mutex
	limiter   *limits.Limiter
	meter     *meter
	ready     atomic.Bool
	writing   netproto.Buffers
	tally     func(net.Conn) (tally, bool) // what the system counts of a connection, if it tells
}

// New makes a server of an opened catalogue, which it owns from now on. Of the settings it uses those of the network and
// the limits; they hold for its lifetime. A portion size of 0 or less is not refused here but, as in the source, whenever
// a file is asked for.
func New(c *catalogue.Catalogue, set config.Settings, log zerolog.Logger) *Server {
	s := &Server{
		log:     log,
		set:     set,
		portion: min(set.Network.UpdateFileMaxPortionSize, config.MaxPortion),
		started: time.Now(),
		limiter: limits.New(set.Limits, time.Now()),
		tally:   tallyOf,
	}
	s.meter = newMeter(s.limiter)
	s.catalogue.Store(c)
	s.meter.offers(c)
	return s
}

// Govern makes an operator's settings those that clients are judged by, from the next handshake on. The operator was opened with
// the server's catalogue, and is closed after the server. It is called once, before Serve.
func (s *Server) Govern(o *operator.Operator) {
	if o == nil {
		return
	}
	s.meter.govern(o)
	s.operator.Store(o)
}

// OnVerdict has f called for every client that was judged, once: at once, or where components are exchanged, when that is over, with
// what they differ in. It is called by the connection's own goroutine, by several at the same time, and must be quick. It is set
// before Serve.
func (s *Server) OnVerdict(f func(compat.Meeting)) { s.onVerdict = f }

// Seal keeps the server from taking a hello before sealed is closed (compat.Registry.Sealed): a connection that says one earlier ends
// without an answer, and comes again. It is for programs whose components are registered by themselves while they start; one
// that reads them from a manifest, as collet-server does, listens to nobody before it has. It is called once, before Serve.
func (s *Server) Seal(sealed <-chan struct{}) { s.sealed = sealed }

// Operator is nil where nothing is decided while the server runs.
func (s *Server) Operator() *operator.Operator { return s.operator.Load() }

// Catalogue is what new connections are offered now.
func (s *Server) Catalogue() *catalogue.Catalogue { return s.catalogue.Load() }

// Connections is how many clients are connected now.
func (s *Server) Connections() int { return s.limiter.Connections() }

// Ready reports whether new connections are accepted: Serve runs and has not been asked to stop.
func (s *Server) Ready() bool { return s.ready.Load() }

// Reload opens a new catalogue and offers it to connections that are made from now on; those under way keep theirs. On
// failure the old one stays and the error is Open's. Other settings stay as they were. One reload runs at a time.
func (s *Server) Reload(ctx context.Context, set config.Settings) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	c, err := catalogue.Reopen(ctx, set, s.Catalogue(), s.log)
	if o := s.operator.Load(); err == nil && o != nil {
		if err = o.Adopt(c.Declared()); err != nil {
			c.Close()
		}
	}
	s.meter.reloaded(err)
	if err != nil {
		return err
	}
	old := s.catalogue.Swap(c)
	old.Close()
	s.meter.offers(c)
	s.announce(c)
	if name := tableToRestart(s.set, set); name != "" {
		s.log.Warn().Msgf("Settings of %s changed: they take effect when the server is started again", name)
	}
	return nil
}

// tableToRestart names the first table whose settings hold for a server's lifetime and have changed; "" for none.
func tableToRestart(s, now config.Settings) string {
	switch {
	case s.Network != now.Network:
		return "the network"
	case !reflect.DeepEqual(s.Limits, now.Limits):
		return "the limits"
	case !reflect.DeepEqual(s.Operations, now.Operations):
		return "operations"
	case s.Compat.Store != now.Compat.Store || s.Compat.FloorsByAPI != now.Compat.FloorsByAPI:
		return "the compatibility store"
	case s.Release.HTTPPrefix != now.Release.HTTPPrefix:
		return "the release folder over HTTP"
	default:
		return ""
	}
}

// Close lets go of the catalogue's files once the last connection is done with them. Serve must have returned.
func (s *Server) Close() { s.Catalogue().Close() }

// announce logs the lines by which an operator recognises what is being served.
func (s *Server) announce(c *catalogue.Catalogue) {
	s.log.Info().Msgf("Updater version: %d and %d", netproto.G1.Version(), netproto.G2b.Version())
	c.Announce(s.log)
}

// Serve accepts connections until ctx ends or a listener fails, then closes the listeners, lets answers that are under
// way finish for at most Limits.DrainTime, and returns when the last connection is done. It returns nil when ctx ended it.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hard, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	v := &service{server: s, ctx: ctx, hard: hard}
	s.announce(s.Catalogue())
	s.warnOf(descriptors())
	faults := make([]error, len(listeners))
	var accepting sync.WaitGroup
	for i, listener := range listeners {
		s.log.Info().Stringer("address", listener.Addr()).Msg("Listening")
		accepting.Go(func() {
			defer stop()
			defer context.AfterFunc(ctx, func() { listener.Close() })()
			faults[i] = v.accept(listener)
		})
	}
	s.ready.Store(true)
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

// accept admits connections until the listener is closed. Running out of descriptors is waited out.
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

// warn begins a line about a fault of an address: a warning, as long as it has not had the most warnings of the kind in
// this minute, or else a line for those who debug.
func (s *Server) warn(from netip.Prefix, about limits.Cause, most int) *zerolog.Event {
	logged, hidden := s.limiter.Warn(from, about, most, time.Now())
	if !logged {
		s.meter.hidden.Inc()
		return s.log.Debug()
	}
	line := s.log.Warn()
	if hidden > 0 {
		line = line.Int("hidden", hidden)
	}
	return line
}
