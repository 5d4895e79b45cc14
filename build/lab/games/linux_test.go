package games

import (
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"collet/build/qa/screen"
)

// size is that of the screens, in pixels.
var size = image.Pt(1024, 768)

// linux is a computer with Linux: a screen, a home of its own, and the system's libraries.
type linux struct {
	t      *testing.T
	on     *screen.Screen
	home   string
	hidden []string // the command by which folders are hidden; nil where the system does not let this user do so
}

func newLinux(t *testing.T, hidden []string) *linux {
	t.Helper()
	on, err := screen.Start(t.Context(), size.X, size.Y)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(func() { on.Close() })
	return &linux{t, on, t.TempDir(), hiding(t, hidden)}
}

// hiding returns the command that starts another one where the system's own games are not there.
func hiding(t *testing.T, folders []string) []string {
	script := ""
	for _, folder := range folders {
		if _, err := os.Stat(folder); err == nil {
			script += fmt.Sprintf("mount -t tmpfs none %s && ", folder)
		}
	}
	script += `exec "$@"`
	for _, flags := range []string{"-m", "-rm"} {
		command := []string{"unshare", flags, "sh", "-c", script, "sh"}
		if exec.Command(command[0], append(command[1:], "true")...).Run() == nil {
			return command
		}
	}
	t.Log("NOT TESTED: this user can't hide folders; the game may find its installed data")
	return nil
}

func (l *linux) format() string { return "Linux-x64/tar.gz" }

func (l *linux) screen() *screen.Screen { return l.on }

func (l *linux) install(archive string) string {
	l.t.Helper()
	dir := l.t.TempDir()
	if said, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		l.t.Fatalf("tar: %v\n%s", err, said)
	}
	return onlyIn(l.t, dir)
}

// onlyIn returns the only entry of a folder.
func onlyIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%s has %d entries, want 1: %v", dir, len(entries), err)
	}
	return filepath.Join(dir, entries[0].Name())
}

func (l *linux) command(folder string, args ...string) *exec.Cmd {
	words := append(append([]string{}, l.hidden...), filepath.Join(folder, filepath.Base(folder)))
	words = append(words, args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = folder
	for _, entry := range l.on.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "HOME" && name != "PATH" && !strings.HasPrefix(name, "XDG_DATA") && !strings.HasPrefix(name, "XDG_CONFIG") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+l.home, "PATH=/usr/bin:/bin", "SDL_AUDIODRIVER=dummy") // some games don't start without a sound card
	return cmd
}

// ask is what a desktop does when the session ends.
func (l *linux) ask(h *host) {
	l.t.Helper()
	must(l.t, h.cmd.Process.Signal(syscall.SIGTERM))
}
