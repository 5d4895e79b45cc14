package icon_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack/icon"
)

// paint writes a picture, its left half red and its right half clear.
func paint(t *testing.T, width, height int) string {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width / 2 {
			picture.Set(x, y, color.NRGBA{R: 200, A: 255})
		}
	}
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "icon.png")
	if err := os.WriteFile(name, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestScale(t *testing.T) {
	name := paint(t, 300, 300)
	pictures, err := icon.Scale(name, 16, 256, 300, 512)
	if err != nil || len(pictures) != 3 {
		t.Fatalf("%d pictures, %v; want three: 512 would be enlarged", len(pictures), err)
	}
	again, err := icon.Scale(name, 16, 256, 300, 512)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{16, 256, 300} {
		picture, err := png.Decode(bytes.NewReader(pictures[i].PNG))
		if err != nil || pictures[i].Side != want || picture.Bounds() != image.Rect(0, 0, want, want) {
			t.Errorf("picture %d: side %d, %v, %v", i, pictures[i].Side, picture.Bounds(), err)
		}
		left, right := color.NRGBAModel.Convert(picture.At(want/4, want/2)), color.NRGBAModel.Convert(picture.At(want-2, want/2))
		if left != (color.NRGBA{R: 200, A: 255}) || right.(color.NRGBA).A != 0 {
			t.Errorf("side %d: left %v, right %v", want, left, right)
		}
		if !bytes.Equal(pictures[i].PNG, again[i].PNG) {
			t.Errorf("side %d: other bytes the second time", want)
		}
	}
}

func TestScaleRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "icon.png")
	if err := os.WriteFile(text, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		paint(t, 300, 299): "300 by 299", paint(t, 255, 255): "want a square of 256", text: "png", filepath.Join(t.TempDir(), "none"): "no such file",
	} {
		if _, err := icon.Scale(name, 16); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v; want %q and the name", err, want)
		}
	}
}

// TestFit makes icons of small, large and oblong pictures.
func TestFit(t *testing.T) {
	for _, test := range []struct{ width, height, side int }{
		{48, 48, 256}, {300, 300, 300}, {64, 32, 256}, {16, 500, 500}, {15, 300, 0}, {icon.MaxSide + 1, 20, 0},
	} {
		picture := image.NewNRGBA(image.Rect(0, 0, test.width, test.height))
		for i := range picture.Pix {
			picture.Pix[i] = 255
		}
		data, err := icon.Fit(picture)
		if test.side == 0 {
			if err == nil {
				t.Errorf("%d×%d is accepted", test.width, test.height)
			}
			continue
		}
		got, err2 := png.Decode(bytes.NewReader(data))
		if err != nil || err2 != nil || got.Bounds() != image.Rect(0, 0, test.side, test.side) {
			t.Errorf("%d×%d: %v, %v", test.width, test.height, err, err2)
			continue
		}
		_, _, _, centre := got.At(test.side/2, test.side/2).RGBA()
		_, _, _, corner := got.At(0, 0).RGBA()
		if centre == 0 || (corner == 0) != (test.width != test.height) {
			t.Errorf("%d×%d: opacity %d in the centre, %d in the corner", test.width, test.height, centre, corner)
		}
	}
}
