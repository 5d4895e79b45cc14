package server

import (
	"context"
	"net"
	"time"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// WarnOf warns about descriptors as Serve does.
func (s *Server) WarnOf(descriptors uint64) { s.warnOfDescriptors(descriptors) }

// Descriptors is how many files the system lets this process open; 0 is unknown.
func Descriptors() uint64 { return descriptors() }

// Losses detects lines with losses.
type Losses struct{ lossDetector }

// Shown takes the system's counters at a moment.
func (l *Losses) Shown(sent, again uint32, trip, shortest time.Duration, now time.Time) bool {
	return l.observe(tcpCounters{sent, again, trip, shortest}, now)
}

// Count replaces the system's counters of a server that does not run yet.
func (s *Server) Count(count func() (sent, again uint32, trip, shortest time.Duration)) {
	s.readCounters = func(net.Conn) (tcpCounters, bool) {
		sent, again, trip, shortest := count()
		return tcpCounters{sent, again, trip, shortest}, true
	}
}

// Counted is the system's counters of a connection, if available.
func Counted(conn net.Conn) (sent, again uint32, trip, shortest time.Duration, known bool) {
	t, known := readTCPCounters(conn)
	return t.sent, t.again, t.trip, t.shortest, known
}

// HalfReload does what Reload has done just before it publishes the new catalogue: the operator already has it. The caller closes
// the returned catalogue.
func (s *Server) HalfReload(ctx context.Context, set config.Settings) (*catalogue.Catalogue, error) {
	c, err := catalogue.Reopen(ctx, set, s.Catalogue(), s.log)
	if err != nil {
		return nil, err
	}
	return c, s.operator.Load().Adopt(c.Declared())
}
