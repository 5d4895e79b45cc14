package netproto

import (
	"encoding/binary"
	"fmt"
	"math"
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
	fields, err := portionHead(m, size)
	if err != nil {
		return err
	}
	d := o.buffers.take(o.to)
	defer o.buffers.give(d)
	if c.zlib && c.side == ServerSide && g.Engine() {
		d.to.Reset(&deflater{to: o.to, buffers: o.buffers, packed: &d.packed, begun: &o.begun})
	}
	before := o.ks
	for _, field := range fields {
		o.ks.apply(field)
		if _, err := d.to.Write(field); err != nil {
			return err // of memory: can't happen
		}
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
		data.apply(piece)
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

// portionHead returns the fields of a frame before its size bytes of data, each one field of the cipher.
func portionHead(m Message, size int) ([][]byte, error) {
	u32 := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	var own [][]byte
	switch m := m.(type) {
	case *UpdateFileData:
	case *RangeData:
		own = [][]byte{u32(m.Request), binary.LittleEndian.AppendUint64(nil, m.Offset)}
	default:
		return nil, fmt.Errorf("%v carries no portion", m.ID())
	}
	own = append(own, u32(uint32(size)))
	whole := frameHeader + size
	for _, field := range own {
		whole += len(field)
	}
	if size < 0 || uint64(whole) > math.MaxInt32 {
		return nil, fmt.Errorf("%v: %d bytes are more than a frame holds", m.ID(), size)
	}
	return append([][]byte{u32(frameSignature), u32(uint32(whole)), {byte(m.ID())}}, own...), nil
}
