package solid

import "fmt"

const (
	// MaxGroup is the largest size of a group's contents in bytes. A match reaches as far back.
	MaxGroup = 128 << 20
	// MaxFrame is the largest number of contents' bytes that one frame describes.
	MaxFrame = 16 << 20
	// maxMatches is the largest number of matches of a frame. An encoder makes far fewer: but for the ends of a frame, each has minRepeat bytes.
	maxMatches = MaxFrame / 16
	// MaxPart is the largest size of a part in bytes: incompressible contents of a group, and the overhead of their frames.
	MaxPart = MaxGroup + MaxGroup/64
)

// The streams of a frame, in the order of the format.
const (
	gapStream     = 0 // for each match: the bytes since the match before, which are literals
	sizeStream    = 1 // for each match: its size
	shiftStream   = 2 // for each match: its shift, see shifts
	literalStream = 3 // the bytes outside matches
	streams       = 4
)

// windows are the largest windows of the streams, as powers of two.
var windows = [streams]int{20, 20, 20, 24}

// Codes of a stream's bytes in a frame. The numbers are stored and never change.
const (
	codeStored = 0 // as they are
	codeBrotli = 1 // the next bytes of the group's brotli stream for this stream
)

// Error says that parts or an index are invalid: truncated, damaged or hostile. It is the peer's fault.
type Error struct {
	What string // the fault, in words
	Err  error  // of a decoder, or nil
}

func (e *Error) Error() string {
	text := "solid form: " + e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

func fault(format string, values ...any) error { return &Error{What: fmt.Sprintf(format, values...)} }

// recentShifts is how many distinct shifts are coded by their number.
const recentShifts = 16

// shifts are the last distinct shifts of matches, the newest first. A shift is the distance in bytes between a match and its earlier copy.
type shifts [recentShifts]int

// use moves a shift to the front. at is its place, or recentShifts if it is new.
func (s *shifts) use(at, shift int) {
	copy(s[1:min(at+1, recentShifts)], s[:])
	s[0] = shift
}

// find is the place of a shift; recentShifts if it is new.
func (s *shifts) find(shift int) int {
	for i, old := range s {
		if old == shift {
			return i
		}
	}
	return recentShifts
}

// encode is the number that stands for a shift: its place ·2 + 1, or for a new one its folded difference to the newest ·2.
func (s *shifts) encode(shift int) uint64 {
	at := s.find(shift)
	v := uint64(at)<<1 | 1
	if at == recentShifts {
		v = signed(int64(shift-s[0])) << 1
	}
	s.use(at, shift)
	return v
}

// decode is the inverse of encode. The result is untrusted.
func (s *shifts) decode(v uint64) (shift int, known bool) {
	at := recentShifts
	if v&1 == 0 {
		if v>>1 > 4*MaxGroup {
			return 0, false
		}
		shift = s[0] + int(unsigned(v>>1))
	} else {
		if v>>1 >= recentShifts {
			return 0, false
		}
		at = int(v >> 1)
		shift = s[at]
	}
	s.use(at, shift)
	return shift, true
}

// signed folds a signed number into an unsigned one; numbers near zero stay small.
func signed(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unsigned(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
