package predict

import "encoding/binary"

// WebAssembly modules number their functions and address their data by constants in the code. A build that adds a function or a byte of data
// shifts all numbers behind it. The numbers are LEB128, so most of them keep their length. (WebAssembly Core Specification, 5.4.)
const (
	wasmCall     = 0x10 // call: a function's number
	wasmConst32  = 0x41 // i32.const: an address, among other things
	wasmConst64  = 0x42 // i64.const: in Go's code a function's number and a place in it
	wasmShortest = 2    // bytes: a shorter number is hardly ever a reference
	wasmLongest  = 6    // bytes
)

// wasmReference is the operand of an instruction that may be a reference: n bytes from b[at] on; n is 0 if b[i] begins another instruction.
func wasmReference(b []byte, i int) (at, n int) {
	switch b[i] {
	case wasmCall, wasmConst32, wasmConst64:
	default:
		return 0, 0
	}
	at = i + 1
	for n = 0; at+n < len(b) && n < wasmLongest; n++ {
		if b[at+n]&0x80 == 0 {
			if n+1 < wasmShortest {
				return 0, 0
			}
			return at, n + 1
		}
	}
	return 0, 0
}

// readLEB decodes the n bytes of a LEB128 number; signed ones extend the sign.
func readLEB(b []byte, signed bool) int64 {
	v, bits := int64(0), uint(0)
	for _, c := range b {
		v |= int64(c&0x7f) << bits
		bits += 7
	}
	if signed && b[len(b)-1]&0x40 != 0 {
		v |= -1 << bits
	}
	return v
}

// writeLEB encodes a number in exactly len(b) bytes. It reports false, and changes nothing, if the number has another length.
func writeLEB(b []byte, v int64, signed bool) bool {
	var out [binary.MaxVarintLen64]byte
	rest := v
	for i := range b {
		out[i] = byte(rest)&0x7f | 0x80
		rest >>= 7
	}
	last := len(b) - 1
	out[last] &= 0x7f
	if readLEB(out[:len(b)], signed) != v {
		return false
	}
	copy(b, out[:])
	return true
}

// maxShift bounds a learned shift: a larger one is a constant that changed.
const maxShift = 1 << 26

// shiftBits is the size of a shiftMap's table, as a power of two: 16 bytes each.
const shiftBits = 16

// shiftLevels are the sizes of the neighborhoods of a shiftMap, as powers of two.
var shiftLevels = [...]uint{0, 3, 6, 9, 12, 16, 20}

// shiftMap is how numbers of one kind shift, learned from those that were seen. A number shifts like itself before, or else like the last
// one in the smallest neighborhood in which one was seen.
type shiftMap struct {
	table []learnedShift
}

// learnedShift is the last shift in a neighborhood; key names it; 0 marks an empty entry.
type learnedShift struct{ key, shift int64 }

// place is the table's entry for a neighborhood, and its key.
func (m *shiftMap) place(v int64, level int) (*learnedShift, int64) {
	if m.table == nil {
		m.table = make([]learnedShift, 1<<shiftBits)
	}
	key := (v>>shiftLevels[level])<<3 | int64(level+1)
	return &m.table[uint64(key)*0x9e3779b97f4a7c15>>(64-shiftBits)], key
}

// shifted is the expected new number.
func (m *shiftMap) shifted(v int64) int64 {
	for level := range shiftLevels {
		if p, key := m.place(v, level); p.key == key {
			return v + p.shift
		}
	}
	return v
}

// record learns that v became real.
func (m *shiftMap) record(v, real int64) {
	shift := real - v
	if shift > maxShift || shift < -maxShift {
		return
	}
	for level := range shiftLevels {
		p, key := m.place(v, level)
		*p = learnedShift{key, shift}
	}
}

// predictWASM predicts the numbers in WebAssembly code. The instruction's own byte is corrected with its operand: where it turns out to be
// another one, nothing is learned.
func (w *predictionWalk) predictWASM(end int) error {
	for i := w.done; i < end; i++ {
		at, n := wasmReference(w.b, i)
		if n == 0 {
			continue
		}
		op, m := w.b[i], &w.p.words
		if op == wasmCall {
			m = &w.p.functions
		}
		field := w.b[at : at+n]
		old := readLEB(field, op != wasmCall)
		writeLEB(field, m.shifted(old), op != wasmCall)
		if err := w.correctTo(at + n); err != nil {
			return err
		}
		if _, real := wasmReference(w.b, i); real == n && w.b[i] == op {
			m.record(old, readLEB(field, op != wasmCall))
		}
		i = at + n - 1
	}
	return nil
}

const (
	// wasmEnd ends the expression with a segment's address.
	wasmEnd = 0x0b
	// smallestWord is the least number in data that may be an address.
	smallestWord = 1 << 12
	// largestSegment bounds the plausible size of a segment, in bytes.
	largestSegment = 1 << 31
)

// segmentHead is the head of a segment of data: i32.const with its address, end, and its size.
type segmentHead struct {
	bytes   int // of the head; 0 for none
	digits  int // bytes of the address, behind the first byte
	address int64
	size    int64
}

// readSegmentHead reads the head at b[i].
func readSegmentHead(b []byte, i int) segmentHead {
	if b[i] != wasmConst32 {
		return segmentHead{}
	}
	at, digits := i+1, 1
	for at+digits < len(b) && b[at+digits-1]&0x80 != 0 && digits < wasmLongest {
		digits++
	}
	to := at + digits
	if to >= len(b) || b[to] != wasmEnd {
		return segmentHead{}
	}
	size, n := binary.Uvarint(b[to+1:])
	if n <= 0 || size > largestSegment {
		return segmentHead{}
	}
	return segmentHead{bytes: to + 1 + n - i, digits: digits, address: readLEB(b[at:to], true), size: int64(size)}
}

// predictSegments predicts the addresses of segments, and the aligned 4-byte words in them. A segment omits zeros at its end, so its last
// word may be shorter. Nothing is predicted before the first head of a block.
func (w *predictionWalk) predictSegments(end int) error {
	address, rest := int64(0), int64(0) // of b[i]; how many bytes of its segment are left
	for i := w.done; i < end; {
		if rest == 0 {
			head, err := w.predictHead(i)
			if err != nil {
				return err
			}
			i, address, rest = i+max(head.bytes, 1), head.address, head.size
			continue
		}
		n := int(min(4-address&3, rest, int64(len(w.b)-i)))
		if address&3 == 0 {
			if err := w.predictWord(i, n); err != nil {
				return err
			}
		}
		i, address, rest = i+n, address+int64(n), rest-int64(n)
	}
	return nil
}

// predictHead predicts the head of a segment, and returns it with its new size; zero if b[i] begins no head.
func (w *predictionWalk) predictHead(i int) (segmentHead, error) {
	old := readSegmentHead(w.b, i)
	if old.bytes == 0 {
		return old, nil
	}
	writeLEB(w.b[i+1:i+1+old.digits], w.p.words.shifted(old.address), true)
	if err := w.correctTo(i + old.bytes); err != nil {
		return segmentHead{}, err
	}
	if real := readSegmentHead(w.b, i); real.bytes == old.bytes {
		w.p.words.record(old.address, real.address)
		old.size = real.size
	}
	return old, nil
}

// predictWord predicts a number of n bytes, 1 to 4.
func (w *predictionWalk) predictWord(i, n int) error {
	f := w.b[i : i+n]
	old := readWord(f)
	if old < smallestWord {
		return nil
	}
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(w.p.words.shifted(old)))
	copy(f, word[:])
	if err := w.correctTo(i + n); err != nil {
		return err
	}
	w.p.words.record(old, readWord(f))
	return nil
}

// readWord is a number of up to 4 bytes.
func readWord(f []byte) int64 {
	var word [4]byte
	copy(word[:], f)
	return int64(binary.LittleEndian.Uint32(word[:]))
}
