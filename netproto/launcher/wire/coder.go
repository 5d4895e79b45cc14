package wire

import (
	"encoding/binary"
	"math"
)

// mode is the operation of a coder on its fields.
type mode uint8

const (
	reading   mode = 1 // fields are filled from buf
	writing   mode = 2 // fields go to buf
	measuring mode = 3 // fields are checked and counted
)

// Coder codes the fields of one message in order. After the first fault it does nothing, so code methods need no checks; the fault is err.
type Coder struct {
	mode    mode
	dialect Dialect
	number  uint8 // code of the message
	err     error

	buf   []byte // reading: the message; writing: what was written
	pos   int    // reading: bytes read; measuring: bytes counted
	field int    // reading: where the current field begins
}

// Reader makes a coder that reads fields outside of a message.
func Reader(data []byte) *Coder { return &Coder{mode: reading, buf: data} }

// Writer makes a coder that appends fields to buf, outside of a message.
func Writer(buf []byte) *Coder { return &Coder{mode: writing, buf: buf} }

// Written returns buf with the written fields.
func (c *Coder) Written() []byte { return c.buf }

// Fault returns the first fault. Unread bytes are a fault, too.
func (c *Coder) Fault() error {
	if c.mode == reading && c.left() > 0 {
		c.fail("end", errLeftOver)
	}
	return c.err
}

// run codes the whole message.
func (c *Coder) run(m Message) {
	code := c.number
	c.u8("Code", &code)
	m.code(c)
}

// fail records the first fault. When reading it is the peer's, else the caller's.
func (c *Coder) fail(field string, err error) {
	switch {
	case c.err != nil:
	case c.mode == reading:
		c.err = &FormatError{Code: c.number, Field: field, Offset: c.field, Err: err}
	default:
		c.err = &EncodeError{Code: c.number, Field: field, Err: err}
	}
}

// left is the number of unread bytes.
func (c *Coder) left() int { return len(c.buf) - c.pos }

// next reads n bytes as a slice of buf, or returns nil after a fault.
func (c *Coder) next(field string, n int) []byte {
	if c.err != nil {
		return nil
	}
	c.field = c.pos
	if n > c.left() {
		c.fail(field, errShort)
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

// put writes b or counts it.
func (c *Coder) put(b []byte) {
	switch {
	case c.err != nil:
	case c.mode == writing:
		c.buf = append(c.buf, b...)
	default:
		c.pos += len(b)
	}
}

// integer codes the low n bytes of v.
func (c *Coder) integer(field string, n int, v uint64) uint64 {
	var raw [8]byte
	if c.mode == reading {
		copy(raw[:], c.next(field, n))
		return binary.LittleEndian.Uint64(raw[:])
	}
	binary.LittleEndian.PutUint64(raw[:], v)
	c.put(raw[:n])
	return v
}

func (c *Coder) u8(field string, v *uint8)  { *v = uint8(c.integer(field, 1, uint64(*v))) }
func (c *Coder) i32(field string, v *int32) { *v = int32(c.integer(field, 4, uint64(*v))) }

// U32 codes 4 bytes.
func (c *Coder) U32(field string, v *uint32) { *v = uint32(c.integer(field, 4, uint64(*v))) }

// U64 codes 8 bytes.
func (c *Coder) U64(field string, v *uint64) { *v = c.integer(field, 8, *v) }

// I64 codes 8 bytes.
func (c *Coder) I64(field string, v *int64) { *v = int64(c.integer(field, 8, uint64(*v))) }

// declared codes a length or count of width bytes, at most limit.
func (c *Coder) declared(field string, width, v int, limit uint64) int {
	n := uint64(v)
	if c.mode == reading || n <= limit {
		n = c.integer(field, width, n)
	}
	if n > limit {
		c.fail(field, tooMany(n, limit))
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// count codes the UInt number of items that follow. When reading it may exceed neither limit nor what the message can
// hold, with items of at least least bytes.
func (c *Coder) count(field string, v int, limit uint64, least int) int {
	n := c.declared(field, 4, v, limit)
	if c.mode == reading && n*least > c.left() {
		c.fail(field, errShort)
		return 0
	}
	return n
}

// Text8 codes a String8.
func (c *Coder) Text8(field string, v *string) { c.text(field, 1, v, math.MaxUint8) }

// Text16 codes a String16.
func (c *Coder) Text16(field string, v *string) { c.text(field, 2, v, math.MaxUint16) }

func (c *Coder) text(field string, width int, v *string, limit uint64) {
	n := c.declared(field, width, len(*v), limit)
	c.chars(field, v, n)
}

// chars codes the n bytes of a string.
func (c *Coder) chars(field string, v *string, n int) {
	if c.mode == reading {
		*v = string(c.next(field, n))
		return
	}
	c.put([]byte(*v))
}

// blob codes a UInt length and that many bytes. When reading, v becomes a slice of the message.
func (c *Coder) blob(field string, v *[]byte, limit uint64) {
	n := c.declared(field, 4, len(*v), limit)
	if c.mode == reading {
		*v = c.next(field, n)
		return
	}
	c.put(*v)
}

// rest codes all bytes to the end of the message. When reading, v becomes a slice of the message.
func (c *Coder) rest(field string, v *[]byte) {
	if c.mode == reading {
		*v = c.next(field, c.left())
		return
	}
	c.put(*v)
}

// hash codes a hash as String8 of hexadecimal digits. The zero Hash is the empty text.
func (c *Coder) hash(field string, v *Hash) {
	text := ""
	if *v != (Hash{}) {
		text = v.String()
	}
	c.Text8(field, &text)
	if c.mode != reading || c.err != nil {
		return
	}
	*v = Hash{}
	if text == "" {
		return
	}
	got, err := ParseHash(text)
	if err != nil {
		c.fail(field, err)
	}
	*v = got
}

// Digest codes a hash as its 32 bytes.
func (c *Coder) Digest(field string, v *Hash) {
	if c.mode == reading {
		copy(v[:], c.next(field, len(v)))
		return
	}
	c.put(v[:])
}

// signature codes 16 bytes with one valid value.
func (c *Coder) signature(field, want string) {
	got := want
	c.chars(field, &got, len(want))
	if c.err == nil && got != want {
		c.fail(field, errSignature)
	}
}

// List codes a count and that many items. each codes one item, which takes at least least bytes.
func List[T any](c *Coder, field string, items *[]T, limit uint64, least int, each func(*T)) {
	n := c.count(field, len(*items), limit, least)
	if c.mode == reading {
		*items = make([]T, 0, min(n, firstItems))
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.mode == reading {
			var item T
			each(&item)
			*items = append(*items, item)
			continue
		}
		each(&(*items)[i])
	}
}

// firstItems is the initial capacity of a list: enough for most messages, and little if the declared number is false.
const firstItems = 1024
