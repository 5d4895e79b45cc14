package dentest

import (
	"encoding/binary"
	"fmt"
)

// Value is one value of a linked state as it lies on the wire: its type (0 to 37) and its bytes without type byte. Texts
// and data (types 11 and 12) carry their 16-bit length in Data.
type Value struct {
	Type byte
	Data []byte
}

func (v Value) String() string { return fmt.Sprintf("%d:%x", v.Type, v.Data) }

// Byte is a value of type 1, the only one the Remote Launcher uses (3.4).
func Byte(b byte) Value { return Value{1, []byte{b}} }

// sizes are the bytes of each fixed value type, by type (2.7). Zero means a 16-bit length in front.
var sizes = [38]int{
	1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 0, 0,
	2, 2, 4, 4, 8, 8, 16, 16, // points of two
	3, 3, 6, 6, 12, 12, 24, 24, // points of three
	4, 8, 16, 6, 12, 24, 8, 16, 32, // vectors of two and three, quaternions
}

func readValue(r *reader, kind byte) Value {
	n := sizes[kind]
	if n > 0 {
		return Value{kind, clone(r.take(n))}
	}
	length := r.u16()
	data := binary.LittleEndian.AppendUint16(nil, length)
	return Value{kind, append(data, r.take(int(length))...)}
}

// readValues reads the counted list of a link state (2.7).
func readValues(r *reader) ([]Value, error) {
	var values []Value
	for n := r.u16(); n > 0 && !r.short; n-- {
		kind := r.u8()
		if int(kind) >= len(sizes) {
			return nil, fmt.Errorf("value type %d: there are types 0 to 37", kind)
		}
		values = append(values, readValue(r, kind))
	}
	if r.short {
		return nil, fmt.Errorf("value list ends early: send all values")
	}
	return values, nil
}

func writeValues(b []byte, values []Value) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(values)))
	for _, v := range values {
		b = append(append(b, v.Type), v.Data...)
	}
	return b
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }
