package linux_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/netproto/product"
	"collet/platform/testlevel"
)

// here is this machine's target.
func here() product.Target { return product.TargetFor(runtime.GOOS, runtime.GOARCH) }

// player is a user with a home folder, in which a game's files lie below the data folder.
type player struct {
	t    *testing.T
	home string
	game string // path of the program that is started
	log  string // path of the game's log
}

func newPlayer(t *testing.T, game string) player {
	t.Helper()
	p := player{t: t, home: t.TempDir(), game: game}
	p.log = p.data("Lathe.log")
	return p
}

func (p player) data(name ...string) string {
	return filepath.Join(append([]string{p.home, ".local", "share", "Lathe"}, name...)...)
}

// start runs the game without a window to its end and returns what it printed.
func (p player) start(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.game, append(append([]string{"--headless", "--run", "--trust", "sha256"}, args...), "--", "--headless")...)
	cmd.Dir, cmd.Env = p.home, append(os.Environ(), "HOME="+p.home, "XDG_DATA_HOME=", "LANG=C", "GORACE=atexit_sleep_ms=10")
	said, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s", p.game, args, err, said)
	}
	return string(said)
}

// ran fails unless the last release that the game's log speaks of is this one.
func (p player) ran(release int) {
	p.t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	last := bytes.LastIndex(text, []byte("game: release "))
	if want := fmt.Sprintf("game: release %d ", release); last < 0 || !bytes.HasPrefix(text[last:], []byte(want)) {
		p.t.Errorf("the log does not end with %q:\n%s", want, text[max(last, 0):])
	}
}

// keepsake writes a file of the player's own, as a game's screenshots and mods are.
func (p player) keepsake() {
	p.t.Helper()
	if err := os.WriteFile(p.data("Resources", "MyMod.zip"), []byte("mine"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// listing is what lies in a folder: paths, and digests of files or targets of links; folders end in a slash.
func listing(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(folder, name)
		switch {
		case err != nil || rel == ".":
			return err
		case d.IsDir():
			all[rel+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			all[rel], err = os.Readlink(name)
		default:
			var data []byte
			data, err = os.ReadFile(name)
			all[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same fails where two listings differ.
func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s changed or went", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[name]; !there {
			t.Errorf("%s: %s is new", what, name)
		}
	}
}

// only fails where a listing has names outside of some folders.
func only(t *testing.T, what string, got map[string]string, folders ...string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) || strings.HasPrefix(f, name) }) {
			t.Errorf("%s: %s is left", what, name)
		}
	}
}

// run is a command that has to succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	testlevel.Slow(t)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, said)
	}
	return string(said)
}
