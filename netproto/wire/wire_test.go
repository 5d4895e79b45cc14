package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/wire"
)

// sample has one field of each kind.
type sample struct {
	a     uint8
	b     uint16
	c     uint32
	d     uint64
	f     int32
	g     int64
	wide  uint64
	yes   bool
	sum   [3]byte
	text  string
	blob  []byte
	items []item
	rest  []byte
}

type item struct{ name string }

func (m *sample) code(c *wire.Coder) {
	c.U8("a", &m.a)
	c.U16("b", &m.b)
	c.U32("c", &m.c)
	c.U64("d", &m.d)
	c.I32("f", &m.f)
	c.I64("g", &m.g)
	m.wide = c.Uint("wide", 3, m.wide)
	c.Bool("yes", &m.yes)
	c.Array("sum", m.sum[:])
	c.Text("text", &m.text, 2, 8)
	c.Blob("blob", &m.blob, 1, 4)
	wire.List(c, "items", 1, &m.items, 3, 1, func(i *item) { c.Text("name", &i.name, 1, math.MaxInt) })
	c.Rest("rest", &m.rest)
}

func full() *sample {
	return &sample{
		a: 1, b: 0x0203, c: 0x04050607, d: 0x08090a0b0c0d0e0f, f: -3, g: -4, wide: 0x101112, yes: true, sum: [3]byte{7, 8, 9},
		text: "text", blob: []byte("blob"), items: []item{{"x"}, {""}}, rest: []byte("!"),
	}
}

const fullHex = "01" + "0302" + "07060504" + "0f0e0d0c0b0a0908" + "fdffffff" + "fcffffffffffffff" + "121110" + "01" + "070809" +
	"0400" + "74657874" + "04" + "626c6f62" + "02" + "0178" + "00" + "21"

// sink counts its calls.
type sink struct {
	bytes.Buffer
	calls int
}

func (s *sink) Write(p []byte) (int, error) {
	s.calls++
	return s.Buffer.Write(p)
}

func TestOneLayoutReadsWritesAndMeasures(t *testing.T) {
	want, err := hex.DecodeString(fullHex)
	if err != nil {
		t.Fatal(err)
	}
	c := wire.Writer([]byte("head"))
	full().code(c)
	if got := c.Written(); c.Err() != nil || !bytes.Equal(got, append([]byte("head"), want...)) {
		t.Errorf("written: %x, %v", got, c.Err())
	}
	var out sink
	c = wire.StreamWriter(&out)
	full().code(c)
	if c.Err() != nil || !bytes.Equal(out.Bytes(), want) || out.calls != 19 {
		t.Errorf("streamed in %d calls: %x, %v", out.calls, out.Bytes(), c.Err())
	}
	c = wire.Meter()
	if full().code(c); c.Size() != len(want) || c.Err() != nil {
		t.Errorf("measured %d bytes, want %d: %v", c.Size(), len(want), c.Err())
	}
	c = wire.Reader(want)
	var got sample
	got.code(c)
	if c.End(); c.Err() != nil || !reflect.DeepEqual(&got, full()) {
		t.Errorf("read %+v, %v", got, c.Err())
	}
}

// TestEveryCutIsAFault: input that ends early is rejected at the field that it cuts, and costs no allocation beyond it.
func TestEveryCutIsAFault(t *testing.T) {
	whole, _ := hex.DecodeString(fullHex)
	for n := range len(whole) - 1 {
		c := wire.Reader(whole[:n])
		new(sample).code(c)
		var f *wire.Fault
		if !errors.As(c.Err(), &f) || f.Offset > n || f.Field == "" || f.Err.Error() != "goes beyond the end" {
			t.Errorf("%d bytes: %v", n, c.Err())
		}
	}
}

func TestFaults(t *testing.T) {
	read := func(input string, code func(*wire.Coder)) error {
		c := wire.Reader([]byte(input))
		code(c)
		c.End()
		return c.Err()
	}
	var b bool
	var text string
	var list []uint64
	u64 := func(c *wire.Coder) {
		wire.List(c, "list", 4, &list, 1<<30, 8, func(v *uint64) { c.U64("v", v) })
	}
	for name, test := range map[string]struct {
		err  error
		text string
	}{
		"bool":       {read("\x02", func(c *wire.Coder) { c.Bool("b", &b) }), "b: a bool is 0 or 1"},
		"cap":        {read("\x05hello", func(c *wire.Coder) { c.Text("t", &text, 1, 4) }), "t: 5 is above the limit of 4"},
		"length":     {read("\x05hell", func(c *wire.Coder) { c.Text("t", &text, 1, 9) }), "t: goes beyond the end"},
		"count":      {read("\xff\xff\xff\x3f12345678", u64), "list: goes beyond the end"},
		"cap of 4":   {read("\xff\xff\xff\xff12345678", u64), "list: 4294967295 is above the limit of 1073741824"},
		"left over":  {read("\x00\x00", func(c *wire.Coder) { c.Bool("b", &b) }), "end: bytes are left over behind the last field"},
		"first only": {read("", func(c *wire.Coder) { c.Bool("b", &b); c.Text("t", &text, 1, 4) }), "b: goes beyond the end"},
	} {
		if test.err == nil || test.err.Error() != test.text {
			t.Errorf("%s: %v, want %s", name, test.err, test.text)
		}
	}
	for _, with := range []*wire.Coder{wire.Meter(), wire.Writer(nil), wire.StreamWriter(&sink{})} {
		long := strings.Repeat("x", 256)
		if with.Text("t", &long, 1, math.MaxInt); with.Err() == nil || with.Err().Error() != "t: 256 is above the limit of 255" {
			t.Errorf("a text of 256 bytes: %v", with.Err())
		}
	}
}

// xor changes every byte of a field by the number of fields before it.
type xor struct{ fields byte }

func (x *xor) Apply(field []byte) {
	for i := range field {
		field[i] ^= x.fields
	}
	x.fields++
}

func TestCipherSeesEachFieldOnce(t *testing.T) {
	c := wire.CipherReader([]byte{1, 2, 0, 'a' ^ 2}, &xor{})
	var n uint16
	var text string
	c.U16("n", &n)
	c.Text("t", &text, 1, 9)
	if c.End(); c.Err() != nil || n != 0x0201 || text != "a" {
		t.Errorf("%#x, %q, %v", n, text, c.Err())
	}
}

// TestListGrowsWithItsInput: a declared number of items costs at most what is left of the input, and a fixed part.
func TestListGrowsWithItsInput(t *testing.T) {
	input := append([]byte{0xff, 0xff, 0, 0}, make([]byte, 1<<16)...)
	c := wire.Reader(input)
	var items [][64]byte
	wire.List(c, "items", 4, &items, 1<<20, 1, func(*[64]byte) {
		if len(items) == 1 && cap(items) > 4096 {
			t.Errorf("room for %d items of 64 bytes before %d bytes", cap(items), len(input))
		}
	})
	if c.Err() != nil || len(items) != 0xffff {
		t.Errorf("%d items, %v", len(items), c.Err())
	}
	kept := items[:0]
	c = wire.Reader([]byte{1})
	if wire.List(c, "items", 1, &kept, 9, 0, func(*[64]byte) {}); len(kept) != 1 || &kept[0] != &items[:1][0] {
		t.Error("the list was not reused")
	}
}
