package netproto

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
)

// tagHeader is the size of a tag's number and length, in bytes.
const tagHeader = 2 + 4

// Tags is the extensible tail of a C1 message in wire format: u16 tag, u32 length, bytes, in ascending order of the
// tags. Readers ignore unknown tags. The zero value is an empty tail.
//
// Received tags were checked. Their bytes belong to the message.
type Tags []byte

// All iterates over the tags in order. It stops at the first truncated one.
func (t Tags) All() iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for rest := []byte(t); len(rest) >= tagHeader; {
			size := uint64(binary.LittleEndian.Uint32(rest[2:]))
			if size > uint64(len(rest)-tagHeader) {
				return
			}
			end := tagHeader + int(size)
			if !yield(binary.LittleEndian.Uint16(rest), rest[tagHeader:end:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// Get returns the value of one tag.
func (t Tags) Get(tag uint16) (value []byte, found bool) {
	for number, v := range t.All() {
		if number == tag {
			return v, true
		}
	}
	return nil, false
}

// With returns a copy of t in which tag has value. A value above 4 GiB is a bug of the caller and panics.
func (t Tags) With(tag uint16, value []byte) Tags {
	if uint64(len(value)) > math.MaxUint32 {
		panic(fmt.Sprintf("netproto: internal error: tag %d of %d bytes", tag, len(value)))
	}
	out, placed := make(Tags, 0, len(t)+tagHeader+len(value)), false
	for number, v := range t.All() {
		if number >= tag && !placed {
			out, placed = out.add(tag, value), true
		}
		if number != tag {
			out = out.add(number, v)
		}
	}
	if !placed {
		out = out.add(tag, value)
	}
	return out
}

func (t Tags) add(tag uint16, value []byte) Tags {
	t = binary.LittleEndian.AppendUint16(t, tag)
	t = binary.LittleEndian.AppendUint32(t, uint32(len(value)))
	return append(t, value...)
}

// check finds a truncated, repeated or misplaced tag.
func (t Tags) check() error {
	used, last := 0, -1
	for number, value := range t.All() {
		if int(number) <= last {
			return errTagOrder
		}
		last = int(number)
		used += tagHeader + len(value)
	}
	if used != len(t) {
		return errTagShort
	}
	return nil
}
