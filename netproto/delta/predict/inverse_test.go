package predict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// codelike is bytes in which references of every kind are frequent.
func codelike(r *rand.Rand, n int, near uint32) []byte {
	b := make([]byte, 0, n+8)
	le := binary.LittleEndian
	for len(b) < n {
		switch v := near + r.Uint32N(1<<13); r.IntN(11) {
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
		case 8:
			b = append(append(b, []byte{wasmCall, wasmConst32, wasmConst64}[r.IntN(3)]), leb(int64(v)<<r.IntN(9), true)...)
		case 9:
			b = append(append(append(b, wasmConst32), leb(int64(v), true)...), wasmEnd, byte(r.IntN(40)))
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
		old, fresh := codelike(r, 1+r.IntN(5<<BlockBits), near), codelike(r, 1+r.IntN(5<<BlockBits), near)
		var matches []Match
		for at := r.IntN(500); at < len(fresh); {
			from := r.IntN(len(old))
			size := 1 + r.IntN(min(len(old)-from, len(fresh)-at, 1+r.IntN(9000)))
			if r.IntN(2) == 0 {
				copy(fresh[at:at+size], old[from:])
			}
			matches = append(matches, Match{At: uint32(at), Size: uint32(size), Old: uint32(from)})
			at += size + r.IntN(2)*r.IntN(600)
		}
		s := &Modules{Old: areasOver(r, len(old), near), New: areasOver(r, len(fresh), near+uint64(r.IntN(3)*64))}
		for range r.IntN(4) {
			s.bases = append(s.bases, base{near + uint64(r.IntN(1<<12)), near + uint64(r.IntN(1<<12))})
		}
		modes := make([]byte, (len(fresh)-1)>>BlockBits+1)
		for i := range modes {
			modes[i] = []byte{modeOff, modeX86, modeAbs8, modeRel4, modeARM, modeLow36, modeUnwind, modeWASM, modeSegments, byte(modeStep + r.IntN(8)), byte(modeBase + r.IntN(5)), byte(r.Uint32())}[r.IntN(12)]
		}
		read, err := ReadModules(bytes.NewReader(s.Encode()), int64(len(old)), int64(len(fresh)))
		if err != nil {
			t.Fatal(err)
		}
		maker := NewPredictor(s, NewOffsetMap(matches, int64(len(old))), modes)
		applier := NewPredictor(read, NewOffsetMap(matches, int64(len(old))), modes)
		var d differences
		for _, m := range matches {
			b := bytes.Clone(old[m.Old:m.OldEnd()])
			if err := maker.Predict(b, m.Old, m.At, &recorder{&d, fresh[m.At:m.End()]}); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range matches {
			b := bytes.Clone(old[m.Old:m.OldEnd()])
			if err := applier.Predict(b, m.Old, m.At, &d); err != nil || !bytes.Equal(b, fresh[m.At:m.End()]) {
				t.Fatalf("%v, or the bytes of %+v differ; modes % d", err, m, modes)
			}
		}
	})
}

// recorder is a maker's corrector: it records what to add to the expected bytes.
type recorder struct {
	d    *differences
	real []byte
}

func (r *recorder) Correct(b []byte) error {
	for i, v := range b {
		*r.d = append(*r.d, r.real[i]-v)
	}
	r.real = r.real[copy(b, r.real):]
	return nil
}

// differences is an applier's corrector: it adds what a recorder recorded.
type differences []byte

func (d *differences) Correct(b []byte) error {
	for i := range b {
		b[i] += (*d)[i]
	}
	*d = (*d)[len(b):]
	return nil
}

// areasOver is areas that cover most of some contents.
func areasOver(r *rand.Rand, size int, address uint64) (list []Area) {
	for at := 0; at < size; {
		n := min(1+r.IntN(3<<BlockBits), size-at)
		list = append(list, Area{At: uint32(at), Size: uint32(n), Memory: uint32(n + r.IntN(2)*50), Address: address + uint64(at), Code: r.IntN(2) == 0})
		at += n + r.IntN(2)*r.IntN(300)
	}
	return list
}

// TestExpectCallsInOrder: the corrector gets each byte once, in order, whatever the mode.
func TestExpectCallsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	old := codelike(r, 3<<BlockBits, 0x1000)
	s := &Modules{Old: areasOver(r, len(old), 0x1000), New: areasOver(r, len(old), 0x1040), bases: []base{{0x1000, 0x1040}}}
	for mode := range 256 {
		p := newPredictor(s, NewOffsetMap([]Match{{Size: uint32(len(old))}}, int64(len(old))), bytes.Repeat([]byte{byte(mode)}, 4), 8)
		b := bytes.Clone(old[5:])
		c := &counting{whole: b}
		if err := p.Predict(b, 5, 5, c); err != nil || c.done != len(b) {
			t.Errorf("mode %d: %v, %d bytes of %d", mode, err, c.done, len(b))
		}
	}
}

// counting is a corrector that wants the bytes of a piece one behind the other.
type counting struct {
	whole []byte
	done  int
}

func (c *counting) Correct(b []byte) error {
	if len(b) == 0 || &b[0] != &c.whole[c.done] {
		return errors.New("not the next bytes")
	}
	c.done += len(b)
	return nil
}
