package chunk

import (
	"bytes"
	"errors"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
)

// smallestWindow is brotli's smallest usable window, as a power of two.
const smallestWindow = 10

// WindowFor is the smallest window that holds n bytes, or limit.
func WindowFor(n, limit int) int {
	return min(max(bits.Len(uint(n)+16), smallestWindow), limit)
}

var errWindow = errors.New("a decoder window above the cap")

// Inflate reads a brotli stream by a decoder, which may have been used before. The stream's first byte says how large a window
// its decoder will take, and that is checked before the decoder sees it: a window above 2^limit bytes, or brotli's "large
// window", is refused.
func Inflate(by *brotli.Reader, r io.Reader, limit int) (io.Reader, error) {
	var first [1]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return nil, err
	}
	if w := windowOf(first[0]); w > limit {
		return nil, errWindow
	}
	return by, by.Reset(io.MultiReader(bytes.NewReader(first[:]), r))
}

// tooLarge is the window of a stream that asks for more than brotli's 16 MiB.
const tooLarge = 99

// windowOf reads the size of the window from a stream's first byte (RFC 7932, section 9.1).
func windowOf(b byte) int {
	if b&1 == 0 {
		return 16
	}
	if n := b >> 1 & 7; n != 0 {
		return 17 + int(n)
	}
	switch n := b >> 4 & 7; n {
	case 0:
		return 17
	case 1:
		return tooLarge
	default:
		return 8 + int(n)
	}
}
