package chunk

import (
	"bytes"
	"errors"
	"testing"

	"github.com/andybalholm/brotli"
)

// TestWindows: a stream says the window that was asked for, and the first byte is read as RFC 7932 says.
func TestWindows(t *testing.T) {
	for window := smallestWindow; window <= brotliWindow; window++ {
		object := &bytes.Buffer{}
		b := brotli.NewWriterOptions(object, brotli.WriterOptions{Quality: 5, LGWin: WindowFor(1<<12, window)})
		_, err := b.Write(chunkNoise(1, 1<<12))
		if err = errors.Join(err, b.Close()); err != nil {
			t.Fatal(err)
		}
		if got := windowOf(object.Bytes()[0]); got > window || got < min(window, 12) {
			t.Errorf("window %d: the stream says %d", window, got)
		}
	}
	for b, want := range map[byte]int{0x00: 16, 0x01: 17, 0x03: 18, 0x05: 19, 0x0f: 24, 0x11: tooLarge, 0x21: 10, 0x71: 15} {
		if got := windowOf(b); got != want {
			t.Errorf("%#02x: %d, want %d", b, got, want)
		}
	}
	for n, want := range map[int]int{0: smallestWindow, 1: smallestWindow, 900: 10, 1000: 10, 1 << 12: 13, 1 << 30: 24} {
		if got := WindowFor(n, brotliWindow); got != want {
			t.Errorf("%d bytes: window %d, want %d", n, got, want)
		}
	}
}

// TestInflateAgain: a decoder that was used before, be it for a stream that was damaged, gives the same bytes.
func TestInflateAgain(t *testing.T) {
	var u Unpacker
	text := chunkProse(4, 30_000)
	object, err := brotliOf(text, int64(len(text)), brotliSegment)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		data := object
		if i%2 == 1 {
			data = bytes.Clone(object)
			data[len(data)/2] ^= 0xff
		}
		var out bytes.Buffer
		err := u.Unpack(t.Context(), &out, bytes.NewReader(data), Brotli, int64(len(text)))
		if i%2 == 0 && (err != nil || !bytes.Equal(out.Bytes(), text)) {
			t.Errorf("time %d: %v", i, err)
		}
		if i%2 == 1 && err == nil && bytes.Equal(out.Bytes(), text) {
			t.Error("the damage changes nothing, so this shows nothing")
		}
	}
}
