package screen_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/qa/process"
	"collet/build/qa/screen"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// waitLimit bounds waits for something that happens at once on a machine that is not overloaded.
const waitLimit = 2 * time.Minute

// waitEnded waits until a server has ended; until its exit code is read it is a zombie.
func waitEnded(t *testing.T, pid int) {
	t.Helper()
	testwait.Until(t, func() bool { return !testwait.Alive(pid) }, fmt.Sprintf("process %d ends", pid))
}

// newScreen starts a screen, or skips the test where there is no virtual X server.
func newScreen(t *testing.T, width, height int) *screen.Screen {
	t.Helper()
	testlevel.Slow(t)
	s, err := screen.Start(t.Context(), width, height)
	if errors.Is(err, screen.ErrNoScreen) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestScreenHasItsSizeAndStartsBlank(t *testing.T) {
	m, err := newScreen(t, 320, 200).Shot()
	if err != nil {
		t.Fatal(err)
	}
	if m.Bounds() != image.Rect(0, 0, 320, 200) || screen.Colours(m, m.Bounds(), 10) != 1 {
		t.Errorf("%v with %d colours", m.Bounds(), screen.Colours(m, m.Bounds(), 10))
	}
}

func TestScreensDoNotMeet(t *testing.T) {
	a, b := newScreen(t, 64, 64), newScreen(t, 64, 64)
	if a.Display() == b.Display() || a.Frame() == b.Frame() {
		t.Errorf("two screens are %s and %s", a.Display(), b.Display())
	}
}

func TestScreenEnvironment(t *testing.T) {
	t.Setenv("DISPLAY", ":somewhere-else")
	t.Setenv("WAYLAND_DISPLAY", "wayland-0")
	s := newScreen(t, 64, 64)
	env := s.Environ()
	if !slices.Contains(env, "DISPLAY="+s.Display()) || slices.Contains(env, "DISPLAY=:somewhere-else") {
		t.Error("DISPLAY is not the screen's")
	}
	for _, entry := range env {
		if strings.HasPrefix(entry, "WAYLAND_DISPLAY=") {
			t.Errorf("%s would let a program appear elsewhere", entry)
		}
		if folder, found := strings.CutPrefix(entry, "XDG_RUNTIME_DIR="); found {
			if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", entry, info, err)
			}
		}
	}
}

// message opens a window with one button on the screen, or skips the test where the small X program is not installed.
// Return presses the button, which ends the program with code 101.
func message(t *testing.T, s *screen.Screen, title string) *process.Process {
	t.Helper()
	path, err := exec.LookPath("xmessage")
	if err != nil {
		t.Skip("no xmessage: install the Debian package x11-utils")
	}
	p, err := process.Start(process.Options{
		Path: path, Args: []string{"-title", title, "-buttons", "pressed:101", "-default", "pressed", "-geometry", "160x90+40+30", "hello"}, Env: s.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// wait finds a window by its title.
func wait(t *testing.T, s *screen.Screen, title string) screen.Window {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	w, err := s.WaitWindow(ctx, func(w screen.Window) bool { return w.Name == title })
	if errors.Is(err, screen.ErrNoDriver) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestScreenFindsWindowsAndPressesKeys(t *testing.T) {
	s := newScreen(t, 320, 200)
	first, second := message(t, s, "one of two"), message(t, s, "two of two")
	wait(t, s, "one of two")
	w := wait(t, s, "two of two")
	if w.Bounds != image.Rect(40, 30, 200, 120) {
		t.Errorf("%+v", w)
	}
	waitColours(t, s, w.Bounds)
	if err := s.KeyUntil(t.Context(), w, "Return", second.Done()); err != nil {
		t.Fatal(err)
	}
	if second.Code() != 101 {
		t.Errorf("ended with %d, want 101", second.Code())
	}
	select {
	case <-first.Done():
		t.Error("the key reached the other window")
	default:
	}
}

// waitColours waits until something is drawn in r.
func waitColours(t *testing.T, s *screen.Screen, r image.Rectangle) {
	t.Helper()
	testwait.Until(t, func() bool {
		m, err := s.Shot()
		if err != nil {
			t.Fatal(err)
		}
		return screen.Colours(m, r, 2) == 2
	}, fmt.Sprintf("something is drawn in %v", r))
}

func TestScreenClicks(t *testing.T) {
	s := newScreen(t, 320, 200)
	p := message(t, s, "click")
	w := wait(t, s, "click")
	waitColours(t, s, w.Bounds)
	deadline := time.Now().Add(waitLimit)
	for done := false; !done && time.Now().Before(deadline); { // the button is somewhere in the lower left; the window does not say where
		for y := w.Bounds.Min.Y + 5; y < w.Bounds.Max.Y; y += 10 {
			if err := s.Click(t.Context(), image.Pt(w.Bounds.Min.X+20, y)); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-p.Done():
			done = true
		default:
		}
	}
	if p.Stop(0); p.Code() != 101 {
		t.Errorf("ended with %d, want 101", p.Code())
	}
}

func TestScreenWithoutWindows(t *testing.T) {
	s := newScreen(t, 64, 64)
	windows, err := s.Windows(t.Context())
	if errors.Is(err, screen.ErrNoDriver) {
		t.Skip(err)
	}
	if err != nil || len(windows) != 0 {
		t.Errorf("%v, %v", windows, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if w, err := s.WaitWindow(ctx, func(screen.Window) bool { return true }); err == nil || ctx.Err() == nil {
		t.Errorf("found %v, %v", w, err)
	}
}

func TestScreenDiesWithItsOwner(t *testing.T) {
	newScreen(t, 64, 48)            // skips
	t.Setenv("TMPDIR", t.TempDir()) // a killed owner leaves its folder
	reader, writer := io.Pipe()
	owner, err := process.Start(process.Options{Path: os.Args[0], Env: append(os.Environ(), leaveVariable+"=1"), Output: writer})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Stop(0)
	go func() { <-owner.Done(); writer.Close() }()
	var pid int
	if _, err := fmt.Fscanln(reader, &pid); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, reader)
	owner.Stop(0) // killed: it cannot clean up
	waitEnded(t, pid)
}

func TestScreenCloseLeavesNothing(t *testing.T) {
	s := newScreen(t, 64, 48)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Frame()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("framebuffer after Close: %v", err)
	}
	waitEnded(t, s.PID())
}

func TestStartScreenWithAnEndedContext(t *testing.T) {
	newScreen(t, 64, 48) // skips
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := screen.Start(ctx, 64, 48); err == nil {
		s.Close()
		t.Error("started")
	}
}

func TestSavePNGAndColours(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 4, 2))
	for i := range 8 {
		m.Set(i%4, i/4, color.NRGBA{uint8(i), 0, 0, 255})
	}
	path := filepath.Join(t.TempDir(), "picture.png")
	if err := screen.SavePNG(path, m); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := png.Decode(f)
	if err != nil || screen.Colours(read, read.Bounds(), 100) != 8 {
		t.Errorf("%v, %d colours", err, screen.Colours(read, read.Bounds(), 100))
	}
	if n := screen.Colours(m, image.Rect(1, 0, 3, 100), 100); n != 4 {
		t.Errorf("%d colours in the middle, want 4", n)
	}
	if n := screen.Colours(m, m.Bounds(), 3); n != 3 {
		t.Errorf("counted to %d, limit 3", n)
	}
}
