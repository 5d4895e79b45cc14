package demo

import (
	"bytes"
	"encoding/binary"
	"image"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/font/basicfont"
)

// editions are both releases.
func editions() []edition { return []edition{edition1(), edition2()} }

func TestAtlasLosesNothingOfTheFont(t *testing.T) {
	for _, e := range editions() {
		m, size := atlas(e.face), cell(e.face)
		if m.Bounds() != image.Rect(0, 0, 16*size.X, 6*size.Y) {
			t.Fatalf("release %d: atlas of %v for cells of %v", e.number, m.Bounds(), size)
		}
		for r := rune(32); r <= 126; r++ {
			i := int(r - 32)
			corner := image.Pt(i%16*size.X, i/16*size.Y)
			drawn, inFont := white(m.SubImage(image.Rectangle{corner, corner.Add(size)}).(*image.NRGBA)), ink(e.face, r)
			if drawn != inFont || (drawn == 0) != (r == ' ') {
				t.Errorf("release %d: %q has %d pixels, %d in the font", e.number, r, drawn, inFont)
			}
		}
	}
}

func white(m *image.NRGBA) (n int) {
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			if c := m.NRGBAAt(x, y); c != transparent && c.G == 0xFF {
				n++
			}
		}
	}
	return n
}

// ink counts the pixels of a character over the whole width that the font has for it.
func ink(face *basicfont.Face, r rune) (n int) {
	for y := range face.Ascent + face.Descent {
		for x := range face.Width {
			if inked(face, r, x, y) {
				n++
			}
		}
	}
	return n
}

func TestSpritesAreWhatTheGameReads(t *testing.T) {
	for _, e := range editions() {
		for name, m := range map[string]*image.NRGBA{"player": sprite(playerSize, e.player), "item": sprite(itemSize, e.item)} {
			if m.Bounds().Dx() > 128 || m.Bounds().Dy() > 128 {
				t.Errorf("release %d: %s of %v, the game takes 128 × 128", e.number, name, m.Bounds())
			}
			holes := 0
			for i := 0; i < len(m.Pix); i += 4 {
				if m.Pix[i+3] != 0xFF {
					t.Fatalf("release %d: %s is not opaque", e.number, name)
				}
				if m.Pix[i] == 0xFF && m.Pix[i+1] == 0 && m.Pix[i+2] == 0xFF {
					holes++
				}
			}
			if all := len(m.Pix) / 4; holes < all/10 || holes > all*2/3 {
				t.Errorf("release %d: %d of %d pixels of %s are transparent", e.number, holes, all, name)
			}
		}
	}
}

func TestBMPIsOfTheSimplestKind(t *testing.T) {
	m := sprite(itemSize, gear)
	data := encodeBMP(m)
	le := binary.LittleEndian
	if header, depth, compression := le.Uint32(data[14:]), le.Uint16(data[28:]), le.Uint32(data[30:]); header != 40 || depth != 24 || compression != 0 {
		t.Errorf("header of %d bytes, %d bits a pixel, compression %d", header, depth, compression)
	}
	if height := int32(le.Uint32(data[22:])); height != itemSize {
		t.Errorf("height %d; a negative one would be top-down", height)
	}
	read, err := bmp.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for y := range itemSize {
		for x := range itemSize {
			r, g, b, _ := read.At(x, y).RGBA()
			if c := m.NRGBAAt(x, y); uint8(r>>8) != c.R || uint8(g>>8) != c.G || uint8(b>>8) != c.B {
				t.Fatalf("pixel %d, %d is %v after reading, was %v", x, y, read.At(x, y), c)
			}
		}
	}
}

func TestColoursStayOpaque(t *testing.T) {
	if c := (shade{1, 0, 1}).colour(); c == transparent {
		t.Error("a drawn pixel has the transparent colour")
	}
	if c := (shade{7, -1, 0.5}).colour(); c.R != 255 || c.G != 0 || c.B != 128 || c.A != 255 {
		t.Errorf("%v", c)
	}
}
