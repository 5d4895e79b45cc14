package netproto

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// mode is the operation of a coder on its fields.
type mode uint8

const (
	reading   mode = 1 // fields are filled from buf
	writing   mode = 2 // fields go to out
	measuring mode = 3 // fields are checked and counted
)

// coder codes the fields of one message in order. The message's code method passes it each field once; the mode selects
// the direction. Every method is one field of the cipher, except text, which is two, as in the engine's own buffer.
// After the first fault it does nothing, so code methods need no checks; the fault is err.
type coder struct {
	mode mode
	gen  Generation
	lim  Limits // reading: caps on declared sizes
	id   MessageID
	ks   *keystream
	err  error

	buf   []byte // reading: the body of the frame, deciphered up to pos
	pos   int
	field int   // reading: where the current field begins
	at    int64 // reading: offset of buf in the stream

	out     io.Writer // writing
	scratch []byte    // writing: buffer for enciphering; longer fields go in pieces
	raw     [8]byte   // one number

	size int // measuring: bytes counted
}

// run codes the whole message. When reading, the message must fill the body exactly.
func (c *coder) run(m Message) error {
	m.code(c)
	return c.finish()
}

// finish checks that no bytes are left after reading.
func (c *coder) finish() error {
	if c.mode == reading && c.pos != len(c.buf) {
		c.field = c.pos
		c.fail("end", errTrailing)
	}
	return c.err
}

// fail records the first fault. When reading it is the peer's, else the caller's.
func (c *coder) fail(field string, err error) {
	switch {
	case c.err != nil:
	case c.mode == reading:
		c.err = &FormatError{Message: c.id, Field: field, Offset: c.at + int64(c.field), Err: err}
	default:
		c.err = fmt.Errorf("%v: %s: %w", c.id, field, err)
	}
}

// require fails unless ok.
func (c *coder) require(field string, ok bool, err error) {
	if !ok {
		c.fail(field, err)
	}
}

// left is the number of unread bytes.
func (c *coder) left() int { return len(c.buf) - c.pos }

// bytes codes b as one field.
func (c *coder) bytes(field string, b []byte) {
	switch c.mode {
	case reading:
		copy(b, c.next(field, len(b)))
	case writing:
		c.put(b)
	case measuring:
		c.size += len(b)
	}
}

// next deciphers the next n bytes in place and returns them, or nil after a fault.
func (c *coder) next(field string, n int) []byte {
	if c.err != nil {
		return nil
	}
	c.field = c.pos
	if n > c.left() {
		c.fail(field, errShort)
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	c.ks.apply(b)
	c.pos += n
	return b
}

// put writes b, or an enciphered copy of it. All pieces of b use the same key byte.
func (c *coder) put(b []byte) {
	if c.err == nil && !c.ks.on {
		_, c.err = c.out.Write(b)
		return
	}
	start := c.ks.pos
	for rest := b; len(rest) > 0 && c.err == nil; {
		n := min(len(rest), len(c.scratch))
		copy(c.scratch, rest[:n])
		c.ks.pos = start
		c.ks.apply(c.scratch[:n])
		_, c.err = c.out.Write(c.scratch[:n])
		rest = rest[n:]
	}
	c.ks.pos = start
	c.ks.skip(len(b))
}

// number codes the low n bytes of v.
func (c *coder) number(field string, n int, v uint64) uint64 {
	binary.LittleEndian.PutUint64(c.raw[:], v)
	c.bytes(field, c.raw[:n])
	clear(c.raw[n:])
	return binary.LittleEndian.Uint64(c.raw[:])
}

func (c *coder) u8(field string, v *uint8)   { *v = uint8(c.number(field, 1, uint64(*v))) }
func (c *coder) u16(field string, v *uint16) { *v = uint16(c.number(field, 2, uint64(*v))) }
func (c *coder) u32(field string, v *uint32) { *v = uint32(c.number(field, 4, uint64(*v))) }
func (c *coder) u64(field string, v *uint64) { *v = c.number(field, 8, *v) }
func (c *coder) i16(field string, v *int16)  { *v = int16(c.number(field, 2, uint64(*v))) }
func (c *coder) i64(field string, v *int64)  { *v = int64(c.number(field, 8, uint64(*v))) }

// boolean codes one byte that is 0 or 1.
func (c *coder) boolean(field string, v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	c.u8(field, &b)
	c.require(field, b <= 1, errNotBool)
	*v = b == 1
}

// declared codes a length or count of n bytes, at most limit.
func (c *coder) declared(field string, n, v int, limit uint64) int {
	limit = min(limit, math.MaxUint64>>(64-8*n))
	got := uint64(v)
	if c.mode == reading || got <= limit {
		got = c.number(field, n, got)
	}
	if got > limit {
		c.fail(field, tooLarge(got, limit))
	}
	if c.err != nil {
		return 0
	}
	return int(got)
}

// length codes a u32 byte count. When reading it may exceed neither limit nor the frame.
func (c *coder) length(field string, v, limit int) int {
	if c.mode != reading {
		return c.declared(field, 4, v, math.MaxUint32)
	}
	n := c.declared(field, 4, v, uint64(limit))
	c.require(field, n <= c.left(), errShort)
	return n
}

// length31 codes an i32 byte count, which must not be negative.
func (c *coder) length31(field string, v int) int {
	n := c.declared(field, 4, v, math.MaxInt32)
	if c.mode == reading {
		c.require(field, n <= c.left(), errShort)
	}
	return n
}

// count16 and count32 code a number of items. When reading it may exceed neither the cap of lists nor what the frame can
// hold, with items of at least least bytes.
func (c *coder) count16(field string, v, least int) int { return c.count(field, 2, v, least) }
func (c *coder) count32(field string, v, least int) int { return c.count(field, 4, v, least) }

func (c *coder) count(field string, width, v, least int) int {
	if c.mode != reading {
		return c.declared(field, width, v, math.MaxUint32)
	}
	n := c.declared(field, width, v, uint64(c.lim.List))
	c.require(field, n*least <= c.left(), errShort)
	if c.err != nil {
		return 0
	}
	return n
}

// text codes a string: its length, then its bytes.
func (c *coder) text(field string, v *string) {
	c.chars(field, v, c.length(field, len(*v), c.lim.String))
}

// chars codes the n bytes of a string as one field.
func (c *coder) chars(field string, v *string, n int) {
	if c.mode == reading {
		*v = string(c.next(field, n))
		return
	}
	c.bytes(field, []byte(*v))
}

// blob codes n bytes as one field. When reading, v becomes a slice of the frame.
func (c *coder) blob(field string, v *[]byte, n int) {
	if c.mode == reading {
		*v = c.next(field, n)
		return
	}
	c.bytes(field, *v)
}

// tail codes a message's tags, which extend to the end of the frame.
func (c *coder) tail(field string, v *Tags) {
	c.blob(field, (*[]byte)(v), c.left())
	c.require(field, v.check() == nil, v.check())
}

// tail16 codes the tags of one item: a u16 byte count, then the tags.
func (c *coder) tail16(field string, v *Tags) {
	n := c.declared(field, 2, len(*v), math.MaxUint16)
	if c.mode == reading {
		c.require(field, n <= c.left(), errShort)
	}
	c.blob(field, (*[]byte)(v), n)
	c.require(field, v.check() == nil, v.check())
}

// version codes the version of a C1 hello or answer, whose upper half identifies the generation.
func (c *coder) version(v *uint32) {
	c.u32("version", v)
	c.require("version", *v>>16 == familyC1, fmt.Errorf("%#08x is not of generation C1", *v))
}
