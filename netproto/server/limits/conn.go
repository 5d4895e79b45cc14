package limits

import (
	"context"
	"net"
	"time"
)

// Conn is a connection with write deadlines and a rate limit. Every piece of at most MaxStep bytes has a deadline of its own,
// so a large portion may be slow, and a peer that stopped reading is still noticed. The wait for the rate limit does not count.
type Conn struct {
	net.Conn
	Progress  time.Duration   // for one piece
	Bandwidth *Bandwidth      // nil: no limit
	Broken    context.Context // ends the wait for the rate limit
}

// Write implements io.Writer.
func (c *Conn) Write(data []byte) (int, error) {
	written := 0
	for {
		piece := data[written:min(len(data), written+c.Step())]
		if err := c.Wait(len(piece)); err != nil {
			return written, err
		}
		if err := c.ExtendDeadline(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(piece)
		written += n
		if err != nil || written == len(data) {
			return written, err
		}
	}
}

// Step is the largest piece in bytes.
func (c *Conn) Step() int {
	if c.Bandwidth == nil {
		return MaxStep
	}
	return c.Bandwidth.Step
}

// Wait waits until the rate limit allows a piece of n bytes. The error is net.ErrClosed.
func (c *Conn) Wait(n int) error {
	if c.Bandwidth != nil && c.Bandwidth.Wait(c.Broken, n) != nil {
		return net.ErrClosed
	}
	return nil
}

// ExtendDeadline begins the time in which the next piece must be written.
func (c *Conn) ExtendDeadline() error { return c.SetWriteDeadline(time.Now().Add(c.Progress)) }
