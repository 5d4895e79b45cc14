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

// WindowFor returns the smallest window that holds n bytes, but at most limit, as a power of two.
func WindowFor(n, limit int) int {
	return min(max(bits.Len(uint(n)+16), smallestWindow), limit)
}

var errWindow = errors.New("a decoder window above the cap")

// Inflate returns a reader that decodes a brotli stream with by, which may be a used decoder. The first byte of a stream
// declares its window, which is checked before decoding: a window above 2^limit bytes, or brotli's "large window", is rejected.
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

// tooLarge stands for a window above brotli's 16 MiB.
const tooLarge = 99

// windowOf reads the window from a stream's first byte (RFC 7932, section 9.1).
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
