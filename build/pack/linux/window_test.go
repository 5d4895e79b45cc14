package linux_test

import (
	"context"
	"errors"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/qa/screen"
)

// TestWindow installs a package and opens a link as a desktop does: by the desktop file's Exec. The window comes, the update,
// and the game in the same place, which is told of the link. Pictures go to the folder that COLLET_PICTURES names.
func TestWindow(t *testing.T) {
	w := open(t)
	needRoot(t)
	need(t, "dpkg", "xdotool")
	display, err := screen.Start(t.Context(), 1000, 700)
	if errors.Is(err, screen.ErrNoScreen) {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer display.Close()
	p, root := packagers["deb"], t.TempDir()
	p.prepare(t, root)
	p.install(t, root, w.pack(t, p, "1.0", 1))
	ada := newPlayer(t, filepath.Join(root, p.program))

	words := strings.Fields(execOf(t, filepath.Join(root, "usr/share/applications/org.example.lathe.link.desktop")))
	if words[0] != "/usr/games/lathe" || words[len(words)-1] != "%u" {
		t.Fatalf("the desktop runs %q", words)
	}
	words[len(words)-1] = "lathe://join/7"
	server := w.offer(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, words[0]), append([]string{"--trust", "sha256", "--server", server}, words[1:]...)...)
	cmd.WaitDelay = 10 * time.Second // the game may hold the output
	cmd.Env = append(display.Environ(), "HOME="+ada.home, "XDG_DATA_HOME=", "LANG=C")
	said := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	game, err := display.WaitWindow(ctx, func(w screen.Window) bool { return strings.Contains(w.Name, "release 2") })
	if err != nil {
		t.Fatalf("no window of release 2: %v\n%s", err, said)
	}
	picture(t, display)
	ended, done := error(nil), make(chan struct{})
	go func() { ended = cmd.Wait(); close(done) }()
	if err := display.KeyUntil(ctx, game, "Escape", done); err != nil {
		t.Error(err)
	}
	<-done
	if err := ended; err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	log, err := os.ReadFile(ada.log)
	for _, want := range []string{"opened by lathe://join/7", `"message":"set confirmed"`} {
		if err != nil || !strings.Contains(string(log), want) {
			t.Errorf("no %q in the log, %v:\n%s", want, err, log)
		}
	}
}

// execOf is how a desktop file starts its program.
func execOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "Exec="); found {
			return value
		}
	}
	t.Fatalf("no Exec in\n%s", text)
	return ""
}

// picture saves what the screen shows for inspection.
func picture(t *testing.T, display *screen.Screen) {
	t.Helper()
	shot, err := display.Shot()
	if err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv("COLLET_PICTURES")
	if folder == "" {
		return
	}
	out, err := os.Create(filepath.Join(folder, "package.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(out, shot), out.Close()); err != nil {
		t.Error(err)
	}
}
