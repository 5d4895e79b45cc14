package predict

import (
	"testing"

	"pgregory.net/rapid"
)

// plainCorrections is the correction cache as the format defines it, without the shortcut.
type plainCorrections struct {
	from [1 << 6]uint64
	move [1 << 6]int32
}

func (p *plainCorrections) place(old uint64) int { return int(old * 0x9e3779b97f4a7c15 >> (64 - 6)) }

func (p *plainCorrections) record(old, real uint64) {
	if move := int64(real - old); move >= -1<<31 && move < 1<<31 {
		p.from[p.place(old)], p.move[p.place(old)] = old, int32(move)
	}
}

func (p *plainCorrections) find(old uint64) (uint64, bool) {
	if p.from[p.place(old)] != old {
		return 0, false
	}
	return old + uint64(int64(p.move[p.place(old)])), true
}

// TestCorrections: the table equals the plain one for any entries, also when entries replace each other.
func TestCorrections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64(), rapid.Uint64Range(0x400000, 0x400100))
		l, p := newCorrections(6), &plainCorrections{}
		for range rapid.IntRange(0, 200).Draw(t, "entries") {
			old := address.Draw(t, "old")
			real := old + uint64(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "move"))
			l.record(old, real)
			p.record(old, real)
			for _, ask := range []uint64{old, address.Draw(t, "ask"), 0} {
				got, known := l.find(ask)
				want, wanted := p.find(ask)
				if known != wanted || known && got != want {
					t.Fatalf("%#x: %#x, %v, want %#x, %v", ask, got, known, want, wanted)
				}
			}
		}
	})
}

// TestCorrectionsAtTheirEdges: address 0 keeps its displacement until its slot is reused; too large displacements are not stored.
func TestCorrectionsAtTheirEdges(t *testing.T) {
	l := newCorrections(CorrectionBits)
	if to, known := l.find(0); !known || to != 0 {
		t.Errorf("address 0 went to %#x, %v", to, known)
	}
	l.record(0, 0x1000)
	if to, known := l.find(0); !known || to != 0x1000 {
		t.Errorf("address 0 was recorded at 0x1000 and went to %#x, %v", to, known)
	}
	for _, c := range []struct {
		old, real uint64
		recorded  bool
	}{
		{0x5000, 0x5000, true}, {0x5008, 0x5008 + 1<<31 - 1, true}, {0x5010, 0x5010 + 1<<31, false},
		{1 << 40, 1<<40 - 1<<31, true}, {1<<40 + 8, 1<<40 + 8 - 1<<31 - 1, false}, {5, ^uint64(0), true}, {^uint64(0), 5, true},
	} {
		l.record(c.old, c.real)
		if to, known := l.find(c.old); known != c.recorded || known && to != c.real {
			t.Errorf("%#x to %#x: %#x, %v", c.old, c.real, to, known)
		}
	}
	none := newCorrections(0)
	none.record(7, 9)
	if to, known := none.find(7); !known || to != 9 {
		t.Errorf("a table of one place: %#x, %v", to, known)
	}
	if _, known := none.find(8); known {
		t.Error("a table of one place knows an address that was not recorded")
	}
}

// TestCorrectionBitsFor: small contents take small tables, and none takes more than a trial may.
func TestCorrectionBitsFor(t *testing.T) {
	for n, want := range map[int]int{0: 0, 3: 0, 4: 1, 4096: 11, 128 << 10: trialBits, 1 << 30: trialBits} {
		if got := correctionBitsFor(n); got != want {
			t.Errorf("%d bytes: %d bits, want %d", n, got, want)
		}
	}
}
