package predict

import "testing"

// TestARMFields: distances and pages come back from where they were put.
func TestARMFields(t *testing.T) {
	for _, v := range []int64{0, 4, -4, 1 << 20, -1 << 20, 1<<27 - 4, -1 << 27} {
		w := armWithField(0x94000000, 26, 0, uint32(v>>2))
		if bits, at := armBranch(w); bits != 26 || armDistance(w, bits, at) != v {
			t.Errorf("BL of %d: %#x", v, w)
		}
	}
	for _, v := range []int64{0, 4, -4, 1<<20 - 4, -1 << 20} {
		for _, op := range []uint32{0x54000003, 0x34000005, 0xb5000007} {
			w := armWithField(op, 19, 5, uint32(v>>2))
			if bits, at := armBranch(w); bits != 19 || armDistance(w, bits, at) != v || w&31 != op&31 {
				t.Errorf("%#x of %d: %#x", op, v, w)
			}
		}
	}
	for _, v := range []int64{0, 1, 3, -1, -4, 1<<20 - 1, -1 << 20} {
		if pages, ok := armPage(armWithPage(0x90000009, uint32(v))); !ok || pages != v {
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
