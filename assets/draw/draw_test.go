package main

import (
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, name string) image.Image {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return picture
}

// The pictures that are shipped are those that this program draws. Processors round differently, so a step of one in
// a colour is allowed, and few pixels at edges may differ more.
func TestShippedPicturesAreDrawnHere(t *testing.T) {
	const apart = 9 // pixels between those that are compared; all of them would take seconds
	for name, shade := range map[string]func(x, y float64) paint{"splash.png": splash, "icon.png": icon} {
		shipped := open(t, filepath.Join("..", name))
		checked, different := 0, 0
		for y := 0; y < shipped.Bounds().Dy(); y += apart {
			for x := 0; x < shipped.Bounds().Dx(); x += apart {
				checked++
				want := quantise(average(x, y, shade), noise(x, y))
				if distance(shipped, x, y, want.R, want.G, want.B, want.A) > 1 {
					different++
				}
			}
		}
		if different*200 > checked {
			t.Errorf("%s: %d of %d pixels differ from what is drawn; run go generate", name, different, checked)
		}
	}
}

func distance(picture image.Image, x, y int, want ...uint8) float64 {
	r, g, b, a := picture.At(x, y).RGBA()
	if a != 0 && a != 0xFFFF { // RGBA multiplies by alpha
		r, g, b = r*0xFFFF/a, g*0xFFFF/a, b*0xFFFF/a
	}
	worst := 0.0
	for i, got := range []uint32{r, g, b, a} {
		if a == 0 && i < 3 {
			continue
		}
		worst = max(worst, math.Abs(float64(got)/257-float64(want[i])))
	}
	return worst
}

func TestWriteMakesBothPictures(t *testing.T) {
	dir := t.TempDir()
	small := render(32, 18, func(x, y float64) paint { return splash(x*20, y*20) })
	if err := save(filepath.Join(dir, "small.png"), small); err != nil {
		t.Fatal(err)
	}
	back := open(t, filepath.Join(dir, "small.png"))
	if back.Bounds() != image.Rect(0, 0, 32, 18) {
		t.Errorf("bounds are %v", back.Bounds())
	}
	if _, is := back.(*image.RGBA); !is {
		t.Errorf("an opaque picture is stored as %T", back)
	}
	if err := save(filepath.Join(dir, "no", "such", "folder.png"), small); err == nil {
		t.Error("saving into a folder that is not there succeeds")
	}
}

func TestPaint(t *testing.T) {
	red, blue := rgb(0xFF0000), rgb(0x0000FF)
	if got := red.mix(blue, 0.25); got != (paint{0.75, 0, 0.25, 1}) {
		t.Errorf("a quarter on the way from red to blue is %v", got)
	}
	if got := red.mix(blue, 7); got != blue {
		t.Errorf("past the end is %v", got)
	}
	half := paint{1, 0, 0, 0.5}
	if got := half.over(blue); got != (paint{0.5, 0, 0.5, 1}) {
		t.Errorf("half red over blue is %v", got)
	}
	if got := (paint{}).over(paint{}); got != (paint{}) {
		t.Errorf("nothing over nothing is %v", got)
	}
	if got := half.over(paint{}); got != half {
		t.Errorf("half red over nothing is %v", got)
	}
}

func TestNoiseIsEvenAndFixed(t *testing.T) {
	sum := 0.0
	for i := range 10_000 {
		n := noise(i%100, i/100)
		if n < 0 || n >= 1 {
			t.Fatalf("noise(%d, %d) = %v", i%100, i/100, n)
		}
		sum += n
	}
	if mean := sum / 10_000; math.Abs(mean-0.5) > 0.02 {
		t.Errorf("mean is %v", mean)
	}
	if noise(3, 4) != noise(3, 4) || noise(3, 4) == noise(4, 3) {
		t.Error("noise is not a fixed function of both numbers")
	}
}

func TestChuckIsEmptyOutsideAndOpaqueInside(t *testing.T) {
	for _, p := range [][2]float64{{1.01, 0}, {0, -1.2}, {0.8, 0.8}, {0.99, 0}} { // the last one lies in a notch
		if got := chuck(p[0], p[1], true); got.a != 0 {
			t.Errorf("at %v it is %v", p, got)
		}
	}
	for r := 0.0; r < 0.9; r += 0.01 {
		for angle := 0.0; angle < 6.3; angle += 0.05 {
			if got := chuck(r*math.Cos(angle), r*math.Sin(angle), true); got.a != 1 {
				t.Fatalf("at radius %v, angle %v it is %v", r, angle, got)
			}
		}
	}
}
