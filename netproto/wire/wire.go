// Package wire is the two-way codec of the binary protocols: netproto, launcher/wire and den. A message states its layout once, in a
// method that passes each field to a Coder in order; the same method reads, writes and measures.
//
//	func (m *GetObject) code(c *wire.Coder) {
//		c.U32("request", &m.Request)
//		c.Text("name", &m.Name, 4, MaxObjectName)
//		c.U64("offset", &m.Offset)
//	}
//
// Numbers are little endian. A text, a blob and a list begin with their length in the width that the layout states. Input is untrusted:
// before anything is allocated, a length is compared with the layout's cap and with the bytes that are left. After the first fault a
// Coder does nothing, so layouts need no checks.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
)

// Fault is what is wrong with one field. When reading it is the peer's, else the caller's.
type Fault struct {
	Field  string
	Offset int // reading: of the field in the input, in bytes
	Err    error
}

func (f *Fault) Error() string { return f.Field + ": " + f.Err.Error() }

// Unwrap returns what is wrong.
func (f *Fault) Unwrap() error { return f.Err }

var (
	errShort    = errors.New("goes beyond the end")
	errTrailing = errors.New("bytes are left over behind the last field")
	errNotBool  = errors.New("a bool is 0 or 1")
)

// TooLarge is the error of a number above its cap.
func TooLarge(n, limit uint64) error { return fmt.Errorf("%d is above the limit of %d", n, limit) }

// Cipher deciphers one field in place.
type Cipher interface{ Apply(field []byte) }

// mode is the operation of a Coder on its fields.
type mode uint8

const (
	reading   mode = 0
	writing   mode = 1
	measuring mode = 2
)

// Coder codes the fields of one message in order.
type Coder struct {
	mode   mode
	buf    []byte    // reading: the input, deciphered up to pos; writing: the output so far
	pos    int       // reading: bytes read; measuring: bytes counted
	field  int       // reading: where the current field begins
	cipher Cipher    // reading: nil for plain input
	out    io.Writer // writing: takes the output in place of buf, which holds one number
	err    error
}

// Reader reads from data. Byte fields become slices of data.
func Reader(data []byte) *Coder { return &Coder{buf: data} }

// CipherReader reads from data, which cipher deciphers field by field.
func CipherReader(data []byte, cipher Cipher) *Coder {
	return &Coder{buf: data, cipher: cipher}
}

// Writer appends to buf.
func Writer(buf []byte) *Coder { return &Coder{mode: writing, buf: buf} }

// StreamWriter writes to out, each field with one call.
func StreamWriter(out io.Writer) *Coder { return &Coder{mode: writing, out: out} }

// Meter checks fields and counts their bytes.
func Meter() *Coder { return &Coder{mode: measuring} }

// Reading reports whether fields are filled.
func (c *Coder) Reading() bool { return c.mode == reading }

// Left is the number of unread bytes.
func (c *Coder) Left() int { return len(c.buf) - c.pos }

// Size is the number of bytes that were read, or counted.
func (c *Coder) Size() int { return c.pos }

// Written returns the buffer of a Writer with the fields.
func (c *Coder) Written() []byte { return c.buf }

// Err returns the first fault, as *Fault, or the error of a StreamWriter's out.
func (c *Coder) Err() error { return c.err }

// End fails if bytes are left unread.
func (c *Coder) End() {
	if c.mode == reading && c.Left() > 0 {
		c.field = c.pos
		c.Fail("end", errTrailing)
	}
}

// Fail records a fault of a field, unless there is one.
func (c *Coder) Fail(field string, err error) {
	if c.err == nil {
		c.err = &Fault{Field: field, Offset: c.field, Err: err}
	}
}

// Require fails unless ok.
func (c *Coder) Require(field string, ok bool, err error) {
	if !ok {
		c.Fail(field, err)
	}
}

// next reads n bytes as a slice of buf, or returns nil after a fault.
func (c *Coder) next(field string, n int) []byte {
	if c.err != nil {
		return nil
	}
	c.field = c.pos
	if n > c.Left() {
		c.Fail(field, errShort)
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	if c.cipher != nil {
		c.cipher.Apply(b)
	}
	c.pos += n
	return b
}

// put writes or counts b.
func (c *Coder) put(b []byte) {
	switch {
	case c.err != nil:
	case c.mode == measuring:
		c.pos += len(b)
	case c.out != nil:
		_, c.err = c.out.Write(b)
	default:
		c.buf = append(c.buf, b...)
	}
}

// Uint codes the low width bytes of v. It returns v, or when reading what it read.
func (c *Coder) Uint(field string, width int, v uint64) uint64 {
	var raw [8]byte // does not escape: a datagram is coded without an allocation
	switch {
	case c.mode == reading:
		copy(raw[:], c.next(field, width))
		return binary.LittleEndian.Uint64(raw[:])
	case c.out != nil:
		c.buf = binary.LittleEndian.AppendUint64(c.buf[:0], v)
		c.put(c.buf[:width])
	case c.mode == measuring:
		c.pos += width
	case c.err == nil:
		binary.LittleEndian.PutUint64(raw[:], v)
		c.buf = append(c.buf, raw[:width]...)
	}
	return v
}

// U8 codes one byte. Like all methods, it changes v only when reading: other goroutines may read a message that is written.
func (c *Coder) U8(field string, v *uint8) {
	if n := c.Uint(field, 1, uint64(*v)); c.mode == reading {
		*v = uint8(n)
	}
}

// U16 codes 2 bytes.
func (c *Coder) U16(field string, v *uint16) {
	if n := c.Uint(field, 2, uint64(*v)); c.mode == reading {
		*v = uint16(n)
	}
}

// U32 codes 4 bytes.
func (c *Coder) U32(field string, v *uint32) {
	if n := c.Uint(field, 4, uint64(*v)); c.mode == reading {
		*v = uint32(n)
	}
}

// U64 codes 8 bytes.
func (c *Coder) U64(field string, v *uint64) {
	if n := c.Uint(field, 8, *v); c.mode == reading {
		*v = n
	}
}

// I32 codes 4 bytes.
func (c *Coder) I32(field string, v *int32) {
	if n := c.Uint(field, 4, uint64(*v)); c.mode == reading {
		*v = int32(n)
	}
}

// I64 codes 8 bytes.
func (c *Coder) I64(field string, v *int64) {
	if n := c.Uint(field, 8, uint64(*v)); c.mode == reading {
		*v = int64(n)
	}
}

// Bool codes one byte that is 0 or 1.
func (c *Coder) Bool(field string, v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	c.U8(field, &b)
	c.Require(field, b <= 1, errNotBool)
	if c.mode == reading {
		*v = b == 1
	}
}

// Count codes a length or a number of items in width bytes, at most limit. When reading, the input must have least bytes
// for each item. After a fault the result is 0.
func (c *Coder) Count(field string, width, n, limit, least int) int {
	got, most := uint64(n), min(uint64(limit), math.MaxUint64>>(64-8*width))
	if c.mode == reading || got <= most {
		got = c.Uint(field, width, got)
	}
	switch {
	case got > most:
		c.Fail(field, TooLarge(got, most))
	case c.mode == reading && least > 0 && got > uint64(c.Left()/least):
		c.Fail(field, errShort)
	}
	if c.err != nil {
		return 0
	}
	return int(got)
}

// Array codes exactly the bytes of v.
func (c *Coder) Array(field string, v []byte) {
	if c.mode == reading {
		copy(v, c.next(field, len(v)))
		return
	}
	c.put(v)
}

// Bytes codes v without its length. When reading, it takes n bytes.
func (c *Coder) Bytes(field string, v *[]byte, n int) {
	if c.mode == reading {
		*v = c.next(field, n)
		return
	}
	c.put(*v)
}

// Rest codes the bytes to the end of the message.
func (c *Coder) Rest(field string, v *[]byte) { c.Bytes(field, v, c.Left()) }

// Blob codes the length of v in width bytes, at most limit, then v.
func (c *Coder) Blob(field string, v *[]byte, width, limit int) {
	c.Bytes(field, v, c.Count(field, width, len(*v), limit, 1))
}

// Chars codes a text without its length. When reading, it takes n bytes.
func (c *Coder) Chars(field string, v *string, n int) {
	if c.mode == reading {
		*v = string(c.next(field, n))
		return
	}
	c.put([]byte(*v))
}

// Text codes the length of v in width bytes, at most limit, then v.
func (c *Coder) Text(field string, v *string, width, limit int) {
	c.Chars(field, v, c.Count(field, width, len(*v), limit, 1))
}

// firstItems is the number of items for which List allocates room, however few bytes are left.
const firstItems = 1024

// List codes the number of items in width bytes, at most limit, then the items. each codes one, of at least least bytes. When reading,
// the memory allocated in advance is at most twice what is left of the input, or firstItems; the rest grows with what arrives.
func List[T any](c *Coder, field string, width int, items *[]T, limit, least int, each func(*T)) {
	n := c.Count(field, width, len(*items), limit, least)
	if c.mode == reading {
		room := min(n, max(firstItems, 2*c.Left()/int(reflect.TypeFor[T]().Size())))
		if *items == nil || cap(*items) < room {
			*items = make([]T, 0, room)
		}
		*items = (*items)[:0]
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.mode == reading {
			*items = append(*items, *new(T))
		}
		each(&(*items)[i])
	}
}
