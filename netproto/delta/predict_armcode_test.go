package delta

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestARMFields: distances and pages come back from where they were put.
func TestARMFields(t *testing.T) {
	for _, v := range []int64{0, 4, -4, 1 << 20, -1 << 20, 1<<27 - 4, -1 << 27} {
		w := armPut(0x94000000, 26, 0, uint32(v>>2))
		if bits, at := armBranch(w); bits != 26 || armDistance(w, bits, at) != v {
			t.Errorf("BL of %d: %#x", v, w)
		}
	}
	for _, v := range []int64{0, 4, -4, 1<<20 - 4, -1 << 20} {
		for _, op := range []uint32{0x54000003, 0x34000005, 0xb5000007} {
			w := armPut(op, 19, 5, uint32(v>>2))
			if bits, at := armBranch(w); bits != 19 || armDistance(w, bits, at) != v || w&31 != op&31 {
				t.Errorf("%#x of %d: %#x", op, v, w)
			}
		}
	}
	for _, v := range []int64{0, 1, 3, -1, -4, 1<<20 - 1, -1 << 20} {
		if pages, ok := armPage(armPutPage(0x90000009, uint32(v))); !ok || pages != v {
			t.Errorf("ADRP of %d pages: %d", v, pages)
		}
	}
	for _, w := range []uint32{0xd503201f, 0x91000000, 0xf9400000, 0xd65f03c0} {
		if bits, _ := armBranch(w); bits != 0 {
			t.Errorf("%#x is taken for a branch", w)
		}
		if _, ok := armPage(w); ok {
			t.Errorf("%#x is taken for ADRP", w)
		}
	}
	for w, want := range map[uint32]uint64{0x91048c20: 0x123, 0xf9400420: 8, 0xb9400420: 4, 0x39400420: 1, 0x3dc00420: 16} {
		if low, _, ok := armLow(w, 1); !ok || low != want {
			t.Errorf("%#x: %#x, want %#x", w, low, want)
		}
		if _, _, ok := armLow(w, 2); ok {
			t.Errorf("%#x is taken for another register's", w)
		}
	}
}

// armModule is module for arm64: calls, and addresses that are loaded by pairs.
func armModule(padding int) []byte {
	r := rand.New(rand.NewPCG(5, 6))
	const functions, body = 60, 160
	e := &elf{codeAt: 0x401000, dataAt: 0x500000 + uint64(padding)}
	start := func(i int) uint64 {
		if i > 2 {
			return e.codeAt + uint64(i*body+padding)
		}
		return e.codeAt + uint64(i*body)
	}
	word := func(w uint32) { e.code = binary.LittleEndian.AppendUint32(e.code, w) }
	for i := range functions {
		if i == 3 {
			e.code = append(e.code, bytes.Repeat([]byte{0x1f, 0x20, 0x03, 0xd5}, padding/4)...)
		}
		for n := 0; n < body; n += 16 {
			here := e.codeAt + uint64(len(e.code))
			callee, slot := r.IntN(functions), r.IntN(functions)
			target := e.dataAt + uint64(8*slot)
			word(armPut(0x94000000, 26, 0, uint32(int64(start(callee)-here)>>2)))
			word(armPutPage(0x90000001, uint32((target&^0xfff-(here+4)&^0xfff)>>12)))
			word(0xaa0003e0 | uint32(slot)<<16)
			word(armPut(0x91000021, 12, 10, uint32(target&0xfff)))
		}
	}
	for i := range functions * 4 {
		e.data = binary.LittleEndian.AppendUint64(e.data, start(i*7%functions))
	}
	b := e.bytes()
	binary.LittleEndian.PutUint16(b[18:], 183)
	return b
}

// TestARMModuleMoves: as TestModuleMoves, for arm64.
func TestARMModuleMoves(t *testing.T) {
	patch, stats := roundTrip(t, [][]byte{armModule(0)}, [][]byte{armModule(64)})
	if !stats.Predicted || len(patch) > 500 {
		t.Errorf("%d bytes for code that only moved: %+v", len(patch), stats)
	}
}
