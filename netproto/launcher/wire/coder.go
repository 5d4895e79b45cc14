package wire

import (
	"errors"
	"math"

	"collet/netproto/wire"
)

// coder codes one message of a dialect.
type coder struct {
	*wire.Coder
	dialect Dialect
}

// run codes the whole message. When reading, bytes behind the last field are ignored.
func run(with *wire.Coder, d Dialect, m Message) (*coder, error) {
	c := &coder{Coder: with, dialect: d}
	code := m.Code()
	c.U8("Code", &code)
	m.code(c)
	var f *wire.Fault
	switch {
	case !errors.As(c.Err(), &f):
		return c, nil
	case c.Reading():
		return c, &FormatError{Code: m.Code(), Field: f.Field, Offset: f.Offset, Err: f.Err}
	default:
		return c, &EncodeError{Code: m.Code(), Field: f.Field, Err: f.Err}
	}
}

func (c *coder) text8(field string, v *string)  { c.Text(field, v, 1, math.MaxUint8) }
func (c *coder) text16(field string, v *string) { c.Text(field, v, 2, math.MaxUint16) }

// hash codes a hash as String8 of hexadecimal digits. The zero Hash is the empty text.
func (c *coder) hash(field string, v *Hash) {
	text := ""
	if *v != (Hash{}) {
		text = v.String()
	}
	c.text8(field, &text)
	if !c.Reading() || c.Err() != nil {
		return
	}
	*v = Hash{}
	if text != "" {
		got, err := ParseHash(text)
		c.Require(field, err == nil, err)
		*v = got
	}
}

// signature codes 16 bytes with one valid value.
func (c *coder) signature(field, want string) {
	got := want
	c.Chars(field, &got, len(want))
	c.Require(field, got == want, errSignature)
}

// list codes a UInt count of at most limit, and that many items. each codes one item, which takes at least least bytes.
func list[T any](c *coder, field string, items *[]T, limit, least int, each func(*T)) {
	wire.List(c.Coder, field, 4, items, limit, least, each)
}
