package server

import (
	"context"
	"net"
	"time"

	"collet/netproto/server/limits"
)

// steady is a connection whose peer must go on taking data: every piece of maxStep bytes has a deadline of its own, so
// that a large portion may be slow and a peer that stopped reading is still noticed. Where bandwidth is limited a piece
// first waits for its turn, which is not the peer's time.
type steady struct {
	net.Conn
	progress  time.Duration     // for one piece
	bandwidth *limits.Bandwidth // nil: no limit
	broken    context.Context   // ends the waiting for a turn
}

// Write implements io.Writer.
func (s *steady) Write(data []byte) (int, error) {
	written := 0
	for {
		piece := data[written:min(len(data), written+s.step())]
		if s.bandwidth != nil {
			if err := s.bandwidth.Wait(s.broken, len(piece)); err != nil {
				return written, net.ErrClosed
			}
		}
		if err := s.SetWriteDeadline(time.Now().Add(s.progress)); err != nil {
			return written, err
		}
		n, err := s.Conn.Write(piece)
		written += n
		if err != nil || written == len(data) {
			return written, err
		}
	}
}

func (s *steady) step() int {
	if s.bandwidth == nil {
		return limits.MaxStep
	}
	return s.bandwidth.Step
}
