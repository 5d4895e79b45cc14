package server

import (
	"context"
	"net"
	"sync"
	"time"

	"collet/netproto"
	"collet/netproto/server/limits"
	"collet/platform/interrupt"
)

// refuseTime is how long a refused connection has for the handshake that tells how to say so.
const refuseTime = 3 * time.Second

// service is one run of Serve: what its connections share and who waits for them.
type service struct {
	server *Server
	ctx    context.Context // asks connections to finish
	hard   context.Context // breaks them off
	owned  sync.WaitGroup
}

// admit is where an accepted connection of any transport enters: it takes its slot and is served by a goroutine of its
// own, or it is refused. Its RemoteAddr is the client's address, whatever carries the bytes, and what a transport has to
// shake hands about (TLS) it does in its first Read or Write. Admit owns conn. It returns at once, or, where connections
// come faster than allowed, when it is this one's turn.
func (v *service) admit(conn net.Conn) {
	s := v.server
	if wait := s.limiter.ArrivalWait(time.Now()); wait > 0 {
		s.meter.paced.Inc()
		if interrupt.Sleep(v.ctx, wait) != nil {
			conn.Close()
			return
		}
	}
	taken, why := s.limiter.Enter(limits.Address(conn.RemoteAddr().String()), time.Now())
	if why != "" {
		v.turnAway(conn, taken, why)
		return
	}
	left := s.meter.seated(transportOf(conn))
	v.owned.Go(func() {
		defer s.limiter.Leave(taken)
		defer left()
		v.serveConn(conn, taken)
	})
}

// turnAway refuses a connection. A C1 client is told why, if only a few are being told at the moment; the engine's
// generations have no word for it and take the close for a server that can't be reached.
func (v *service) turnAway(conn net.Conn, taken limits.Slot, why limits.Cause) {
	s := v.server
	s.meter.refused(why, transportOf(conn))
	host := hostOf(conn.RemoteAddr().String())
	s.warn(taken.Client, why, limits.WarnUnknown).Str("peer", conn.RemoteAddr().String()).
		Msgf("Refused a connection from host '%s': %s", host, s.overLimit(why))
	if !s.limiter.BeginRefusal(taken, time.Now()) {
		conn.Close()
		return
	}
	v.owned.Go(func() {
		defer s.limiter.EndRefusal()
		defer conn.Close()
		defer context.AfterFunc(v.ctx, func() { conn.Close() })()
		sayBusy(conn)
	})
}

// overLimit names the limit that a refusal is about.
func (s *Server) overLimit(why limits.Cause) string {
	switch why {
	case limits.CauseAddress:
		return "too many connections from its address, see Limits.ConnectionsPerAddress"
	case limits.CauseAddressRate:
		return "too many new connections from its address, see Limits.ConnectionsPerSecondPerAddress"
	case limits.CauseHTTP:
		return "too many HTTP connections, see Limits.HTTPConnections"
	default:
		return "too many connections, see Limits.Connections"
	}
}

// sayBusy waits shortly for the handshake, which tells the generation, and answers it with a refusal where there is one.
func sayBusy(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(refuseTime))
	wire := netproto.NewConn(conn, netproto.ServerSide, netproto.Limits{})
	if _, err := wire.Read(); err != nil || wire.Generation() != netproto.C1 {
		return
	}
	if wire.Write(&netproto.Refuse{Reason: netproto.RefuseBusy, Text: netproto.RefuseBusy.String()}) == nil {
		lingerOn(conn, true)
	}
}
