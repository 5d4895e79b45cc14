package server

import (
	"context"
	"net"
	"time"

	"collet/netproto/server/limits"
)

// steady is a connection with write deadlines and a rate limit. Every piece of at most MaxStep bytes has a deadline of its own,
// so a large portion may be slow, and a peer that stopped reading is still noticed. The wait for the rate limit does not count.
type steady struct {
	net.Conn
	progress  time.Duration     // for one piece
	bandwidth *limits.Bandwidth // nil: no limit
	broken    context.Context   // ends the wait for the rate limit
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
