package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
)

// Server hands out a catalogue. Make one with New; all methods are safe for concurrent use.
type Server struct {
	log       zerolog.Logger
	network   Network // as New was given it
	portion   int     // bytes
	started   time.Time
	catalogue atomic.Pointer[Catalogue]
	open      atomic.Int64 // connections
}

// New makes a server of an opened catalogue. Of the settings it uses those of the network; they hold for its lifetime.
// A portion size of 0 or less is not refused here but, as in the source, whenever a file is asked for.
func New(c *Catalogue, set Settings, log zerolog.Logger) *Server {
	s := &Server{
		log:     log,
		network: set.Network,
		portion: min(set.Network.UpdateFileMaxPortionSize, MaxPortion),
		started: time.Now(),
	}
	s.catalogue.Store(c)
	return s
}

// Catalogue is what new connections are offered now.
func (s *Server) Catalogue() *Catalogue { return s.catalogue.Load() }

// Connections is how many clients are connected now.
func (s *Server) Connections() int { return int(s.open.Load()) }

// Reload opens a new catalogue and offers it to connections that are made from now on. On failure the old one stays and
// the error is Open's. Settings of the network stay as they were.
func (s *Server) Reload(ctx context.Context, set Settings) error {
	c, err := Open(ctx, set, s.log)
	if err != nil {
		return err
	}
	s.catalogue.Store(c)
	s.announce(c)
	if set.Network != s.network {
		s.log.Warn().Msg("Settings of the network changed: they take effect when the server is started again")
	}
	return nil
}

// announce logs the lines by which an operator recognises what is being served.
func (s *Server) announce(c *Catalogue) {
	s.log.Info().Msgf("Updater version: %d", netproto.G1.Version())
	s.log.Info().Msgf("Compatibility version: %s", c.compatibility)
	s.log.Info().Int("files", len(c.files)).Int64("bytes", c.Bytes()).Str("targets", c.summary()).
		Msgf("Opened updater backend with client resources using %s", c.storage)
}

// Serve accepts connections until ctx ends or the listener fails, then closes the listener, lets answers that are under
// way finish for at most DrainTimeout, and returns when the last connection is done. It returns nil when ctx ended it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hard, breakOff := context.WithCancel(context.WithoutCancel(ctx))
	defer breakOff()
	var owned sync.WaitGroup
	owned.Go(func() {
		<-ctx.Done()
		listener.Close()
	})
	s.announce(s.Catalogue())
	s.log.Info().Stringer("address", listener.Addr()).Msg("Listening")
	err := s.accept(ctx, listener, func(conn net.Conn) {
		owned.Go(func() { s.serveConn(ctx, hard, conn) })
	})
	stop()
	drain := time.AfterFunc(DrainTimeout, breakOff)
	owned.Wait()
	drain.Stop()
	s.log.Info().Msg("Stopped")
	return err
}

// accept hands over connections until the listener is closed. Running out of descriptors is waited out.
func (s *Server) accept(ctx context.Context, listener net.Listener, serve func(net.Conn)) error {
	pause := acceptPause
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			s.log.Warn().Err(err).Dur("pause", pause).Msg("Can't accept connections")
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, maxAcceptPause)
			continue
		}
		pause = acceptPause
		if s.open.Load() >= maxConnections {
			s.log.Warn().Str("peer", conn.RemoteAddr().String()).Int("limit", maxConnections).Msg("Turned a client away: too many connections")
			conn.Close()
			continue
		}
		s.open.Add(1)
		serve(conn)
	}
}
