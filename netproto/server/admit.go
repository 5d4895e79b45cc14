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

// refuseTime is how long a refused connection may take to send its handshake, whose generation decides the form of the refusal.
const refuseTime = 3 * time.Second

// service is one run of Serve: the state that its connections share.
type service struct {
	server *Server
	ctx    context.Context // ends when connections are to finish
	hard   context.Context // ends when they are to be closed at once
	owned  sync.WaitGroup
}

// admit takes an accepted connection of any transport. The connection gets a slot and a goroutine of its own, or is refused. Its
// RemoteAddr must be the client's address, and a transport's handshake (TLS) must happen in its first Read or Write. admit owns
// conn. It returns at once, or, above the allowed arrival rate, after the connection's turn has come.
func (v *service) admit(conn net.Conn) {
	s := v.server
	if wait := s.limiter.ArrivalWait(time.Now()); wait > 0 {
		s.metrics.CountPaced()
		if interrupt.Sleep(v.ctx, wait) != nil {
			conn.Close()
			return
		}
	}
	taken, why := s.limiter.Enter(limits.Address(conn.RemoteAddr().String()), time.Now())
	if why != "" {
		v.refuse(conn, taken, why)
		return
	}
	left := s.metrics.CountConnection(transportOf(conn))
	s.unjudged.Add(1)
	v.owned.Go(func() {
		defer s.limiter.Leave(taken)
		defer left()
		v.serveConn(conn, taken)
	})
}

// refuse refuses a connection. A C1 client receives the reason, while few refusals are in progress. The engine's generations
// have no message for it and treat the close as an unreachable server.
func (v *service) refuse(conn net.Conn, taken limits.Slot, why limits.Cause) {
	s := v.server
	s.metrics.CountRefusal(why, transportOf(conn))
	host := hostOf(conn.RemoteAddr().String())
	s.Warn(taken.Client, why, limits.WarnUnknown).Str("peer", conn.RemoteAddr().String()).
		Msgf("Refused a connection from host '%s': %s", host, why.Explain())
	if !s.limiter.BeginRefusal(taken, time.Now()) {
		conn.Close()
		return
	}
	v.owned.Go(func() {
		defer s.limiter.EndRefusal()
		defer conn.Close()
		defer context.AfterFunc(v.ctx, func() { conn.Close() })()
		sendBusy(conn)
	})
}

// sendBusy waits briefly for the handshake, which shows the generation, and answers a C1 client with a refusal.
func sendBusy(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(refuseTime))
	wire := netproto.NewConn(conn, netproto.ServerSide, netproto.Limits{})
	if _, err := wire.Read(); err != nil || wire.Generation() != netproto.C1 {
		return
	}
	if wire.Write(&netproto.Refuse{Reason: netproto.RefuseBusy, Text: netproto.RefuseBusy.String()}) == nil {
		linger(conn, true)
	}
}
