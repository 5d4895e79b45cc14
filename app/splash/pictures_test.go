package splash

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/app/update"
	"collet/assets"
)

// The main contents of the window as pictures, drawn by Fyne's software painter.
func TestPictures(t *testing.T) {
	for name, show := range map[string]func(*screen){
		"progress": func(s *screen) { s.show(Compose(sampleFetching(), noon, s.texts)) },
		"note": func(s *screen) {
			s.show(Compose(sampleFetching(), noon, s.texts))
			s.progress.setNote(s.texts.Get("note.embedded", "file", "EmberReach.so"))
		},
		"dialog": func(s *screen) { s.ask(interrupted(), func(update.Action) {}) },
		"full": func(s *screen) {
			e := update.EndOf(update.Failed, update.DiskFull)
			s.ask(ComposeEnd(e, fullInfo(e), s.texts), func(update.Action) {})
		},
		"way":    func(s *screen) { s.ask(ofDisk("way", s.texts), func(update.Action) {}) },
		"names":  func(s *screen) { s.ask(ofDisk("names", s.texts), func(update.Action) {}) },
		"cancel": func(s *screen) { s.do.installed = func() bool { return true }; s.leave() },
		"details": func(s *screen) {
			s.ask(interrupted(), func(update.Action) {})
			s.press(Button{Action: update.Details})
			s.copyReport()
		},
	} {
		t.Run(name, func(t *testing.T) {
			behind := image.Image(nil) // one of them with the picture is enough
			if name == "progress" {
				behind = decode(assets.SplashPNG)
			}
			s, w := stageWith(t, "en", behind)
			show(s)
			picture(t, name+".en.png", w.Canvas().Capture())
		})
	}
}

// picture compares with a picture in testdata. Processors and libraries round differently, so a few pixels may differ
// slightly.
func picture(t *testing.T, name string, got image.Image) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		savePicture(t, file, got)
		return
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	defer f.Close()
	want, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bounds() != want.Bounds() {
		t.Fatalf("%s is %v, was %v", name, got.Bounds(), want.Bounds())
	}
	if n := differing(got, want); n > 400 { // a word has more pixels, all edges of a rounding fewer
		failed := filepath.Join("testdata", "failed", name)
		savePicture(t, failed, got)
		t.Errorf("%s differs in %d pixels; what it is now is in %s", file, n, failed)
	}
}

func differing(a, b image.Image) (n int) {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			ar, ag, ab, _ := a.At(x, y).RGBA()
			br, bg, bb, _ := b.At(x, y).RGBA()
			if apart(ar, br)+apart(ag, bg)+apart(ab, bb) > 24<<8 {
				n++
			}
		}
	}
	return n
}

func apart(a, b uint32) uint32 { return max(a, b) - min(a, b) }

func savePicture(t *testing.T, file string, picture image.Image) {
	t.Helper()
	var out strings.Builder
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	save(t, file, out.String())
}
