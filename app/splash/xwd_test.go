package splash

import (
	"encoding/binary"
	"errors"
	"image"
	"os"
	"testing"
)

// readXWD reads a screen from the file of Xvfb's -fbdir: the X window dump format, version 7. A header of big-endian 32-bit
// numbers and a table of colours precede the pixels, here of 32 bits each.
func readXWD(file string) (*image.RGBA, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(data) < 100 {
		return nil, errors.New("shorter than its header")
	}
	field := func(n int) int { return int(binary.BigEndian.Uint32(data[4*n:])) }
	headerSize, version, width, height := field(0), field(1), field(4), field(5)
	bits, stride, colours := field(11), field(12), field(19)
	start := headerSize + colours*12
	if version != 7 || bits != 32 || stride < width*4 || len(data) < start+stride*height {
		return nil, errors.New("not a screen of 32 bits in version 7")
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			from, to := data[start+y*stride+x*4:], picture.Pix[picture.PixOffset(x, y):]
			to[0], to[1], to[2], to[3] = from[2], from[1], from[0], 0xFF
		}
	}
	return picture, nil
}

func TestReadXWD(t *testing.T) {
	file := t.TempDir() + "/screen"
	var data []byte
	header := make([]uint32, 25)
	header[0], header[1], header[4], header[5], header[11], header[12], header[19] = 104, 7, 2, 1, 32, 12, 1
	for _, n := range header {
		data = binary.BigEndian.AppendUint32(data, n)
	}
	data = append(data, "name"...)                                      // rest of the header
	data = append(data, make([]byte, 12)...)                            // one colour
	data = append(data, 1, 2, 3, 0, 4, 5, 6, 0, 0xEE, 0xEE, 0xEE, 0xEE) // two pixels and padding
	save(t, file, string(data))
	picture, err := readXWD(file)
	if err != nil || picture.Bounds() != image.Rect(0, 0, 2, 1) {
		t.Fatalf("%v, %v", picture, err)
	}
	if want := []uint8{3, 2, 1, 255, 6, 5, 4, 255}; string(picture.Pix) != string(want) {
		t.Errorf("pixels are %v, want %v", picture.Pix, want)
	}
	for _, length := range []int{0, 99, len(data) - 1} {
		save(t, file, string(data[:length]))
		if _, err := readXWD(file); err == nil {
			t.Errorf("%d bytes of it are taken for a screen", length)
		}
	}
}
