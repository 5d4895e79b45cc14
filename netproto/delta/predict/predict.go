package predict

import "encoding/binary"

// Modes of a block of new contents. The numbers are stored in patches and never change.
const (
	modeOff      = 0  // old bytes unchanged
	modeX86      = 1  // x86-64 code: branches, and operands relative to the instruction pointer
	modeAbs8     = 2  // aligned 8-byte addresses
	modeRel4     = 3  // aligned 4-byte distances from their own address
	modeARM      = 4  // arm64 code
	modeLow36    = 6  // aligned 8-byte words whose lower 36 bits are distances from base 0
	modeUnwind   = 5  // records of .eh_frame
	modeWASM     = 7  // WebAssembly code
	modeStep     = 8  // 8 + k: aligned 4-byte numbers that change like the number 4<<k bytes before them, k from 0 to 7
	modeSegments = 16 // segments of WebAssembly data
	modeBase     = 32 // 32 + k: aligned 4-byte distances from base k
)

const (
	BlockBits      = 12      // a block is 4 KiB
	MaxBases       = 64      // bases in a patch
	MaxAreas       = 1 << 11 // areas in a patch, old and new each
	CorrectionBits = 18      // table entries for targets that the matches map wrongly: 16 bytes each, 4 MiB
)

// Corrector turns expected bytes of the new contents into the real ones, in place. It is called once for every byte, in order.
type Corrector interface {
	Correct(b []byte) error
}

// base is an address that tables are relative to, in the old and in the new contents.
type base struct{ old, new uint64 }

// Predictor predicts the references of one frame.
type Predictor struct {
	old, new    addresses
	offsets     *OffsetMap
	modes       []byte // by block of the frame
	bases       []base
	corrections corrections
	functions   shiftMap // WebAssembly: numbers of functions in calls
	words       shiftMap // WebAssembly: constants in code, addresses of segments, words in data
}

// NewPredictor makes the predictor of a frame. modes has the mode of each block.
func NewPredictor(s *Modules, offsets *OffsetMap, modes []byte) *Predictor {
	return newPredictor(s, offsets, modes, CorrectionBits)
}

func newPredictor(s *Modules, offsets *OffsetMap, modes []byte, bits int) *Predictor {
	return &Predictor{
		old: newAddresses(s.Old), new: newAddresses(s.New), offsets: offsets, modes: modes, bases: s.bases, corrections: newCorrections(bits),
	}
}

// Predict turns old bytes into the real new ones. b holds the old bytes from offset old on, which a match copies to
// offset at of the frame. Both sides cut it into pieces at the same offsets, and no reference is predicted across a cut.
func (p *Predictor) Predict(b []byte, old, at uint32, c Corrector) error {
	w := predictionWalk{p: p, b: b, old: old, at: at, c: c}
	for w.done < len(b) {
		block := (at + uint32(w.done)) >> BlockBits
		end := min(len(b), int((block+1)<<BlockBits-at))
		mode := byte(modeOff)
		if int(block) < len(p.modes) {
			mode = p.modes[block]
		}
		if err := w.predictBlock(mode, end); err != nil {
			return err
		}
	}
	return nil
}

// predictionWalk is the state of one piece during prediction.
type predictionWalk struct {
	p       *Predictor
	b       []byte
	old, at uint32
	done    int // bytes that are corrected
	c       Corrector
}

// correctTo corrects the bytes up to i.
func (w *predictionWalk) correctTo(i int) error {
	if i <= w.done {
		return nil
	}
	b := w.b[w.done:i]
	w.done = i
	return w.c.Correct(b)
}

// predictBlock predicts from w.done to end, and slightly beyond if a reference crosses the end.
func (w *predictionWalk) predictBlock(mode byte, end int) error {
	oldAt, ok1 := w.p.old.address(w.old + uint32(w.done))
	newAt, ok2 := w.p.new.address(w.at + uint32(w.done))
	if !ok1 || !ok2 {
		return w.correctTo(end)
	}
	oldAt, newAt = oldAt-uint64(w.done), newAt-uint64(w.done) // of b[0]
	var err error
	switch {
	case mode == modeX86:
		err = w.predictX86(end, oldAt, newAt)
	case mode == modeARM:
		err = w.predictARM(end, oldAt, newAt)
	case mode == modeAbs8:
		err = w.predictAbsolute(end, 0)
	case mode == modeLow36 && len(w.p.bases) > 0:
		err = w.predictAbsolute(end, 36)
	case mode == modeRel4:
		err = w.predictRelative(end, oldAt, newAt)
	case mode == modeUnwind:
		err = w.predictUnwind(end, oldAt, newAt)
	case mode == modeWASM:
		err = w.predictWASM(end)
	case mode >= modeStep && mode < modeStep+8:
		err = w.predictSteps(end, 4<<(mode-modeStep))
	case mode == modeSegments:
		err = w.predictSegments(end)
	case mode >= modeBase && int(mode-modeBase) < len(w.p.bases):
		err = w.predictBased(end, w.p.bases[mode-modeBase])
	}
	if err != nil {
		return err
	}
	return w.correctTo(end)
}

// newAddress is the new address of an old one.
func (p *Predictor) newAddress(old uint64) (uint64, bool) {
	a, ok := p.old.find(old)
	if !ok {
		return 0, false
	}
	return p.newAddressIn(a, old)
}

// newAddressIn is the new address of an old one in area a, the area found last.
func (p *Predictor) newAddressIn(a *Area, old uint64) (uint64, bool) {
	if to, ok := p.corrections.find(old); ok {
		return to, true
	}
	off := old - a.Address
	if off >= uint64(a.Size) {
		return p.newAddressBeyond(a, old)
	}
	to, ok := p.offsets.newOffset(a.At + uint32(off))
	if !ok {
		return 0, false
	}
	return p.new.address(to)
}

// newAddressBeyond is the new address of an old one in zero-filled memory: at the same distance from the end of the file's part.
func (p *Predictor) newAddressBeyond(a *Area, old uint64) (uint64, bool) {
	if a.Size == 0 || len(p.old.byAddress) != len(p.new.byAddress) {
		return 0, false
	}
	n := &p.new.byAddress[p.old.last]
	return old - a.Address - uint64(a.Size) + n.Address + uint64(n.Size), true
}

// predictField predicts the number at b[i] as a distance from old address from to a target, which becomes a distance from new
// address to. It returns false and does nothing if there is no such target.
func (w *predictionWalk) predictField(i int, from, to uint64) (bool, error) {
	f := w.b[i : i+4]
	old := from + uint64(int64(int32(binary.LittleEndian.Uint32(f))))
	a, ok := w.p.old.find(old)
	if !ok {
		return false, nil
	}
	return w.predictFieldIn(a, i, old, to)
}

// predictFieldIn is field4 for a target whose area has just been found.
func (w *predictionWalk) predictFieldIn(a *Area, i int, old, to uint64) (bool, error) {
	target, ok := w.p.newAddressIn(a, old)
	if !ok {
		return false, nil
	}
	f := w.b[i : i+4]
	expected := uint32(target - to)
	binary.LittleEndian.PutUint32(f, expected)
	if err := w.correctTo(i + 4); err != nil {
		return false, err
	}
	if real := binary.LittleEndian.Uint32(f); real != expected {
		w.p.corrections.record(old, to+uint64(int64(int32(real))))
	}
	return true, nil
}

// aligned is the first index from i on whose offset in the new contents is a multiple of n.
func (w *predictionWalk) aligned(i int, n uint32) int { return i + int(-(w.at+uint32(i))&(n-1)) }
