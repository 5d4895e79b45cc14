package netproto

import (
	"fmt"
	"math"

	"collet/netproto/wire"
)

// WritePieces sends an UpdateFileData, or a RangeData of C1, with size bytes of data. next fills one piece after the
// other. A piece is a slice of the Conn's write buffer, so a portion for a slow client takes no additional memory.
// m.Data is ignored; next is called at least once, with an empty piece if there is no data.
//
// An error of next is returned unchanged. With the first piece nothing was sent yet and the connection continues; later
// it ends the sending half, because the frame is incomplete.
func (c *Conn) WritePieces(m Message, size int, next func(piece []byte) error) error {
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
	if err := c.sendable(g, m); err != nil {
		return err
	}
	p, is := m.(portion)
	if !is {
		return fmt.Errorf("%v carries no portion", m.ID())
	}
	measured := writer(wire.Meter(), g, m.ID())
	p.head(measured, size)
	frame := HeaderSize + measured.Size() + size
	if size < 0 || uint64(frame) > math.MaxInt32 {
		return fmt.Errorf("%v: %d bytes are more than a frame holds", m.ID(), size)
	}
	d := o.buffers.take(o.to)
	defer o.buffers.give(d)
	if c.zlib && c.side == ServerSide && g.Engine() {
		d.to.Reset(&deflater{to: o.to, buffers: o.buffers, packed: &d.packed, begun: &o.begun})
	}
	before := o.ks
	if err := writer(wire.StreamWriter(o.fields(d)), g, m.ID()).portionHead(p, uint32(frame), size); err != nil {
		return err // of memory: can't happen
	}
	for done := 0; ; {
		if d.to.Available() == 0 {
			if o.err = d.to.Flush(); o.err != nil {
				return o.err
			}
		}
		piece := d.to.AvailableBuffer()[:min(size-done, d.to.Available())]
		if err := next(piece); err != nil && done == 0 {
			o.ks = before
			return err
		} else if err != nil {
			o.err = err
			return err
		}
		data := o.ks // all pieces are one field of the cipher
		data.Apply(piece)
		if _, o.err = d.to.Write(piece); o.err != nil {
			return o.err
		}
		if done += len(piece); done == size {
			break
		}
	}
	o.ks.skip(size)
	o.err = d.to.Flush()
	return o.err
}

// portion is a message that ends with data. head codes the fields before the data, the last of which is its size.
type portion interface {
	Message
	head(c *coder, size int) int
}

// portionHead writes the fields of a frame before its size bytes of data.
func (c *coder) portionHead(p portion, frame uint32, size int) error {
	c.header(frame)
	p.head(c, size)
	return c.finish()
}
