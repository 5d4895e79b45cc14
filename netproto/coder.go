package netproto

import (
	"errors"
	"fmt"
	"io"
	"math"

	"collet/netproto/wire"
)

// coder codes one message of a generation. Every method of wire.Coder is one field of the cipher, except that a length and
// what it counts are two, as in the engine's own buffer.
type coder struct {
	*wire.Coder
	gen Generation
	lim Limits // caps on declared sizes; those of a writer are unlimited
	id  MessageID
	at  int64 // reading: offset of the body in the stream
}

// writer writes or measures a message.
func writer(to *wire.Coder, g Generation, id MessageID) *coder {
	return &coder{Coder: to, gen: g, id: id, lim: Limits{Frame: math.MaxInt, String: math.MaxInt, List: math.MaxInt}}
}

// run codes the whole message. When reading, the message must fill the body exactly.
func (c *coder) run(m Message) error {
	m.code(c)
	return c.finish()
}

// finish checks that no bytes are left after reading. A fault when reading is the peer's, else the caller's.
func (c *coder) finish() error {
	c.End()
	var f *wire.Fault
	switch err := c.Err(); {
	case !errors.As(err, &f):
		return err
	case c.Reading():
		return &FormatError{Message: c.id, Field: f.Field, Offset: c.at + int64(f.Offset), Err: f.Err}
	default:
		return fmt.Errorf("%v: %w", c.id, f)
	}
}

// frameHead is the header of a frame.
type frameHead struct {
	signature uint32
	size      uint32 // of the whole frame, in bytes
	id        MessageID
}

func (h *frameHead) code(c *wire.Coder) {
	c.U32("signature", &h.signature)
	c.U32("length", &h.size)
	c.U8("id", (*uint8)(&h.id))
}

// header writes the header of a frame of size bytes.
func (c *coder) header(size uint32) {
	h := frameHead{frameSignature, size, c.id}
	h.code(c.Coder)
}

// text codes a string: its length, then its bytes.
func (c *coder) text(field string, v *string) { c.Text(field, v, 4, c.lim.String) }

// tail codes a message's tags, which extend to the end of the frame.
func (c *coder) tail(field string, v *Tags) {
	c.Rest(field, (*[]byte)(v))
	c.Require(field, v.check() == nil, v.check())
}

// tail16 codes the tags of one item: a u16 byte count, then the tags.
func (c *coder) tail16(field string, v *Tags) {
	c.Blob(field, (*[]byte)(v), 2, math.MaxUint16)
	c.Require(field, v.check() == nil, v.check())
}

// version codes the version of a C1 hello or answer, whose upper half identifies the generation.
func (c *coder) version(v *uint32) {
	c.U32("version", v)
	c.Require("version", *v>>16 == familyC1, fmt.Errorf("%#08x is not of generation C1", *v))
}

// enciphered writes to a stream. Each Write is one field of the cipher; its pieces use the same key byte.
type enciphered struct {
	to      io.Writer
	ks      *keystream
	scratch []byte
}

func (e *enciphered) Write(field []byte) (int, error) {
	for rest := field; len(rest) > 0; {
		n, piece := copy(e.scratch, rest), *e.ks
		piece.Apply(e.scratch[:n])
		if _, err := e.to.Write(e.scratch[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	e.ks.skip(len(field))
	return len(field), nil
}
