package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"collet/platform/interrupt"
)

// windowPoll is the poll interval of WaitWindow.
const windowPoll = 50 * time.Millisecond

// keyPause is how long KeyUntil waits for what a key does.
const keyPause = time.Second

// ErrNoDriver says that the tool for key presses is not installed.
var ErrNoDriver = errors.New("no keyboard for the virtual screen: install the Debian package xdotool")

// Window is the state of a visible window at one moment.
type Window struct {
	ID     string // the X server's id
	Name   string // its title
	PID    int    // of its program; 0 if unknown
	Bounds image.Rectangle
}

// Windows lists the visible windows that have a title.
func (s *Screen) Windows(ctx context.Context) ([]Window, error) {
	found, err := s.drive(ctx, "search", "--onlyvisible", "--name", ".")
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == 1 {
		return nil, nil // it found no window
	}
	if err != nil {
		return nil, err
	}
	var windows []Window
	for id := range strings.FieldsSeq(found) {
		w, err := s.window(ctx, id)
		if errors.As(err, &status) {
			continue // closed in the meantime
		}
		if err != nil {
			return nil, err
		}
		windows = append(windows, w)
	}
	return windows, nil
}

func (s *Screen) window(ctx context.Context, id string) (Window, error) {
	name, err := s.drive(ctx, "getwindowname", id)
	if err != nil {
		return Window{}, err
	}
	geometry, err := s.drive(ctx, "getwindowgeometry", "--shell", id)
	if err != nil {
		return Window{}, err
	}
	w := Window{ID: id, Name: strings.TrimSpace(name), Bounds: parseGeometry(geometry)}
	if pid, err := s.drive(ctx, "getwindowpid", id); err == nil {
		w.PID, _ = strconv.Atoi(strings.TrimSpace(pid))
	}
	return w, nil
}

// parseGeometry reads lines such as X=10; a value that is missing is 0.
func parseGeometry(text string) image.Rectangle {
	values := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name], _ = strconv.Atoi(value)
	}
	corner := image.Pt(values["X"], values["Y"])
	return image.Rectangle{Min: corner, Max: corner.Add(image.Pt(values["WIDTH"], values["HEIGHT"]))}
}

// WaitWindow returns the first window that match accepts, as soon as it exists, or the context's error.
func (s *Screen) WaitWindow(ctx context.Context, match func(Window) bool) (Window, error) {
	for {
		windows, err := s.Windows(ctx)
		if err != nil {
			return Window{}, err
		}
		for _, w := range windows {
			if match(w) {
				return w, nil
			}
		}
		if err := interrupt.Sleep(ctx, windowPoll); err != nil {
			return Window{}, err
		}
	}
}

// Key focuses w and presses keys by their X names: "Escape", "Return", "ctrl+c".
func (s *Screen) Key(ctx context.Context, w Window, keys ...string) error {
	middle := w.Bounds.Min.Add(w.Bounds.Size().Div(2))
	arguments := []string{
		"mousemove", strconv.Itoa(middle.X), strconv.Itoa(middle.Y), "windowfocus", w.ID, "key", "--clearmodifiers",
	}
	_, err := s.drive(ctx, append(arguments, keys...)...)
	return err
}

// KeyUntil presses a key until done is closed, once a second: a window that has just come may miss it. Once a key was pressed, the window may
// go at any time, and later keys may fail.
func (s *Screen) KeyUntil(ctx context.Context, w Window, key string, done <-chan struct{}) error {
	again := time.NewTicker(keyPause)
	defer again.Stop()
	for pressed := false; ; {
		err := s.Key(ctx, w, key)
		if pressed = pressed || err == nil; !pressed {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// Click presses the first mouse button at a point of the screen.
func (s *Screen) Click(ctx context.Context, at image.Point) error {
	_, err := s.drive(ctx, "mousemove", strconv.Itoa(at.X), strconv.Itoa(at.Y), "click", "1")
	return err
}

// drive runs xdotool on this screen and returns its output.
func (s *Screen) drive(ctx context.Context, arguments ...string) (string, error) {
	path, err := exec.LookPath("xdotool")
	if err != nil {
		return "", ErrNoDriver
	}
	cmd := exec.CommandContext(ctx, path, arguments...)
	cmd.Env = s.Environ()
	var output, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("xdotool %s: %w: %s", arguments[0], err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}
