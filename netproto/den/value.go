package den

import (
	"fmt"
	"math"

	"collet/netproto/wire"
)

// ValueType is the type of one value of a State (docs/PROTOCOL.md, "Protocol 0").
type ValueType uint8

// The value types, as on the wire.
const (
	TypeInt8         ValueType = 0
	TypeUint8        ValueType = 1
	TypeInt16        ValueType = 2
	TypeUint16       ValueType = 3
	TypeInt32        ValueType = 4
	TypeUint32       ValueType = 5
	TypeInt64        ValueType = 6
	TypeUint64       ValueType = 7
	TypeFloat16      ValueType = 8
	TypeFloat32      ValueType = 9
	TypeFloat64      ValueType = 10
	TypeString       ValueType = 11
	TypeData         ValueType = 12
	TypePoint2Int8   ValueType = 13
	TypePoint2Uint8  ValueType = 14
	TypePoint2Int16  ValueType = 15
	TypePoint2Uint16 ValueType = 16
	TypePoint2Int32  ValueType = 17
	TypePoint2Uint32 ValueType = 18
	TypePoint2Int64  ValueType = 19
	TypePoint2Uint64 ValueType = 20
	TypePoint3Int8   ValueType = 21
	TypePoint3Uint8  ValueType = 22
	TypePoint3Int16  ValueType = 23
	TypePoint3Uint16 ValueType = 24
	TypePoint3Int32  ValueType = 25
	TypePoint3Uint32 ValueType = 26
	TypePoint3Int64  ValueType = 27
	TypePoint3Uint64 ValueType = 28
	TypeVector2F16   ValueType = 29
	TypeVector2F32   ValueType = 30
	TypeVector2F64   ValueType = 31
	TypeVector3F16   ValueType = 32
	TypeVector3F32   ValueType = 33
	TypeVector3F64   ValueType = 34
	TypeQuaternF16   ValueType = 35
	TypeQuaternF32   ValueType = 36
	TypeQuaternF64   ValueType = 37
)

// maxLanes is the number of components of the widest type, a quaternion.
const maxLanes = 4

// element is the kind of a type's components.
type element uint8

const (
	signed   element = 1
	unsigned element = 2
	floating element = 3
	bytewise element = 4 // no components, but bytes with a length
)

// shape is the wire layout of a type: consecutive components.
type shape struct {
	element element
	width   int // bytes of a component
	lanes   int // components
	name    string
}

// shapes lists the types by number.
var shapes = [...]shape{
	TypeInt8: {signed, 1, 1, "int8"}, TypeUint8: {unsigned, 1, 1, "uint8"},
	TypeInt16: {signed, 2, 1, "int16"}, TypeUint16: {unsigned, 2, 1, "uint16"},
	TypeInt32: {signed, 4, 1, "int32"}, TypeUint32: {unsigned, 4, 1, "uint32"},
	TypeInt64: {signed, 8, 1, "int64"}, TypeUint64: {unsigned, 8, 1, "uint64"},
	TypeFloat16: {floating, 2, 1, "float16"}, TypeFloat32: {floating, 4, 1, "float32"}, TypeFloat64: {floating, 8, 1, "float64"},
	TypeString: {bytewise, 0, 0, "string"}, TypeData: {bytewise, 0, 0, "data"},
	TypePoint2Int8: {signed, 1, 2, "point2 int8"}, TypePoint2Uint8: {unsigned, 1, 2, "point2 uint8"},
	TypePoint2Int16: {signed, 2, 2, "point2 int16"}, TypePoint2Uint16: {unsigned, 2, 2, "point2 uint16"},
	TypePoint2Int32: {signed, 4, 2, "point2 int32"}, TypePoint2Uint32: {unsigned, 4, 2, "point2 uint32"},
	TypePoint2Int64: {signed, 8, 2, "point2 int64"}, TypePoint2Uint64: {unsigned, 8, 2, "point2 uint64"},
	TypePoint3Int8: {signed, 1, 3, "point3 int8"}, TypePoint3Uint8: {unsigned, 1, 3, "point3 uint8"},
	TypePoint3Int16: {signed, 2, 3, "point3 int16"}, TypePoint3Uint16: {unsigned, 2, 3, "point3 uint16"},
	TypePoint3Int32: {signed, 4, 3, "point3 int32"}, TypePoint3Uint32: {unsigned, 4, 3, "point3 uint32"},
	TypePoint3Int64: {signed, 8, 3, "point3 int64"}, TypePoint3Uint64: {unsigned, 8, 3, "point3 uint64"},
	TypeVector2F16: {floating, 2, 2, "vector2 float16"}, TypeVector2F32: {floating, 4, 2, "vector2 float32"}, TypeVector2F64: {floating, 8, 2, "vector2 float64"},
	TypeVector3F16: {floating, 2, 3, "vector3 float16"}, TypeVector3F32: {floating, 4, 3, "vector3 float32"}, TypeVector3F64: {floating, 8, 3, "vector3 float64"},
	TypeQuaternF16: {floating, 2, 4, "quaternion float16"}, TypeQuaternF32: {floating, 4, 4, "quaternion float32"}, TypeQuaternF64: {floating, 8, 4, "quaternion float64"},
}

func (t ValueType) known() bool { return int(t) < len(shapes) }

// shape is the shape of t; an unknown type has no components.
func (t ValueType) shape() shape {
	if !t.known() {
		return shape{}
	}
	return shapes[t]
}

func (t ValueType) String() string {
	if !t.known() {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return shapes[t].name
}

// Value is one value of a State: a number, several numbers of one type, a text, or bytes. Values are compared with ==,
// floating ones bit by bit. The zero Value is the int8 0.
type Value struct {
	kind  ValueType
	lanes [maxLanes]uint64 // the bits of each component in wire format
	bytes string
}

// Uint8 is a value of TypeUint8, the type of the Remote Launcher's run state.
func Uint8(v uint8) Value { return TypeUint8.Unsigned(uint64(v)) }

// Text is a value of TypeString. Above 65535 bytes it can't be sent.
func Text(s string) Value { return Value{kind: TypeString, bytes: s} }

// Data is a value of TypeData, a copy of b. Above 65535 bytes it can't be sent.
func Data(b []byte) Value { return Value{kind: TypeData, bytes: string(b)} }

// Signed makes a value of type t from one number for each component; missing ones are 0, surplus ones are ignored.
// Numbers are truncated or converted to the component's type.
func (t ValueType) Signed(v ...int64) Value {
	return fill(t, v, func(n int64) float64 { return float64(n) })
}

// Unsigned is Signed for unsigned numbers.
func (t ValueType) Unsigned(v ...uint64) Value {
	return fill(t, v, func(n uint64) float64 { return float64(n) })
}

// Float is Signed for floating numbers. For integer types the fraction is dropped.
func (t ValueType) Float(v ...float64) Value {
	if t.shape().element == floating {
		return fill(t, v, func(n float64) float64 { return n })
	}
	whole := make([]int64, len(v))
	for i, n := range v {
		whole[i] = int64(n)
	}
	return t.Signed(whole...)
}

func fill[N int64 | uint64 | float64](t ValueType, v []N, float func(N) float64) Value {
	s := t.shape()
	out := Value{kind: t}
	for i := range min(len(v), s.lanes) {
		if s.element == floating {
			out.lanes[i] = floatBits(s.width, float(v[i]))
		} else {
			out.lanes[i] = uint64(v[i]) & (math.MaxUint64 >> (64 - 8*s.width))
		}
	}
	return out
}

// Type is the value's type.
func (v Value) Type() ValueType { return v.kind }

// Signed is component i (0 to 3) as a signed number, without a fraction.
func (v Value) Signed(i int) int64 {
	switch s := v.kind.shape(); s.element {
	case floating:
		return int64(v.Float(i))
	case signed:
		gap := 64 - 8*s.width
		return int64(v.lanes[i]<<gap) >> gap
	default:
		return int64(v.lanes[i])
	}
}

// Unsigned is component i (0 to 3) as an unsigned number, without a fraction.
func (v Value) Unsigned(i int) uint64 {
	if v.kind.shape().element == unsigned {
		return v.lanes[i]
	}
	return uint64(v.Signed(i))
}

// Float is component i (0 to 3) as a floating number.
func (v Value) Float(i int) float64 {
	switch s := v.kind.shape(); s.element {
	case floating:
		return floatOf(s.width, v.lanes[i])
	case unsigned:
		return float64(v.lanes[i])
	default:
		return float64(v.Signed(i))
	}
}

// Text is the text of a TypeString.
func (v Value) Text() string { return v.bytes }

// Data is a copy of the bytes of a TypeData.
func (v Value) Data() []byte { return []byte(v.bytes) }

// precision is the change of a floating component from which it is sent, as with released programs.
const precision = 1e-15

// same reports whether a change from v to w is too small to send.
func (v Value) same(w Value) bool {
	s := v.kind.shape()
	if v == w || v.kind != w.kind || s.element != floating {
		return v == w
	}
	for i := range s.lanes {
		if !(math.Abs(v.Float(i)-w.Float(i)) <= precision) {
			return false
		}
	}
	return true
}

// codeValue codes the data of one value of known type.
func codeValue(c *wire.Coder, v *Value) {
	s := v.kind.shape()
	if s.element == bytewise {
		c.Text("value", &v.bytes, 2, math.MaxUint16)
		return
	}
	for i := range s.lanes {
		if bits := c.Uint("value", s.width, v.lanes[i]); c.Reading() {
			v.lanes[i] = bits
		}
	}
}

// codeValues codes a value list: a u16 count, then each value's type and data.
func codeValues(c *wire.Coder, v *[]Value) {
	wire.List(c, "values", 2, v, math.MaxUint16, 2, func(one *Value) {
		c.U8("type", (*uint8)(&one.kind))
		c.Require("type", one.kind.known(), errType)
		codeValue(c, one)
	})
}
