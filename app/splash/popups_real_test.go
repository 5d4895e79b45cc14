//go:build cgo && linux

package splash

import (
	"flag"
	"fmt"
	"image"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

var pictures = flag.String("pictures", "", "folder for pictures of every popup, to look at")

// TestRealPopups shows every popup in a real window, in every language, and answers it with the keyboard.
func TestRealPopups(t *testing.T) {
	if keys := slices.Sorted(maps.Keys(popups())); !slices.Equal(keys, slices.Sorted(slices.Values(compat.Popups()))) {
		t.Fatalf("popups %q, the table has %q", keys, compat.Popups())
	}
	testlevel.Lab(t)
	d := newDisplay(t)
	for _, language := range shownLanguages(t) {
		for _, key := range compat.Popups() {
			p := startScene(t, d.Display(), key, language)
			d.keep(t, key+"."+language, d.until(t, key+" is shown", showsDialog))
			want, press := update.Quit, "Escape"
			if answer := popups()[key].answer; answer != "" {
				want, press = answer, "Return"
			}
			d.key(t, press)
			if code, said := p.ended(); code != 0 || !strings.Contains(said, fmt.Sprintf("answer %s <nil>", want)) {
				t.Errorf("%s, %s: exit code %d, it said %q", language, key, code, said)
			}
		}
	}
}

// TestRealToast waits until a toast expires.
func TestRealToast(t *testing.T) {
	testlevel.Lab(t)
	d := newDisplay(t)
	for _, language := range []string{"en"} { // what is looked for are pixels of its text; TestRealLanguages has the others
		p := startScene(t, d.Display(), "toast", language)
		d.keep(t, "toast."+language, d.until(t, "the toast is shown", func(screen *image.NRGBA) bool {
			return windowIn(screen) == wholeWindow && amberIn(screen) > 60
		}))
		if code, said := p.ended(); code != 0 || !strings.Contains(said, "answer pressed false, error <nil>") {
			t.Errorf("%s: exit code %d, it said %q", language, code, said)
		}
	}
}

// amberIn counts pixels in the colour of notes at the place of a note.
func amberIn(screen *image.NRGBA) (n int) {
	for y := windowHeight - 131; y < windowHeight-112; y++ {
		for x := margin; x < windowWidth/2; x++ {
			if is(at(screen, x, y), amber) {
				n++
			}
		}
	}
	return n
}

// keep saves the window of a screen picture for inspection, if requested.
func (d display) keep(t *testing.T, name string, screen *image.NRGBA) {
	t.Helper()
	if *pictures != "" {
		savePicture(t, filepath.Join(*pictures, name+".png"), screen.SubImage(windowIn(screen)))
	}
}
