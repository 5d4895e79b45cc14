package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"collet/build/qa/fileset"
	"collet/build/qa/screen"
)

// enoughColours is how many different colours tell that something was drawn: text alone has more shades than this.
const enoughColours = 8

// checkSwap compares what the log says and what lies on disk with what had to happen.
func (s *story) checkSwap() error {
	l := s.layout
	checks := []struct {
		claim string
		check func() error
	}{
		{"one host process from start to now: " + fmt.Sprint(s.client.PID()), func() error { return s.facts.oneHost(s.client.PID()) }},
		{"release 1 was loaded, then swapped for release 2", func() error {
			return s.facts.oneSwap(l.Old.Compatibility, l.New.Compatibility)
		}},
		{"the module on disk is that of release 2", func() error { return fileset.SameFile(l.LiveModule(), l.New.Module) }},
		{"no staged module is left", func() error { return absent(l.LiveModule() + "-staging") }},
		{"all packs on disk are those of release 2", l.checkPacks},
	}
	if s.display.screen != nil {
		checks = append(checks, struct {
			claim string
			check func() error
		}{"the splash was there during the download", s.checkSplash})
	}
	for _, c := range checks {
		if err := c.check(); err != nil {
			return fmt.Errorf("%s: %w", c.claim, err)
		}
		s.tell.say("check", "%s", c.claim)
	}
	return nil
}

func (s *story) checkSplash() error {
	if s.colours > 0 && !s.splash {
		return fmt.Errorf("the splash shows %d colours only; see %s", s.colours, filepath.Join(s.display.shots, "splash.png"))
	}
	if !s.splash {
		return errors.New("the download was over before it could be photographed; choose a smaller --rate or a larger --data")
	}
	return nil
}

// checkWindow finds the game's window, and wants it to belong to a child of the host and to show release 2.
func (s *story) checkWindow(ctx context.Context) (screen.Window, error) {
	found, cancel := context.WithTimeout(ctx, windowWait)
	defer cancel()
	w, err := s.display.screen.WaitWindow(found, func(w screen.Window) bool { return w.Name == s.layout.New.Window })
	if err != nil {
		return w, fmt.Errorf("no window with the title %q: %w (is SDL2 installed?)", s.layout.New.Window, err)
	}
	s.tell.say("check", "a window is up: %q, %d × %d", w.Name, w.Bounds.Dx(), w.Bounds.Dy())
	if err := s.checkParent(w); err != nil {
		return w, err
	}
	if err := s.display.waitDrawn(ctx, w); err != nil {
		return w, err
	}
	return w, s.display.waitGone(ctx, s.client.PID())
}

// checkParent wants the window's process to be a child of the host that was started for release 1.
func (s *story) checkParent(w screen.Window) error {
	parent, err := parentOf(w.PID)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("process %d of the window: %w", w.PID, err)
	case parent != s.client.PID():
		return fmt.Errorf("the window's process %d is a child of %d, want of the host %d", w.PID, parent, s.client.PID())
	}
	s.tell.say("check", "the window belongs to process %d, a child of the same host %d", w.PID, parent)
	return nil
}

// checkPacks compares every pack of release 2 with the client's.
func (l *Layout) checkPacks() error {
	for _, pack := range l.New.Packs {
		if err := fileset.SameFile(filepath.Join(l.Client(), packFolder, filepath.Base(pack)), pack); err != nil {
			return err
		}
	}
	return nil
}

// absent wants a file not to exist.
func absent(name string) error {
	_, err := os.Lstat(name)
	if err == nil {
		return fmt.Errorf("%s exists", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
