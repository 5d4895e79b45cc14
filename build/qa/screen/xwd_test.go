package screen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image/color"
	"io"
	"testing"

	"collet/build/qa/screen"
)

// dump makes a window dump of 2 × 2 pixels: header words as given, a name, colours of 12 bytes, then lines.
func dump(change func(words []uint32), lines ...byte) []byte {
	words := []uint32{
		100 + 5, 7, 2, 24, 2, 2, 0, 0, // header size with a name of 5 bytes, version, format, depth, size, offset, byte order
		32, 0, 32, 32, 8, 4, // unit, bit order, pad, bits a pixel, bytes a line, visual
		0xFF0000, 0xFF00, 0xFF, 8, 256, 3, // masks, bits, map entries, colours
		2, 2, 0, 0, 0, // window
	}
	if change != nil {
		change(words)
	}
	data, _ := binary.Append(nil, binary.BigEndian, words)
	data = append(data, "Xvfb\x00"...)
	data = append(data, make([]byte, 3*12)...)
	return append(data, lines...)
}

func TestReadXWD(t *testing.T) {
	red, green, blue, odd := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255}, color.NRGBA{1, 2, 3, 255}
	for name, data := range map[string][]byte{
		"little-endian": dump(nil, 0, 0, 255, 9, 0, 255, 0, 9, 255, 0, 0, 9, 3, 2, 1, 9),
		"big-endian":    dump(func(w []uint32) { w[7] = 1 }, 9, 255, 0, 0, 9, 0, 255, 0, 9, 0, 0, 255, 9, 1, 2, 3),
		"24 bits, padded lines": dump(func(w []uint32) { w[11] = 24 },
			0, 0, 255, 0, 255, 0, 7, 7, 255, 0, 0, 3, 2, 1, 7, 7),
		"other masks": dump(func(w []uint32) { w[14], w[16] = 0xFF, 0xFF0000 },
			255, 0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 0, 1, 2, 3, 0),
	} {
		m, err := screen.ReadXWD(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, want := range []color.NRGBA{red, green, blue, odd} {
			if got := m.NRGBAAt(i%2, i/2); got != want {
				t.Errorf("%s: pixel %d is %v, want %v", name, i, got, want)
			}
		}
	}
}

func TestReadXWDScalesNarrowMasks(t *testing.T) {
	data := dump(func(w []uint32) { w[14], w[15], w[16] = 0xF800, 0x07E0, 0x001F },
		0, 0xF8, 0, 0, 0xE0, 7, 0, 0, 0x1F, 0, 0, 0, 0, 0, 0, 0)
	m, err := screen.ReadXWD(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {0, 0, 0, 255}}
	for i := range want {
		if got := m.NRGBAAt(i%2, i/2); got != want[i] {
			t.Errorf("pixel %d is %v, want %v", i, got, want[i])
		}
	}
}

func TestReadXWDRefuses(t *testing.T) {
	set := func(word int, value uint32) []byte {
		return dump(func(w []uint32) { w[word] = value }, make([]byte, 16)...)
	}
	for name, data := range map[string][]byte{
		"version": set(1, 6), "bitmap format": set(2, 0), "no width": set(4, 0), "huge width": set(4, 1<<31),
		"huge height": set(5, 16385), "8 bits": set(11, 8), "short lines": set(12, 7), "long lines": set(12, 1<<30),
		"byte order": set(7, 2), "short header": set(0, 99), "long header": set(0, 1<<30),
		"many colours": set(19, 1<<28), "no red": set(14, 0), "no green": set(15, 0), "no blue": set(16, 0),
	} {
		var fault *screen.XWDError
		if m, err := screen.ReadXWD(bytes.NewReader(data)); !errors.As(err, &fault) || m != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadXWDTruncated(t *testing.T) {
	whole := dump(nil, make([]byte, 16)...)
	for n := range whole {
		_, err := screen.ReadXWD(bytes.NewReader(whole[:n]))
		if !errors.Is(err, io.ErrUnexpectedEOF) && !(n == 0 && errors.Is(err, io.EOF)) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// A header may announce a gigabyte; memory must grow with the received data only. The fuzzer's memory limit checks that.
func FuzzReadXWD(f *testing.F) {
	f.Add(dump(nil, make([]byte, 16)...))
	f.Add(dump(func(w []uint32) { w[4], w[5], w[12] = 16384, 16384, 65536 }))
	f.Add(dump(func(w []uint32) { w[14], w[15], w[16] = 1, 1<<31, 0xFFFFFFFF }, make([]byte, 16)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := screen.ReadXWD(bytes.NewReader(data))
		if (m == nil) == (err == nil) {
			t.Fatalf("picture %v, error %v", m != nil, err)
		}
		if m != nil && len(m.Pix) > 2*len(data) {
			t.Fatalf("%d bytes of picture out of %d", len(m.Pix), len(data))
		}
	})
}
