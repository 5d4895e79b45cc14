package den

import (
	"encoding/binary"
	"errors"
	"math"
)

// Possible faults of a datagram. They are texts for PeerError.Err.
var (
	errShort    = errors.New("goes beyond the end")
	errCommand  = errors.New("is another command")
	errNumber   = errors.New("is not a number of the row")
	errType     = errors.New("is not a type of a value")
	errProtocol = errors.New("chooses a protocol that was not offered")
	errMany     = errors.New("has more items than the limit")
)

// coder codes the fields of one layout in order. The code methods pass it each field once; writing selects the
// direction. After the first fault it does nothing, so code methods need no checks; the fault is err.
type coder struct {
	writing bool
	buf     []byte // writing: the output so far; reading: the rest of the input
	err     error
}

// packet is one layout: a command of protocol 0, or a datagram of ProtocolCollet.
type packet interface{ code(c *coder) }

// encode appends p to buf. An error means that p can't be represented, which is the caller's fault.
func encode(buf []byte, p packet) ([]byte, error) {
	c := coder{writing: true, buf: buf}
	p.code(&c)
	if c.err != nil {
		return buf, c.err
	}
	return c.buf, nil
}

// decode reads p from datagram. Byte fields of p are slices of datagram. Bytes behind the last field are ignored.
func decode(datagram []byte, p packet) error {
	c := coder{buf: datagram}
	p.code(&c)
	return c.err
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// next reads n bytes, or returns nil after a fault.
func (c *coder) next(n int) []byte {
	if c.err == nil && n > len(c.buf) {
		c.err = errShort
	}
	if c.err != nil {
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

// number codes the low n bytes of v.
func (c *coder) number(n int, v uint64) uint64 {
	var raw [8]byte
	if c.writing {
		binary.LittleEndian.PutUint64(raw[:], v)
		c.buf = append(c.buf, raw[:n]...)
		return v
	}
	copy(raw[:n], c.next(n))
	return binary.LittleEndian.Uint64(raw[:])
}

func (c *coder) u8(v *uint8)   { field(c, 1, v) }
func (c *coder) u16(v *uint16) { field(c, 2, v) }
func (c *coder) u32(v *uint32) { field(c, 4, v) }
func (c *coder) u64(v *uint64) { field(c, 8, v) }

// field codes v. It does not modify v when writing, because other goroutines may read it.
func field[N uint8 | uint16 | uint32 | uint64](c *coder, width int, v *N) {
	if n := c.number(width, uint64(*v)); !c.writing {
		*v = N(n)
	}
}

// command codes the first byte, which must be code.
func (c *coder) command(code byte) {
	if got := byte(c.number(1, uint64(code))); got != code {
		c.fail(errCommand)
	}
}

// sequence codes a sequence number.
func (c *coder) sequence(v *uint16) {
	if c.u16(v); *v >= numbers {
		c.fail(errNumber)
	}
}

// rest codes the bytes to the end.
func (c *coder) rest(v *[]byte) { c.bytes(v, len(c.buf)) }

// bytes codes v; when reading it has n bytes.
func (c *coder) bytes(v *[]byte, n int) {
	if c.writing {
		c.buf = append(c.buf, *v...)
		return
	}
	*v = c.next(n)
}

// blob16 codes a u16 length and that many bytes.
func (c *coder) blob16(v *[]byte) {
	if len(*v) > math.MaxUint16 && c.writing {
		c.fail(ErrTooLong)
		return
	}
	n := c.number(2, uint64(len(*v)))
	c.bytes(v, int(n))
}

// text16 codes a u16 length and that many bytes of text.
func (c *coder) text16(v *string) {
	b := []byte(*v)
	c.blob16(&b)
	if !c.writing {
		*v = string(b)
	}
}

// count codes a number of items in width bytes. When reading it may exceed neither limit nor what the rest can hold,
// with items of at least least bytes.
func (c *coder) count(width, n, limit, least int) int {
	if n > limit && c.writing {
		c.fail(errMany)
		return 0
	}
	n = int(c.number(width, uint64(n)))
	switch {
	case c.writing || c.err != nil:
	case n > limit:
		c.fail(errMany)
	case n*least > len(c.buf):
		c.fail(errShort)
	}
	if c.err != nil {
		return 0
	}
	return n
}
