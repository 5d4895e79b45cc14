package pack_test

import (
	"bytes"
	"image"
	"image/png"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack"
	"collet/runtime/area"
)

// fillable is a program as a build leaves it, with areas of these capacities.
func fillable(resources, config int) string {
	b := make([]byte, resources)
	for i := range b {
		b[i] = byte((i + 42) % 200)
	}
	const first, last = "###Internal" + "Config###1234", "###Internal" + "ConfigEnd###"
	digits := strings.Repeat("1234567890", config/10)[:config-len(first)-len(last)]
	return "host " + string(b) + "|" + first + digits + last + "|###Not" + "Packaged###" + strings.Repeat("\x00", 113) + "|"
}

// TestRoom has programs with too little room, and one that is packaged already.
func TestRoom(t *testing.T) {
	t.Parallel()
	filled := []byte(fillable(10_000, 5_000))
	if err := area.Patch(filled, area.Contents{Name: "Lathe", Config: "a = 1"}); err != nil {
		t.Fatal(err)
	}
	noise := picture(t, 640, 360) + strings.Repeat("x", 20_000)
	for name, test := range map[string]struct {
		host, splash string
		want         string
	}{
		"enough":          {fillable(30_000, 20_000), noise, ""},
		"splash":          {fillable(15_000, 20_000), noise, "game.splash: has "},
		"splash's frames": {fillable(20_000, 20_000), picture(t, 640, 360) + strings.Repeat("x", 20_000-100-len(picture(t, 640, 360))), " beside the icon; make it smaller, or build"},
		"settings":        {fillable(30_000, 1_000), noise, "client: the settings of Lathe have "},
		"packaged":        {string(filled), noise, "target[0].host: client is packaged already; name the file that the build made"},
		"no areas at all": {"host", noise, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := workplace(t, good)
			write(t, filepath.Dir(file), map[string]string{"out/linux/client": test.host, "art/splash.png": test.splash})
			_, err := pack.Load(file, env())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestRoomForIcon has a picture that is no smaller for being a PNG.
func TestRoomForIcon(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise.Pix); i++ {
		noise.Pix[i] = byte(r.Uint32())
	}
	var icon bytes.Buffer
	if err := png.Encode(&icon, noise); err != nil {
		t.Fatal(err)
	}
	file := workplace(t, good)
	write(t, filepath.Dir(file), map[string]string{"out/linux/client": fillable(100_000, 20_000), "art/icon.png": icon.String()})
	if _, err := pack.Load(file, env()); err == nil || !strings.Contains(err.Error(), "game.icon: has ") || !strings.Contains(err.Error(), "for which client has no room; take a simpler picture") {
		t.Errorf("%v", err)
	}
}
