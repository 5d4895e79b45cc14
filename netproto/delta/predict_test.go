package delta

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"collet/platform/testlevel"
)

// elf is a small module for x86-64 that a test builds: one segment of code, one of data.
type elf struct {
	code, data []byte
	codeAt     uint64 // address
	dataAt     uint64
}

const elfHead = 64 + 2*56 // bytes before the code

// bytes lays the module out.
func (e *elf) bytes() []byte {
	b := make([]byte, elfHead)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 3)
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	segment := func(at int, flags uint32, off, address uint64, size int) {
		le.PutUint32(b[at:], 1)
		le.PutUint32(b[at+4:], flags)
		le.PutUint64(b[at+8:], off)
		le.PutUint64(b[at+16:], address)
		le.PutUint64(b[at+32:], uint64(size))
		le.PutUint64(b[at+40:], uint64(size)+64)
	}
	segment(64, 5, elfHead, e.codeAt, len(e.code))
	segment(64+56, 6, uint64(elfHead+len(e.code)), e.dataAt, len(e.data))
	return append(append(b, e.code...), e.data...)
}

// module is a module of several functions that call each other and load data, with a table of pointers. Padding in front
// of the third function moves everything behind it, as an edit would.
func module(padding int) []byte {
	r := rand.New(rand.NewPCG(5, 5))
	const functions, body = 40, 120
	e := &elf{codeAt: 0x401000, dataAt: 0x500000 + uint64(padding)}
	starts := make([]uint64, functions)
	for i := range starts {
		starts[i] = e.codeAt + uint64(i*body)
		if i > 2 {
			starts[i] += uint64(padding)
		}
	}
	for i := range functions {
		if i == 3 {
			e.code = append(e.code, bytes.Repeat([]byte{0x90}, padding)...)
		}
		for n := 0; n < body; {
			here := e.codeAt + uint64(len(e.code))
			kind, callee, slot := r.IntN(4), r.IntN(functions), r.IntN(functions)
			var op []byte
			switch kind {
			case 0: // call
				op = binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(starts[callee]-here-5))
			case 1: // conditional jump
				op = binary.LittleEndian.AppendUint32([]byte{0x0f, 0x84}, uint32(starts[callee]-here-6))
			case 2: // load through the instruction pointer
				op = binary.LittleEndian.AppendUint32([]byte{0x48, 0x8b, 0x05}, uint32(e.dataAt+uint64(8*slot)-here-7))
			default:
				op = []byte{0x48, 0x83, 0xc0, byte(callee)}
			}
			if n+len(op) > body {
				op = bytes.Repeat([]byte{0x90}, body-n)
			}
			e.code = append(e.code, op...)
			n += len(op)
		}
	}
	for range 8 {
		for i := range starts {
			e.data = binary.LittleEndian.AppendUint64(e.data, starts[(i*7)%functions])
		}
	}
	return e.bytes()
}

// TestModuleMoves: when code moves, references are predicted, and the patch holds little but the move itself.
func TestModuleMoves(t *testing.T) {
	patch, stats := roundTrip(t, [][]byte{module(0)}, [][]byte{module(48)})
	if !stats.Predicted {
		t.Error("a module was patched without prediction")
	}
	if len(patch) > 400 {
		t.Errorf("%d bytes for code that only moved: %+v", len(patch), stats)
	}
	same, _ := roundTrip(t, [][]byte{module(0)}, [][]byte{module(0)})
	if len(same) > 40 {
		t.Errorf("%d bytes for an identical module", len(same))
	}
}

// TestModulesAmongOthers: modules are found wherever they stand among the contents, and each keeps its own addresses.
func TestModulesAmongOthers(t *testing.T) {
	old := [][]byte{words(1, 5000), module(0), module(16), noise(1, 777)}
	fresh := [][]byte{noise(1, 700), module(48), words(1, 5100), module(32)}
	patch, stats := roundTrip(t, old, fresh)
	if len(patch) > 600 {
		t.Errorf("%d bytes, %+v", len(patch), stats)
	}
}

// TestBrokenModules: headers that lie cost prediction at most, never correctness.
func TestBrokenModules(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	whole := module(0)
	r := rand.New(rand.NewPCG(3, 3))
	for range 60 / testlevel.Stride(6, 20) {
		bad := bytes.Clone(module(48))
		for range 4 {
			bad[r.IntN(elfHead)] = byte(r.Uint32())
		}
		roundTrip(t, [][]byte{whole}, [][]byte{bad})
		roundTrip(t, [][]byte{bad}, [][]byte{whole[:r.IntN(len(whole))]})
	}
	for n := range 200 {
		parseImage(whole[:n])
	}
}

func TestMovesCutOverlaps(t *testing.T) {
	m := newMoves([]match{{at: 100, size: 10, old: 0}, {at: 200, size: 30, old: 5}, {at: 300, size: 4, old: 10}, {at: 400, size: 10, old: 30}}, 64)
	for old, want := range map[uint32]uint32{0: 100, 4: 104, 5: 200, 12: 207, 34: 229, 35: 405, 39: 409, 45: 415} {
		if got, ok := m.to(old); !ok || got != want {
			t.Errorf("%d went to %d, want %d", old, got, want)
		}
	}
	if _, ok := newMoves(nil, 64).to(3); ok {
		t.Error("a place went somewhere without a match")
	}
}

func FuzzParseImage(f *testing.F) {
	f.Add(module(0))
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		if im := parseImage(b); im != nil {
			for _, a := range im.areas {
				if uint64(a.at)+uint64(a.size) > uint64(len(b)) {
					t.Fatalf("an area leaves the file: %+v", a)
				}
			}
		}
	})
}
