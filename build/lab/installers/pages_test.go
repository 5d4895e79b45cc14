package installers

import (
	"context"
	"image"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/build/pack/windows"
	"collet/build/qa/screen"
)

// TestRunningOnWindows: a setup without questions waits for a game that ends, and gives up where it goes on.
func TestRunningOnWindows(t *testing.T) {
	computers(t, "makensis")
	c := &computer{t: t, kind: "nsis", scope: windows.User}
	c.new = c.build("1.4.2", playerProgram(t))
	c.Prefix = wine.For(t, wine.Options{})
	if code := c.install(c.new); code != 0 {
		t.Fatalf("code %d", code)
	}
	stop := c.start("sleep=600")
	if code := c.install(c.new); code != 32 {
		t.Errorf("over a running game: code %d, want 32", code)
	}
	if code := c.code(filepath.Join(c.folder(), uninstaller), "/S", "_?="+c.name(c.folder())); code != 32 {
		t.Errorf("removing a running game: code %d, want 32", code)
	}
	if !same(c.within(), c.delivered()) {
		t.Errorf("meanwhile %q are installed", c.within())
	}
	time.AfterFunc(time.Second, stop)
	if code := c.install(c.new); code != 0 {
		t.Errorf("over a game that ends: code %d", code)
	}
}

// start starts the game, and returns when it runs, with what ends it.
func (c *computer) start(args ...string) (stop func()) {
	c.t.Helper()
	played := filepath.Join(c.local(), "Lathe", "played")
	cmd := c.Command(c.t.Context(), filepath.Join(c.folder(), "Lathe.exe"), args...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, func() bool { return exists(played) }, "the game does not start")
	return func() {
		cmd.Process.Kill() // its end is what the test waits for
		cmd.Wait()
	}
}

// TestPagesOnWindows goes through the windows of a setup and of what it leaves to remove the game, with the keys that a player without a
// mouse has.
func TestPagesOnWindows(t *testing.T) {
	computers(t, "makensis", "xdotool")
	c := &computer{t: t, kind: "nsis", scope: windows.User}
	c.new = c.build("1.4.2", playerProgram(t))
	c.Prefix = wine.For(t, wine.Options{Screen: image.Pt(900, 700)})
	c.press(c.new, "Setup", "EULA, folder, start", func() bool { return exists(filepath.Join(c.local(), "Lathe", "played")) })
	if !same(c.within(), c.delivered()) || len(c.links()) != 2 {
		t.Errorf("installed are %q with the shortcuts %q", c.within(), c.links())
	}
	c.press(filepath.Join(c.folder(), uninstaller), "Uninstall", "sure", func() bool { return !exists(c.folder()) })
	if links := c.links(); links != nil {
		t.Errorf("shortcuts %q are left", links)
	}
}

// press answers every page of a program with Return until it is done.
func (c *computer) press(program, title, what string, done func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	cmd := c.Command(ctx, program)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	w, err := c.Screen().WaitWindow(ctx, func(w screen.Window) bool { return strings.Contains(w.Name, title) })
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	again := time.NewTicker(500 * time.Millisecond) // as a player does: a page needs time to come
	defer again.Stop()
	for !done() {
		if err := c.Screen().Key(ctx, w, "Return"); err != nil && !done() {
			c.t.Logf("%s: %v", what, err) // the window goes between two keys
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("%s: still not done", what)
		case <-again.C:
		}
	}
	cmd.Wait()
}
