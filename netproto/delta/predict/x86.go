package predict

import (
	"encoding/binary"
	"math/bits"
)

// x86Site returns where the four bytes of a reference at b[i] begin, or 0 if there is none. Branches must lead into code.
func x86Site(b []byte, i int) (at int, branch bool) {
	switch c := b[i]; {
	case c&0xfe == 0xe8: // a call or jump
		return i + 1, true
	case c == 0x0f: // a two-byte opcode
		if i+1 < len(b) && b[i+1]&0xf0 == 0x80 {
			return i + 2, true
		}
	case c&0xc7 == 0x05: // what an operand relative to the instruction pointer looks like
		if i > 0 {
			return i + 1, false
		}
	}
	return 0, false
}

// Every byte of a word.
const (
	eachByte = 0x0101010101010101
	eachHigh = 0x80 * eachByte
)

// zeroBytes has the upper bit of each byte that is zero in v.
func zeroBytes(v uint64) uint64 { return ^((v&^uint64(eachHigh) + 0x7f*eachByte) | v) & eachHigh }

// x86Next is the first index from i on at which x86Site may find a reference, or one at or behind end. It tests eight
// bytes at a time, because nine of ten are none.
func x86Next(b []byte, i, end int) int {
	for ; i+9 <= len(b) && i < end; i += 8 {
		v, next := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+1:])
		branches := zeroBytes(v&(0xfe*eachByte) ^ 0xe8*eachByte)
		jumps := zeroBytes((v ^ 0x0f*eachByte) | (next&(0xf0*eachByte) ^ 0x80*eachByte))
		operands := zeroBytes(v&(0xc7*eachByte) ^ 0x05*eachByte)
		if found := branches | jumps | operands; found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	return i
}

// predictX86 predicts the references of code.
func (w *predictionWalk) predictX86(end int, oldAt, newAt uint64) error {
	for i := w.done; ; i++ {
		if i = x86Next(w.b, i, end); i >= end {
			return nil
		}
		at, branch := x86Site(w.b, i)
		if at == 0 || at+4 > len(w.b) {
			continue
		}
		from := oldAt + uint64(at) + 4
		old := from + uint64(int64(int32(binary.LittleEndian.Uint32(w.b[at:]))))
		a, ok := w.p.old.find(old)
		if !ok || branch && !a.Code {
			continue
		}
		ok, err := w.predictFieldIn(a, at, old, newAt+uint64(at)+4)
		if err != nil {
			return err
		}
		if ok {
			i = at + 3
		}
	}
}

// reached reports whether a distance leads to a known address; for a branch, to code.
func (m *addresses) reached(distance []byte, from uint64, branch bool) bool {
	a, ok := m.find(from + uint64(int64(int32(binary.LittleEndian.Uint32(distance)))))
	return ok && (a.Code || !branch)
}
