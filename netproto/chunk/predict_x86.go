package chunk

import "encoding/binary"

// Kinds of a byte in x86-64 code, as far as references go.
const (
	x86None   = 0
	x86Branch = 1 // call or jump: a 4-byte distance follows
	x86Escape = 2 // first byte of a two-byte opcode
	x86Modrm  = 3 // what an operand relative to the instruction pointer looks like
)

// x86Kind is the kind of a byte.
func x86Kind(b byte) byte {
	switch {
	case b == 0xe8 || b == 0xe9:
		return x86Branch
	case b == 0x0f:
		return x86Escape
	case b&0xc7 == 0x05:
		return x86Modrm
	}
	return x86None
}

// x86Kinds is x86Kind as a table.
var x86Kinds = func() (t [256]byte) {
	for i := range t {
		t[i] = x86Kind(byte(i))
	}
	return t
}()

// x86Site says whether a reference is at b[i]: where its four bytes begin, or 0. Branches have to lead into code.
func x86Site(b []byte, i int) (at int, branch bool) {
	switch x86Kinds[b[i]] {
	case x86Branch:
		return i + 1, true
	case x86Escape:
		if i+1 < len(b) && b[i+1]&0xf0 == 0x80 {
			return i + 2, true
		}
	case x86Modrm:
		if i > 0 {
			return i + 1, false
		}
	}
	return 0, false
}

// x86 predicts the references of code.
func (w *walk) x86(end int, oldAt, newAt uint64) error {
	for i := w.done; i < end; i++ {
		at, branch := x86Site(w.b, i)
		if at == 0 || at+4 > len(w.b) {
			continue
		}
		if !w.p.old.reached(w.b[at:], oldAt+uint64(at)+4, branch) {
			continue
		}
		ok, err := w.field4(at, oldAt+uint64(at)+4, newAt+uint64(at)+4)
		if err != nil {
			return err
		}
		if ok {
			i = at + 3
		}
	}
	return nil
}

// reached says whether a distance leads to a known address, for a branch to one with code.
func (m *addresses) reached(distance []byte, from uint64, branch bool) bool {
	a, ok := m.find(from + uint64(int64(int32(binary.LittleEndian.Uint32(distance)))))
	return ok && (a.code || !branch)
}
