package server

import (
	"net"
	"time"
)

// steady is a connection whose peer must go on taking data: every piece of writeStep bytes has a deadline of its own, so
// that a large portion may be slow and a peer that stopped reading is still noticed.
type steady struct{ net.Conn }

// Write implements io.Writer.
func (s steady) Write(data []byte) (int, error) {
	written := 0
	for {
		piece := data[written:min(len(data), written+writeStep)]
		if err := s.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return written, err
		}
		n, err := s.Conn.Write(piece)
		written += n
		if err != nil || written == len(data) {
			return written, err
		}
	}
}
