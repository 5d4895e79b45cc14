package den

import (
	"encoding/binary"
	"errors"
	"math"
)

// What can be wrong with a datagram. They are texts for PeerError.Err.
var (
	errShort    = errors.New("goes beyond the end")
	errCommand  = errors.New("is another command")
	errNumber   = errors.New("is not a number of the row")
	errType     = errors.New("is not a type of a value")
	errProtocol = errors.New("chooses a protocol that was not offered")
	errMany     = errors.New("has more items than the limit")
)

// coder walks the fields of one layout in order. The code methods show it each field once; writing says which way the
// bytes go. After the first fault nothing moves any more, so code methods need not check; the fault is err.
type coder struct {
	writing bool
	buf     []byte // writing: what is there so far; reading: what is left
	err     error
}

// packet is one layout: a command of protocol 0, or a datagram of our own.
type packet interface{ code(c *coder) }

// encode appends p to buf. It fails only where p can't be expressed, which is our own fault.
func encode(buf []byte, p packet) ([]byte, error) {
	c := coder{writing: true, buf: buf}
	p.code(&c)
	if c.err != nil {
		return buf, c.err
	}
	return c.buf, nil
}

// decode reads p out of datagram. Byte fields of p are parts of datagram. Bytes behind the last field are ignored.
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

// next takes n bytes to read, or nil after a fault.
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

// number moves the low n bytes of v.
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

// field moves v, which is not touched when it is written: others may read it.
func field[N uint8 | uint16 | uint32 | uint64](c *coder, width int, v *N) {
	if n := c.number(width, uint64(*v)); !c.writing {
		*v = N(n)
	}
}

// command moves the first byte, which must be code.
func (c *coder) command(code byte) {
	if got := byte(c.number(1, uint64(code))); got != code {
		c.fail(errCommand)
	}
}

// sequence moves a number of the row.
func (c *coder) sequence(v *uint16) {
	if c.u16(v); *v >= numbers {
		c.fail(errNumber)
	}
}

// rest moves the bytes to the end.
func (c *coder) rest(v *[]byte) { c.bytes(v, len(c.buf)) }

// bytes moves v, which has n bytes if it is read.
func (c *coder) bytes(v *[]byte, n int) {
	if c.writing {
		c.buf = append(c.buf, *v...)
		return
	}
	*v = c.next(n)
}

// blob16 moves a u16 length and that many bytes.
func (c *coder) blob16(v *[]byte) {
	if len(*v) > math.MaxUint16 && c.writing {
		c.fail(ErrTooLong)
		return
	}
	n := c.number(2, uint64(len(*v)))
	c.bytes(v, int(n))
}

// text16 moves a u16 length and that many bytes of text.
func (c *coder) text16(v *string) {
	b := []byte(*v)
	c.blob16(&b)
	if !c.writing {
		*v = string(b)
	}
}

// count moves a number of items in width bytes. Reading it may be neither above limit nor more than what is left can
// hold if an item takes at least least bytes.
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
