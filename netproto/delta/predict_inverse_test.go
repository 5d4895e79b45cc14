package delta

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// codelike is bytes in which references of every kind are frequent.
func codelike(r *rand.Rand, n int, near uint32) []byte {
	b := make([]byte, 0, n+8)
	le := binary.LittleEndian
	for len(b) < n {
		switch v := near + r.Uint32N(1<<13); r.IntN(9) {
		case 0:
			b = le.AppendUint32(append(b, 0xe8), r.Uint32N(1<<13)-1<<12)
		case 1:
			b = le.AppendUint32(append(b, 0x0f, 0x80|byte(r.IntN(16))), r.Uint32N(1<<13)-1<<12)
		case 2:
			b = le.AppendUint32(append(b, 0x48, 0x8b, 0x05), r.Uint32N(1<<14)-1<<13)
		case 3:
			b = le.AppendUint64(b, uint64(v))
		case 4:
			b = le.AppendUint32(b, v-uint32(len(b)))
		case 5:
			b = le.AppendUint32(b, 0x94000000|r.Uint32N(1<<10))
		case 6:
			b = le.AppendUint32(le.AppendUint32(b, 0x90000001|r.Uint32N(4)<<29), 0x91000021|r.Uint32N(1<<12)<<10)
		case 7:
			b = le.AppendUint32(le.AppendUint32(b, 20), uint32(len(b)+4))
		default:
			b = append(b, byte(r.Uint32()))
		}
	}
	return b[:n]
}

// TestPredictionIsAnInverse: whatever the areas, bases, modes and matches are, an applier gets what the maker had, though
// both compute what to expect from bytes that the other never sees.
func TestPredictionIsAnInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const near = 0x1000
		old, fresh := codelike(r, 1+r.IntN(5<<blockBits), near), codelike(r, 1+r.IntN(5<<blockBits), near)
		var matches []match
		for at := r.IntN(500); at < len(fresh); {
			from := r.IntN(len(old))
			size := 1 + r.IntN(min(len(old)-from, len(fresh)-at, 1+r.IntN(9000)))
			if r.IntN(2) == 0 {
				copy(fresh[at:at+size], old[from:])
			}
			matches = append(matches, match{at: uint32(at), size: uint32(size), old: uint32(from)})
			at += size + r.IntN(2)*r.IntN(600)
		}
		s := &modules{old: areasOver(r, len(old), near), new: areasOver(r, len(fresh), near+uint64(r.IntN(3)*64))}
		for range r.IntN(4) {
			s.bases = append(s.bases, base{near + uint64(r.IntN(1<<12)), near + uint64(r.IntN(1<<12))})
		}
		f := &frame{size: len(fresh), matches: matches, flags: flagPredicted}
		f.link()
		p := newPredictor(s, newMoves(matches, int64(len(old))), learnBits)
		p.modes = make([]byte, (len(fresh)-1)>>blockBits+1)
		for i := range p.modes {
			p.modes[i] = []byte{modeOff, modeX86, modeAbs8, modeRel4, modeARM, modeLow36, modeUnwind, byte(modeStep + r.IntN(8)), byte(modeBase + r.IntN(5)), byte(r.Uint32())}[r.IntN(10)]
		}
		f.streams[streamImages], f.streams[streamModes] = s.encode(), p.modes
		m := &maker{old: old, new: fresh}
		m.differences(f, fresh, p)
		var streams [streamCount]coded
		for i, raw := range f.streams {
			streams[i] = coded{raw: len(raw), code: codeStored, data: raw}
		}
		body, _ := f.apart(&streams)
		patch := append(head(len(old), len(fresh)), body...)
		patch = binary.LittleEndian.AppendUint32(patch, crc32.Checksum(fresh, castagnoli))
		got, err := applied(bytes.NewReader(patch), [][]byte{old}, []int64{int64(len(fresh))})
		if err != nil || !bytes.Equal(got[0], fresh) {
			t.Fatalf("%v, or the bytes differ; modes % d", err, p.modes)
		}
	})
}

// areasOver is areas that cover most of some contents.
func areasOver(r *rand.Rand, size int, address uint64) (list []area) {
	for at := 0; at < size; {
		n := min(1+r.IntN(3<<blockBits), size-at)
		list = append(list, area{at: uint32(at), size: uint32(n), memory: uint32(n + r.IntN(2)*50), address: address + uint64(at), code: r.IntN(2) == 0})
		at += n + r.IntN(2)*r.IntN(300)
	}
	return list
}

// TestPredictionHelps: in each mode, what the mode is for is expected better than as plain bytes.
func TestPredictionHelps(t *testing.T) {
	for _, build := range []func(padding int) []byte{module, armModule} {
		a, b := build(0), build(64)
		plain, _ := made(t, [][]byte{append([]byte("x"), a...)}, [][]byte{append([]byte("x"), b...)}) // no module begins at an x
		predicted, stats := made(t, [][]byte{a}, [][]byte{b})
		if !stats.Predicted || len(predicted)*4 > len(plain)*3 {
			t.Errorf("%d bytes with prediction, %d without", len(predicted), len(plain))
		}
	}
}

// TestExpectCallsInOrder: the corrector gets each byte once, in order, whatever the mode.
func TestExpectCallsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	old := codelike(r, 3<<blockBits, 0x1000)
	s := &modules{old: areasOver(r, len(old), 0x1000), new: areasOver(r, len(old), 0x1040), bases: []base{{0x1000, 0x1040}}}
	for mode := range 256 {
		p := newPredictor(s, newMoves([]match{{size: uint32(len(old))}}, int64(len(old))), 8)
		p.modes = bytes.Repeat([]byte{byte(mode)}, 4)
		b := bytes.Clone(old[5:])
		c := &counting{whole: b}
		if err := p.expect(b, 5, 5, c); err != nil || c.done != len(b) {
			t.Errorf("mode %d: %v, %d bytes of %d", mode, err, c.done, len(b))
		}
	}
}

// counting is a corrector that wants the bytes of a piece one behind the other.
type counting struct {
	whole []byte
	done  int
}

func (c *counting) correct(b []byte) error {
	if len(b) == 0 || &b[0] != &c.whole[c.done] {
		return errPlace
	}
	c.done += len(b)
	return nil
}
