package netproto

import (
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"collet/netproto/wire"
)

// outbound is the sending half of a Conn.
type outbound struct {
	mu      sync.Mutex
	to      io.Writer
	buffers *Buffers
	begun   bool // a compressed stream
	ks      keystream
	offered atomic.Bool // the hello was an offer; also read by the reader
	err     error       // the final error
}

// Write sends the messages as one batch and flushes once. A message that the format can't hold, or that this side does not
// send, is an error of the caller; then nothing was sent and the connection continues. An error of the stream ends it.
func (c *Conn) Write(ms ...Message) error {
	o := &c.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	g := c.Generation()
	if g == 0 {
		return errNoGeneration
	}
	sizes, err := c.measure(g, ms)
	if err != nil {
		return err
	}
	o.err = o.send(g, ms, sizes, c.zlib && c.side == ServerSide && g.Engine())
	return o.err
}

// measure checks the messages and returns the sizes of their frames.
func (c *Conn) measure(g Generation, ms []Message) ([]uint32, error) {
	sizes := make([]uint32, len(ms))
	for i, m := range ms {
		if err := c.sendable(g, m); err != nil {
			return nil, err
		}
		size, err := frameSize(g, m)
		if err != nil {
			return nil, err
		}
		sizes[i] = size
	}
	return sizes, nil
}

// frameSize is the size of the whole frame of m.
func frameSize(g Generation, m Message) (uint32, error) {
	c := writer(wire.Meter(), g, m.ID())
	if err := c.run(m); err != nil {
		return 0, err
	}
	if uint64(c.Size()) > math.MaxUint32-HeaderSize {
		return 0, fmt.Errorf("%v: %w", m.ID(), wire.TooLarge(uint64(c.Size()), math.MaxUint32-HeaderSize))
	}
	return uint32(c.Size() + HeaderSize), nil
}

// send writes measured messages and flushes. Only the stream can fail.
func (o *outbound) send(g Generation, ms []Message, sizes []uint32, compress bool) error {
	d := o.buffers.take(o.to)
	defer o.buffers.give(d)
	if compress {
		d.to.Reset(&deflater{to: o.to, buffers: o.buffers, packed: &d.packed, begun: &o.begun})
	}
	for i, m := range ms {
		if err := o.frame(d, g, m, sizes[i]); err != nil {
			return err
		}
	}
	return d.to.Flush()
}

// frame writes one message and starts the cipher after a greeting.
func (o *outbound) frame(d *batch, g Generation, m Message, size uint32) error {
	if err := writeFrame(o.fields(d), g, m, size); err != nil {
		return err
	}
	if key, found := keyOf(g, m); found {
		o.ks = newKeystream(key)
		o.offered.Store(m.ID() == IDHandshake && isOffer(key))
	}
	return nil
}

// fields is where the fields of a batch go.
func (o *outbound) fields(d *batch) io.Writer {
	if !o.ks.on {
		return d.to
	}
	return &enciphered{to: d.to, ks: &o.ks, scratch: d.cipherRoom()}
}

// writeFrame writes header and fields of one message.
func writeFrame(to io.Writer, g Generation, m Message, size uint32) error {
	c := writer(wire.StreamWriter(to), g, m.ID())
	c.header(size)
	return c.run(m)
}

// keyOf is the key for everything after m in its direction.
func keyOf(g Generation, m Message) (key uint32, found bool) {
	if !g.Engine() {
		return 0, false
	}
	switch m := m.(type) {
	case *Handshake:
		return m.Key, true
	case *HandshakeAnswer:
		return m.Key, true
	default:
		return 0, false
	}
}
