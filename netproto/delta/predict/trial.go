package predict

import (
	"bytes"
	"math/bits"
)

// trialBits is the table size of a predictor while modes are tried, as a power of two: many predictors exist then.
const trialBits = 15

// correctionBitsFor is the table size for contents of n bytes: not more than they can hold references.
func correctionBitsFor(n int) int { return min(trialBits, bits.Len(uint(n/4))) }

// mismatches counts the mismatches of a mode.
type mismatches struct {
	want []byte
	cost int
}

// Correct counts one for each mismatch, and one more for the first of a run.
func (v *mismatches) Correct(b []byte) error {
	run := false
	for i := range b {
		if b[i] != v.want[i] {
			v.cost++
			if !run {
				v.cost++
			}
			run = true
		} else {
			run = false
		}
	}
	copy(b, v.want)
	v.want = v.want[len(b):]
	return nil
}

// Trial tries the kinds of references, the modes, on blocks. Each mode has a predictor with its own corrections.
type Trial struct {
	old, fresh []byte
	modes      []byte
	code       byte
	by         map[byte]*Predictor
	b          []byte
}

// NewTrial makes a trial for the new contents of a frame.
func NewTrial(old []byte, s *Modules, offsets *OffsetMap, fresh []byte) *Trial {
	t := &Trial{old: old, fresh: fresh, by: map[byte]*Predictor{}, code: modeX86}
	switch s.machine {
	case machineARM:
		t.code = modeARM
	case machineWASM:
		t.code = modeWASM
		t.modes = append(t.modes, modeSegments)
	}
	t.modes = append(t.modes, modeOff, t.code, modeAbs8, modeRel4, modeUnwind, modeLow36)
	for k := range 8 {
		t.modes = append(t.modes, byte(modeStep+k))
	}
	for k := range s.bases {
		t.modes = append(t.modes, byte(modeBase+k))
	}
	for _, mode := range t.modes {
		modes := bytes.Repeat([]byte{mode}, (len(fresh)-1)>>BlockBits+1)
		t.by[mode] = newPredictor(s, offsets, modes, correctionBitsFor(len(fresh)))
	}
	return t
}

// Best is the mode with the fewest mismatches in a block. rest begins with the first match that reaches into it.
func (t *Trial) Best(block int, rest []Match) byte {
	from := uint32(block) << BlockBits
	to := min(from+1<<BlockBits, uint32(len(t.fresh)))
	best, least := byte(modeOff), 1<<30
	for _, mode := range t.modes {
		v := mismatches{}
		for _, x := range rest {
			a, b := max(x.At, from), min(x.End(), to)
			if a >= b {
				break
			}
			o := x.Old + (a - x.At)
			t.b = append(t.b[:0], t.old[o:o+b-a]...)
			v.want = t.fresh[a:b]
			_ = t.by[mode].Predict(t.b, o, a, &v)
		}
		if v.cost < least {
			best, least = mode, v.cost
		}
		if least == 0 {
			break
		}
	}
	return best
}
