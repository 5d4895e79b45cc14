//go:build cgo && linux

package splash

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"collet/app/update"
	xvfb "collet/build/qa/screen"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// realPatience is the timeout for a real window. A cold start with a software renderer and the race detector on a busy
// machine takes up to several seconds.
const realPatience = 60 * time.Second

// display is a virtual screen of 1280 × 800 pixels.
type display struct{ *xvfb.Screen }

// newDisplay starts a virtual screen for one test. The test is skipped without Xvfb or xdotool, and in make check.
func newDisplay(t *testing.T) display { return newDisplayOf(t, 1280, 800) }

func newDisplayOf(t *testing.T, width, height int) display {
	t.Helper()
	testlevel.Slow(t)
	for _, tool := range []string{"Xvfb", "xdotool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: a real window can't be tested", tool)
		}
	}
	s, err := xvfb.Start(t.Context(), width, height)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return display{s}
}

// program is this test binary running one scene with a real window.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bytes.Buffer
	exited chan error
}

// startScene shows a scene on a display in a program of its own.
func startScene(t *testing.T, display, scene, language string, more ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(os.Args[0]), out: &bytes.Buffer{}, exited: make(chan error, 1)}
	home := t.TempDir()
	p.cmd.Env = append(os.Environ(), childScene+"="+scene, childLang+"="+language, "DISPLAY="+display, "WAYLAND_DISPLAY=",
		"HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+home, "FYNE_SCALE=1", "LANG=C", "LIBGL_ALWAYS_SOFTWARE=1")
	p.cmd.Env = append(p.cmd.Env, more...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, io.Discard
	if testing.Verbose() {
		p.cmd.Stderr = os.Stderr
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// ended waits for the program and returns its exit code and output.
func (p *program) ended() (int, string) {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode(), p.out.String()
	case <-time.After(realPatience):
		p.t.Fatal("the program does not end")
		return 0, ""
	}
}

// until waits until is returns true for the screen, and returns the screen.
func (d display) until(t *testing.T, what string, is func(*image.NRGBA) bool) *image.NRGBA {
	t.Helper()
	var last *image.NRGBA
	reached := false
	defer func() {
		if !reached && last != nil {
			savePicture(t, filepath.Join("testdata", "failed", "screen.png"), last)
		}
	}()
	testwait.Until(t, func() bool {
		if picture, err := d.Shot(); err == nil { // Xvfb may be writing its header
			last, reached = picture, is(picture)
		}
		return reached
	}, what+"; the screen is in testdata/failed/screen.png")
	return last
}

// key presses keys. The window's loop handles them in order, and what a key changes is there before the next one is handled.
func (d display) key(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		press := exec.Command("xdotool", "key", name)
		press.Env = append(os.Environ(), "DISPLAY="+d.Display())
		if out, err := press.CombinedOutput(); err != nil {
			t.Fatalf("xdotool: %v: %s", err, out)
		}
	}
}

// windowIn is the smallest rectangle around all pixels that are not black.
func windowIn(screen *image.NRGBA) image.Rectangle {
	box := image.Rectangle{}
	for y := range screen.Bounds().Dy() {
		for x := range screen.Bounds().Dx() {
			if c := screen.NRGBAAt(x, y); c.R|c.G|c.B != 0 {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

var wholeWindow = image.Rect(320, 160, 320+windowWidth, 160+windowHeight)

func at(screen *image.NRGBA, x, y int) color.NRGBA {
	return screen.NRGBAAt(wholeWindow.Min.X+x, wholeWindow.Min.Y+y)
}

func is(c color.NRGBA, want color.NRGBA) bool {
	return apart(uint32(c.R), uint32(want.R))+apart(uint32(c.G), uint32(want.G))+apart(uint32(c.B), uint32(want.B)) < 12
}

func showsProgress(screen *image.NRGBA) bool {
	return windowIn(screen) == wholeWindow && is(at(screen, 60, windowHeight-46), amber) && is(at(screen, 600, windowHeight-46), track)
}

func showsDialog(screen *image.NRGBA) bool {
	return windowIn(screen) == wholeWindow && is(at(screen, cardMargin+20, 85), amber)
}

// The real window has the right size, is centred and not blank, and closes after Escape.
func TestRealWindow(t *testing.T) {
	d := newDisplay(t)
	p := startScene(t, d.Display(), "progress", "en")
	screen := d.until(t, "the progress is shown", showsProgress)
	colours := map[color.NRGBA]bool{}
	for y := wholeWindow.Min.Y; y < wholeWindow.Max.Y; y++ {
		for x := wholeWindow.Min.X; x < wholeWindow.Max.X; x++ {
			colours[screen.NRGBAAt(x, y)] = true
		}
	}
	if len(colours) < 2000 {
		t.Errorf("the window has only %d colours", len(colours))
	}
	d.key(t, "Escape", "Right", "Return")
	if code, said := p.ended(); code != 0 || !strings.Contains(said, "answer context canceled, error <nil>") || !strings.Contains(said, "first frame") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
	d.until(t, "the window is gone", func(screen *image.NRGBA) bool { return windowIn(screen).Empty() })
}

func TestRealDialog(t *testing.T) {
	d := newDisplay(t)
	for _, c := range []struct {
		keys []string
		want update.Action
	}{
		{[]string{"Tab", "Return"}, update.Offline}, {[]string{"Left", "Left", "Return", "Escape", "Escape"}, update.Quit},
	} {
		p := startScene(t, d.Display(), "dialog", "en")
		d.until(t, "the dialog is shown", showsDialog)
		d.key(t, c.keys...)
		if code, said := p.ended(); code != 0 || !strings.Contains(said, "answer "+string(c.want)+" <nil>") {
			t.Errorf("%v: exit code %d, it said %q", c.keys, code, said)
		}
	}
}

// Work that ends before the window is open leaves nothing behind.
func TestRealWindowOfQuickWork(t *testing.T) {
	d := newDisplay(t)
	if code, said := startScene(t, d.Display(), "quick", "en").ended(); code != 0 || !strings.Contains(said, "answer done, error <nil>") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

func TestRealWindowAndTheSystemsEnd(t *testing.T) {
	d := newDisplay(t)
	p := startScene(t, d.Display(), "progress", "en")
	d.until(t, "the progress is shown", showsProgress)
	d.until(t, "the window is gone", func(screen *image.NRGBA) bool { // the toolkit may begin to listen after the first frame
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		return windowIn(screen).Empty()
	})
	if code, said := p.ended(); code != 0 || !strings.Contains(said, "answer context canceled, error <nil>") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

func TestRealWindowWithoutADisplay(t *testing.T) {
	testlevel.Slow(t)
	for name, display := range map[string]string{"none named": "", "one that is not there": ":65000"} {
		code, said := startScene(t, display, "dialog", "en").ended()
		if code != 3 || !strings.Contains(said, ErrNoWindow.Error()) {
			t.Errorf("%s: exit code %d, it said %q", name, code, said)
		}
	}
}

// The real window of a remote launcher shows the running game; the keyboard stops the game and closes the window.
func TestRealRemoteWindow(t *testing.T) {
	d := newDisplay(t)
	p := startScene(t, d.Display(), "remote", "en")
	d.until(t, "the device is shown", func(screen *image.NRGBA) bool {
		return windowIn(screen) == wholeWindow && is(at(screen, margin+lampSize/2, margin+6+lampSize/2), fine)
	})
	d.key(t, "F6", "Tab", "Return", "Escape")
	if code, said := p.ended(); code != 0 || said != "stop\nstop\nquit\n" {
		t.Errorf("exit code %d, it said %q", code, said)
	}
	d.until(t, "the window is gone", func(screen *image.NRGBA) bool { return windowIn(screen).Empty() })
}

// TestRealLanguages shows the progress and a dialog in every language, at 100 % and 200 %: the window has its size, the rule below the
// heading is in its place.
func TestRealLanguages(t *testing.T) {
	testlevel.Lab(t)
	for _, scale := range []int{1, 2} {
		d := newDisplayOf(t, 1600, 1200)
		window := image.Rect(0, 0, windowWidth*scale, windowHeight*scale).Add(image.Pt((1600-windowWidth*scale)/2, (1200-windowHeight*scale)/2))
		for _, language := range shownLanguages(t) {
			for scene, colour := range map[string]image.Point{"full": {cardMargin + 20, 85}, "note": {60, windowHeight - 46}} {
				p := startScene(t, d.Display(), scene, language, fmt.Sprintf("FYNE_SCALE=%d", scale))
				shot := d.until(t, scene+" is shown", func(screen *image.NRGBA) bool {
					return windowIn(screen) == window && is(screen.NRGBAAt(window.Min.X+colour.X*scale, window.Min.Y+colour.Y*scale), amber)
				})
				d.keep(t, fmt.Sprintf("%s.%s.%d", scene, language, scale*100), shot)
				_ = p.cmd.Process.Kill()
				<-p.exited
			}
		}
	}
}
