package demo

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"

	"collet/build/qa/screen"
	"collet/platform/interrupt"
)

// virtualWidth and virtualHeight are the size of the virtual display in pixels: room for splash and game.
const virtualWidth, virtualHeight = 1280, 800

// Screen selects the display.
type Screen string

const (
	// AutoScreen uses the real display if there is one.
	AutoScreen Screen = "auto"
	// RealScreen uses the current user's display.
	RealScreen Screen = "real"
	// VirtualScreen uses an invisible virtual display.
	VirtualScreen Screen = "virtual"
)

// display is where the windows of the demo appear.
type display struct {
	tell   *teller
	screen *screen.Screen // nil on a real display, which is not looked at
	shots  string         // folder of the screenshots; empty on a real display
}

// openDisplay makes a virtual display unless there is a real one. root is the folder of the demo.
func openDisplay(ctx context.Context, o Options, root string, tell *teller) (*display, error) {
	d := &display{tell: tell}
	if o.Screen == RealScreen || o.Screen != VirtualScreen && hasDisplay() {
		tell.say("screen", "the windows appear on this display")
		return d, nil
	}
	var err error
	if d.screen, err = screen.Start(ctx, virtualWidth, virtualHeight); err != nil {
		return nil, err
	}
	if d.shots, err = makeShotFolder(o, root); err != nil {
		return d, err
	}
	tell.say("screen", "no display is used; the windows appear on a virtual one, %s, and screenshots go to %s",
		d.screen.Display(), d.shots)
	return d, nil
}

func makeShotFolder(o Options, root string) (string, error) {
	switch {
	case o.Screenshots != "":
		return o.Screenshots, os.MkdirAll(o.Screenshots, 0o755)
	case o.Keep != "":
		dir := filepath.Join(root, "screenshots")
		return dir, os.MkdirAll(dir, 0o755)
	default:
		return os.MkdirTemp("", "collet-demo-screenshots-")
	}
}

// windowsOf are the visible windows of a process.
func (d *display) windowsOf(ctx context.Context, pid int) ([]screen.Window, error) {
	windows, err := d.screen.Windows(ctx)
	return slices.DeleteFunc(windows, func(w screen.Window) bool { return w.PID != pid }), err
}

// waitGone waits until a process shows no window any more.
func (d *display) waitGone(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, drawWait)
	defer cancel()
	for {
		windows, err := d.windowsOf(ctx, pid)
		if err == nil && len(windows) == 0 {
			d.tell.say("check", "the splash is gone")
			return nil
		}
		if err == nil {
			err = interrupt.Sleep(ctx, lookEvery)
		}
		if err != nil {
			return fmt.Errorf("the splash does not go: %w", err)
		}
	}
}

// waitDrawn waits until the window has something in it and photographs it.
func (d *display) waitDrawn(ctx context.Context, w screen.Window) error {
	ctx, cancel := context.WithTimeout(ctx, drawWait)
	defer cancel()
	for {
		m, err := d.screen.Shot()
		if err != nil {
			return err
		}
		if screen.Colours(m, w.Bounds, enoughColours) >= enoughColours {
			d.tell.say("check", "the game has drawn its picture")
			_, err := d.photograph("game.png", w.Bounds)
			return err
		}
		if err := interrupt.Sleep(ctx, lookEvery); err != nil {
			return fmt.Errorf("the game's window stays blank: %w", err)
		}
	}
}

// photograph saves the part of the screen that a window covers, or all of it where r is empty, and returns how many
// colours it has, at most enoughColours.
func (d *display) photograph(name string, r image.Rectangle) (colours int, err error) {
	m, err := d.screen.Shot()
	if err != nil {
		return 0, err
	}
	if r.Empty() {
		r = m.Bounds()
	}
	path := filepath.Join(d.shots, name)
	if err := screen.SavePNG(path, m.SubImage(r)); err != nil {
		return 0, err
	}
	d.tell.say("screen", "photographed: %s", path)
	return screen.Colours(m, r, enoughColours), nil
}

// close ends a virtual display.
func (d *display) close() {
	if d.screen == nil {
		return
	}
	if err := d.screen.Close(); err != nil {
		d.tell.say("screen", "%v", err)
	}
}
