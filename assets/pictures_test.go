package assets_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"collet/assets"
)

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func TestSplashPicture(t *testing.T) {
	picture := decode(t, assets.SplashPNG)
	if picture.Bounds() != image.Rect(0, 0, 640, 360) {
		t.Fatalf("bounds are %v", picture.Bounds())
	}
	if _, is := picture.(*image.RGBA); !is {
		t.Errorf("it decodes to %T; only *image.RGBA goes to the screen without being converted", picture)
	}
	for x := range 640 {
		r, g, b, a := picture.At(x, 359).RGBA()
		if got := (color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}); far(got, color.RGBA{0x12, 0x15, 0x1A, 0xFF}) {
			t.Fatalf("the lower edge at %d is %v, not the colour of the panel", x, got)
		}
	}
	if shades := shadesOf(picture); shades < 2000 {
		t.Errorf("only %d different colours", shades)
	}
}

func far(a, b color.RGBA) bool {
	apart := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(apart(a.R, b.R), apart(a.G, b.G), apart(a.B, b.B), apart(a.A, b.A)) > 2
}

func shadesOf(picture image.Image) int {
	shades := map[color.Color]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			shades[picture.At(x, y)] = true
		}
	}
	return len(shades)
}

func TestIconStandsOnNothing(t *testing.T) {
	icon := decode(t, assets.IconPNG)
	if icon.Bounds() != image.Rect(0, 0, 256, 256) {
		t.Fatalf("bounds are %v", icon.Bounds())
	}
	alpha := func(x, y int) uint32 { _, _, _, a := icon.At(x, y).RGBA(); return a }
	if alpha(0, 0) != 0 || alpha(255, 255) != 0 || alpha(128, 128) != 0xFFFF || alpha(60, 128) != 0xFFFF {
		t.Errorf("alpha in the corners is %d and %d, in the middle %d and %d", alpha(0, 0), alpha(255, 255), alpha(128, 128), alpha(60, 128))
	}
}
