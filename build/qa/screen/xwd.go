package screen

import (
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"math/bits"
)

// The layout of an X window dump, version 7, as X.Org's XWDFile.h states it: 25 big-endian words, a name up to the header
// size, 12 bytes for each colour of the map, then the lines of the picture.
const (
	xwdVersion    = 7
	xwdWords      = 25
	xwdColourSize = 12
	xwdZPixmap    = 2
	// maxXWDSide is the longest side in pixels, larger than any screen a test makes; it bounds the memory to 1 GiB.
	maxXWDSide = 16384
	// maxXWDSkip bounds in bytes what lies between the words and the picture.
	maxXWDSkip = 1 << 20
	// maxXWDRead limits the bytes of one read, so that a false header costs no memory.
	maxXWDRead = 1 << 20
)

// XWDError says what is wrong with a window dump.
type XWDError struct{ Reason string }

func (e *XWDError) Error() string { return "xwd: " + e.Reason }

// xwdHeader is the part of the header that matters, in the order of the file.
type xwdHeader struct {
	HeaderSize, Version, Format, Depth, Width, Height, XOffset, ByteOrder     uint32
	BitmapUnit, BitmapBitOrder, BitmapPad, BitsPerPixel, BytesPerLine, Visual uint32
	Red, Green, Blue, BitsPerRGB, MapEntries, Colours                         uint32
	WindowWidth, WindowHeight, WindowX, WindowY, Border                       uint32
}

// XWDLines reads the header of a window dump, and returns where its picture begins, the size of a line in bytes, and the number of lines.
// Errors are *XWDError or come from r.
func XWDLines(r io.Reader) (offset int64, size, count int, err error) {
	h, err := readHeader(r)
	return 4*xwdWords + h.skip(), int(h.BytesPerLine), int(h.Height), err
}

func readHeader(r io.Reader) (h xwdHeader, err error) {
	if err := binary.Read(r, binary.BigEndian, &h); err != nil {
		return h, fmt.Errorf("xwd: header: %w", err)
	}
	if reason := h.fault(); reason != "" {
		return h, &XWDError{reason}
	}
	return h, nil
}

// ReadXWD reads a window dump of 24 or 32 bits a pixel with colour masks, which is what a virtual X server of depth 24
// writes. The picture is opaque. Errors are *XWDError or come from r.
func ReadXWD(r io.Reader) (*image.NRGBA, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, h.skip()); err != nil {
		return nil, fmt.Errorf("xwd: colours: %w", unexpected(err))
	}
	lines, err := readGrowing(r, int(h.BytesPerLine)*int(h.Height))
	if err != nil {
		return nil, fmt.Errorf("xwd: picture: %w", unexpected(err))
	}
	return h.picture(lines), nil
}

// skip returns the number of bytes between the words and the picture.
func (h *xwdHeader) skip() int64 {
	return int64(h.HeaderSize) - 4*xwdWords + xwdColourSize*int64(h.Colours)
}

func (h *xwdHeader) fault() string {
	switch {
	case h.Version != xwdVersion:
		return fmt.Sprintf("version %d, want %d", h.Version, xwdVersion)
	case h.Format != xwdZPixmap:
		return fmt.Sprintf("pixmap format %d, want %d", h.Format, xwdZPixmap)
	case h.Width == 0 || h.Height == 0 || h.Width > maxXWDSide || h.Height > maxXWDSide:
		return fmt.Sprintf("%d × %d pixels", h.Width, h.Height)
	case h.BitsPerPixel != 24 && h.BitsPerPixel != 32:
		return fmt.Sprintf("%d bits a pixel, want 24 or 32", h.BitsPerPixel)
	case h.BytesPerLine < h.Width*h.BitsPerPixel/8 || h.BytesPerLine > 4*maxXWDSide:
		return fmt.Sprintf("%d bytes a line for %d pixels", h.BytesPerLine, h.Width)
	case h.ByteOrder > 1:
		return fmt.Sprintf("byte order %d", h.ByteOrder)
	case h.HeaderSize < 4*xwdWords || h.skip() > maxXWDSkip:
		return fmt.Sprintf("header of %d bytes with %d colours", h.HeaderSize, h.Colours)
	case h.Red == 0 || h.Green == 0 || h.Blue == 0:
		return "no colour masks"
	}
	return ""
}

func (h *xwdHeader) picture(lines []byte) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, int(h.Width), int(h.Height)))
	red, green, blue := newChannel(h.Red), newChannel(h.Green), newChannel(h.Blue)
	step := int(h.BitsPerPixel / 8)
	for y := range int(h.Height) {
		line, out := lines[y*int(h.BytesPerLine):], m.Pix[y*m.Stride:]
		for x := range int(h.Width) {
			value := pixel(line[x*step:x*step+step], h.ByteOrder == 1)
			out[4*x], out[4*x+1], out[4*x+2], out[4*x+3] = red.of(value), green.of(value), blue.of(value), 0xFF
		}
	}
	return m
}

// pixel assembles 3 or 4 bytes.
func pixel(b []byte, bigEndian bool) (value uint32) {
	for i := range b {
		if bigEndian {
			value = value<<8 | uint32(b[i])
		} else {
			value |= uint32(b[i]) << (8 * i)
		}
	}
	return value
}

// channel extracts one colour of a pixel.
type channel struct {
	mask  uint32
	shift int
	max   uint64
}

func newChannel(mask uint32) channel {
	shift := bits.TrailingZeros32(mask)
	return channel{mask: mask, shift: shift, max: uint64(mask >> shift)}
}

// of scales the colour to 0…255.
func (c channel) of(pixel uint32) uint8 {
	return uint8(uint64(pixel&c.mask>>c.shift) * 255 / c.max)
}

// readGrowing reads exactly n bytes. Its memory grows with the received data.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	var data []byte
	for len(data) < n {
		from := len(data)
		data = append(data, make([]byte, min(n-from, maxXWDRead))...)
		if _, err := io.ReadFull(r, data[from:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// unexpected converts io.EOF to io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
