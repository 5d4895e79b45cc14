package solid

import (
	"bytes"
	"encoding/binary"
)

const (
	// callCode begins a call in the machine code of x86. The distance from the next instruction to what is called follows, in 4 bytes.
	callCode = 0xE8
	callSize = 5
)

// EncodeCalls replaces the distance of each call of x86 code into the content by the distance plus the call's place, so that calls of one place,
// which have different distances, become equal bytes that can be packed. It is a bijection, so that bytes which are no calls do not matter.
// The content has at most MaxGroup bytes, and is changed.
//
// The rule is that of the E8 call translation in the LZX format ([MS-PATCH]): of a call at place p of n bytes, distances from -p to n-1 are
// replaced, and become the numbers from -p to n-1 in another order.
func EncodeCalls(content []byte) {
	translateCalls(content, 0, len(content), func(distance, at, size int32) int32 {
		if distance < size-at {
			return distance + at
		}
		return distance - size
	})
}

// DecodeCalls is the inverse of EncodeCalls for a part of a content: for the bytes from place at on, of a content of size bytes. It returns how
// many of them it has decoded. The others, at most 4, may belong to a call that goes on behind them: they are the first ones of the next part.
func DecodeCalls(part []byte, at, size int64) int {
	return translateCalls(part, int(at), int(size), func(number, at, size int32) int32 {
		if number >= 0 {
			return number - at
		}
		return number + size
	})
}

// translateCalls changes the number in each call of a part of a content, and returns how many bytes of the part are done.
func translateCalls(part []byte, at, size int, translate func(number, at, size int32) int32) (done int) {
	for {
		next := bytes.IndexByte(part[done:], callCode)
		if next < 0 {
			return len(part)
		}
		if done += next; done+callSize > len(part) {
			if at+len(part) == size {
				return size - at // the last bytes of a content are no call
			}
			return done
		}
		number := part[done+1 : done+callSize]
		place := at + done
		if v := int(int32(binary.LittleEndian.Uint32(number))); v >= -place && v < size {
			binary.LittleEndian.PutUint32(number, uint32(translate(int32(v), int32(place), int32(size))))
		}
		done += callSize
	}
}
