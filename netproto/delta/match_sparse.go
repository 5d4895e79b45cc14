package delta

import (
	"encoding/binary"
	"math/bits"
)

// sparse finds matches in old contents that are too large for a suffix array: it indexes the position at every stride,
// by a hash of the bytes there. It finds matches longer than about two strides, and takes 512 MiB at most.
type sparse struct {
	text   []byte
	places []uint32 // by hash: the position in strides plus one, or 0
	stride int
	shift  int
}

const (
	largeOld      = 400 << 20 // size of old contents from which a suffix array takes too much memory
	sparsePlaces  = 1 << 26   // indexed positions at most
	smallStride   = 16        // the smallest stride, and the number of hashed bytes
	sparseMinimum = 24        // the shortest useful match
)

func newSparse(text []byte) *sparse {
	s := &sparse{text: text, stride: smallStride}
	for len(text)/s.stride > sparsePlaces {
		s.stride *= 2
	}
	size := bits.Len(uint(len(text)/s.stride)) + 1
	s.places, s.shift = make([]uint32, 1<<size), 64-size
	for i := (len(text) - smallStride) / s.stride; i >= 0; i-- {
		s.places[s.hash(text[i*s.stride:])] = uint32(i) + 1
	}
	return s
}

func (s *sparse) hash(b []byte) uint64 {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return (lo*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(hi*0xc2b2ae3d27d4eb4f, 31)) * 0x9e3779b97f4a7c15 >> s.shift
}

func (s *sparse) nearest(b []byte, _, minimum int) (length, place int) {
	if len(b) < smallStride {
		return 0, 0
	}
	i := s.places[s.hash(b)]
	if i == 0 {
		return 0, 0
	}
	place = int(i-1) * s.stride
	if length = common(b, s.text[place:]); length < max(minimum, sparseMinimum) {
		return 0, 0
	}
	return length, place
}
