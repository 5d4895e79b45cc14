package sample_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/build/qa/screen"
	"collet/platform/testlevel"
	"collet/platform/testwait"
	"collet/runtime/abi"
)

// windowSize is what the game asks for, in pixels.
var windowSize = image.Pt(960, 600)

// game is the game in a window of a virtual screen.
type game struct {
	screen *screen.Screen
	window screen.Window
	cmd    *exec.Cmd
	said   *lines
}

// lines collects what a child writes. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// open starts the game on a screen of its own and waits for its first frame, or skips where something that it takes is
// not installed.
func open(t *testing.T, args ...string) *game {
	t.Helper()
	module, packs, display := build(t), good().write(t), newScreen(t)
	g := &game{screen: display, said: &lines{}}
	g.cmd = command(context.Background(), t, module, append(args, "--ClientResources", packs)...)
	g.cmd.Env, g.cmd.Stderr = quick(display.Environ()), g.said
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.cmd.Process.Kill(); g.cmd.Wait() })
	g.arrive(t)
	return g
}

// newScreen starts a screen of the test, or skips where there can be none.
func newScreen(t *testing.T) *screen.Screen {
	t.Helper()
	s, err := screen.Start(t.Context(), windowSize.X+64, windowSize.Y+40)
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

// arrive waits for the first frame and finds the window.
func (g *game) arrive(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !strings.Contains(g.said.String(), `{"Ready":true}`) {
		skipWithoutSDL(t, g.said.String())
		select {
		case <-ctx.Done():
			t.Fatalf("never ready; said:\n%s", g.said)
		case <-time.After(10 * time.Millisecond):
		}
	}
	var err error
	g.window, err = g.screen.WaitWindow(ctx, func(w screen.Window) bool { return w.Name == "Lathe Test - release 7" })
	if errors.Is(err, screen.ErrNoDriver) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func skipWithoutSDL(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "SDL2 is not installed") {
		t.Skip("SDL2 is not installed: install the Debian package libsdl2-2.0-0")
	}
}

// shot is what the window shows, kept if the test fails.
func (g *game) shot(t *testing.T, name string) image.Image {
	t.Helper()
	m, err := g.screen.Shot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			screen.SavePNG(filepath.Join(t.ArtifactDir(), name+".png"), m)
		}
	})
	return m.SubImage(g.window.Bounds)
}

// end waits for the game's end.
func (g *game) end(t *testing.T) outcome {
	t.Helper()
	late := time.AfterFunc(patience, func() { g.cmd.Process.Kill() })
	defer late.Stop()
	err := g.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{code: g.cmd.ProcessState.ExitCode()}
	o.take(t, g.said.String())
	return o
}

// middleOf is the middle of all pixels of a colour, and how many there are.
func middleOf(m image.Image, c color.NRGBA) (middle image.Point, count int) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.NRGBAModel.Convert(m.At(x, y)) == c {
				middle = middle.Add(image.Pt(x, y))
				count++
			}
		}
	}
	if count > 0 {
		middle = middle.Div(count)
	}
	return middle, count
}

// TestWindow looks at the game, plays it, and leaves it with Escape.
func TestWindow(t *testing.T) {
	g := open(t)
	if g.window.Bounds.Size() != windowSize || g.window.PID != g.cmd.Process.Pid {
		t.Errorf("window %+v of process %d", g.window, g.cmd.Process.Pid)
	}
	before := g.shot(t, "before")
	player := color.NRGBA{0xD9, 0x78, 0x42, 0xFF}
	for _, part := range []struct {
		what  string
		c     color.NRGBA
		least int // pixels
	}{
		{"player", player, 4000},
		{"pieces", color.NRGBA{0xE0, 0xAD, 0x47, 0xFF}, 8000},
		{"panels", color.NRGBA{0x24, 0x37, 0x4C, 0xFF}, 50_000},
		{"field", color.NRGBA{0x18, 0x21, 0x2D, 0xFF}, 200_000},
		{"title", color.NRGBA{0x9C, 0xC4, 0xE8, 0xFF}, 1000},
		{"version and score", color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}, 500},
	} {
		if _, count := middleOf(before, part.c); count < part.least {
			t.Errorf("%s: %d pixels, want at least %d", part.what, count, part.least)
		}
	}
	stood, _ := middleOf(before, player)
	g.drive(t, "mousemove", "100", "100", "windowfocus", g.window.ID, "keydown", "Right")
	testwait.Until(t, func() bool {
		picture, err := g.screen.Shot()
		if err != nil {
			t.Fatal(err)
		}
		stands, _ := middleOf(picture.SubImage(g.window.Bounds), player)
		return stands.X >= stood.X+20 && stands.Y == stood.Y
	}, "the player does not go to the right")
	g.drive(t, "keyup", "Right")
	if err := g.screen.Key(t.Context(), g.window, "Escape"); err != nil {
		t.Fatal(err)
	}
	got := g.end(t)
	if got.code != 0 || got.result == nil || *got.result != (abi.Result{Success: true}) || got.ready != 1 {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
}

// drive has xdotool do something on the screen.
func (g *game) drive(t *testing.T, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "xdotool", arguments...)
	cmd.Env = g.screen.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("xdotool %q: %v\n%s", arguments, err, out)
	}
}

// TestWindowIsClosed is the other way to leave.
func TestWindowIsClosed(t *testing.T) {
	testlevel.Lab(t)
	g := open(t)
	closeWindow(t, g.screen.Display(), g.window.ID)
	if got := g.end(t); got.code != 0 || got.result == nil || *got.result != (abi.Result{Success: true}) {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
}

// TestNoSignalIsTaken: SDL2 would take SIGINT and SIGTERM, unless it is told not to.
func TestNoSignalIsTaken(t *testing.T) {
	testlevel.Lab(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "client_runtime.h"), []byte(abi.Header), 0o644); err != nil {
		t.Fatal(err)
	}
	module, packs, display := build(t), good().write(t), newScreen(t)
	host := filepath.Join(dir, "chost")
	compiler := exec.CommandContext(t.Context(), "cc", "-std=c11", "-Wall", "-Wextra", "-I", dir, "-o", host, "testdata/chost.c", "-ldl")
	if out, err := compiler.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), host, module, "--frames", "2", "--ClientResources", packs)
	cmd.Env = display.Environ()
	out, err := cmd.Output()
	skipWithoutSDL(t, string(out))
	if want := "1 packs read, title Lathe Test\nready\nLathe ended with kind 0, success 1\n"; err != nil || string(out) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, out, want)
	}
}

// TestWindowEndsAfterFrames: some frames, one ready, one result.
func TestWindowEndsAfterFrames(t *testing.T) {
	testlevel.Lab(t)
	g := open(t, "--frames", "60", "--fatal")
	if got := g.end(t); got.code != 0 || got.ready != 1 || got.result == nil || got.result.Kind != abi.FatalError {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
}
