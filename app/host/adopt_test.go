package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/splash"
	"collet/app/update"
	"collet/assets"
)

// adviser is a window that answers by itself; what it was asked stays in it.
type adviser struct {
	answers []update.Action
	asked   []splash.Dialog
	before  func(splash.Dialog) // called before each answer; may be nil
}

func (a *adviser) Follow(ctx context.Context, w splash.Watcher) { <-ctx.Done() }

func (a *adviser) Ask(_ context.Context, d splash.Dialog) (update.Action, error) {
	if a.asked = append(a.asked, d); a.before != nil {
		a.before(d)
	}
	if len(a.answers) == 0 {
		return update.Quit, splash.ErrGone
	}
	answer := a.answers[0]
	a.answers = a.answers[1:]
	return answer, nil
}

// adopting is a client with settings, beside the folder Old with a game of two files.
func adopting(t *testing.T, settings string) (a *adoption, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{
		"client/Lathe": "client", "client/Lathe.toml": settings, "client/root.json": "root", "client/keys.json": "keys", "Old/game": "program", "Old/saves/1": "mine",
	} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	client := filepath.Join(dir, "client")
	s := setup{exe: filepath.Join(client, "Lathe"), folder: client, base: "Lathe", target: "Linux-x64", paths: paths{install: client, data: client}, log: zerolog.Nop(), texts: assets.TextsFor("en")}
	s.opt = Options{Adopt: filepath.Join(dir, "Old"), Command: []string{"--lang=en", "--adopt", filepath.Join(dir, "Old"), "--", "--level=2"}}
	var err error
	if s.settings, err = s.packed.settings(filepath.Join(client, "Lathe.toml")); err != nil {
		t.Fatal(err)
	}
	return &adoption{setup: &s}, dir
}

func wantTree(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if slices.Sort(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s has %q, want %q; %v", dir, got, want, err)
	}
}

// TestAdoptInWindow: the window shows the plan. After a yes the folder is an install, which the player can start at once.
func TestAdoptInWindow(t *testing.T) {
	t.Parallel()
	a, dir := adopting(t, "")
	window := &adviser{answers: []update.Action{update.Proceed, update.Play}}
	code, again := a.show(t.Context(), window)
	old := filepath.Join(dir, "Old")
	wantTree(t, old, "Lathe", "Lathe.toml", "Resources/game", "Resources/saves/1", "root.json")
	if code != 0 || again == nil || again.exe != filepath.Join(old, "Lathe") || strings.Join(again.args, " ") != "--lang=en --relaunched=0 -- --level=2" {
		t.Errorf("code %d, then %+v", code, again)
	}
	if plan := window.asked[0]; len(window.asked) != 2 || !strings.Contains(plan.Body, "Files in "+old+": 2, 11 B.") || !strings.Contains(plan.Body, filepath.Join(old, "Resources")) {
		t.Errorf("asked %+v", window.asked)
	}
}

// TestAdoptElsewhere: the settings name the folder of the game's files and the trusted root.
func TestAdoptElsewhere(t *testing.T) {
	t.Parallel()
	a, dir := adopting(t, "[Baking]\nClientResources = \"Data/Packs\"\n[Release]\nTrustedRoot = \"keys.json\"\n")
	code, again := a.show(t.Context(), &adviser{answers: []update.Action{update.Proceed, update.Quit}})
	wantTree(t, filepath.Join(dir, "Old"), "Lathe", "Lathe.toml", "Data/Packs/game", "Data/Packs/saves/1", "keys.json")
	if code != 0 || again != nil {
		t.Errorf("code %d, then %+v", code, again)
	}
}

// TestAdoptIntoRoot: a client with a writable root stays where it is, and the game goes into the root.
func TestAdoptIntoRoot(t *testing.T) {
	t.Parallel()
	a, dir := adopting(t, "[Client]\nKind = \"program\"\n")
	root := filepath.Join(dir, "own")
	a.paths.data = root
	for _, err := range []error{os.Mkdir(root, 0o755), os.WriteFile(filepath.Join(a.folder, "Lathe.program"), []byte("description"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	window := &adviser{answers: []update.Action{update.Proceed, update.Play}}
	code, again := a.show(t.Context(), window)
	wantTree(t, root, ".collet/lock", "Lathe.program", "Resources/game", "Resources/saves/1")
	wantTree(t, a.folder, "Lathe", "Lathe.program", "Lathe.toml", "keys.json", "root.json")
	if code != 0 || again == nil || again.exe != a.exe {
		t.Errorf("code %d, then %+v", code, again)
	}
	if plan := window.asked[0]; !strings.Contains(plan.Body, filepath.Join(root, "Resources")) || !strings.Contains(plan.Body, "another drive") {
		t.Errorf("asked %+v", window.asked)
	}
	a.paths.refused = errors.New("no room of one's own")
	window = &adviser{}
	if code, _ := a.show(t.Context(), window); code != exitNotAdopted || !strings.Contains(window.asked[0].Body, "no room") {
		t.Errorf("code %d, asked %+v", code, window.asked)
	}
}

// TestAdoptRefused: without a yes nothing has changed; a failure can be tried again.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]*adviser{"cancel": {answers: []update.Action{update.Quit}}, "closed": {}} {
		a, dir := adopting(t, "")
		if code, again := a.show(t.Context(), window); code != exitNotAdopted || again != nil || len(window.asked) != 1 {
			t.Errorf("%s: code %d, then %+v; asked %d times", name, code, again, len(window.asked))
		}
		wantTree(t, filepath.Join(dir, "Old"), "game", "saves/1")
	}
	a, dir := adopting(t, "")
	way := filepath.Join(dir, "Old.collet")
	if err := os.WriteFile(way, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	window := &adviser{answers: []update.Action{update.Retry, update.Proceed, update.Quit}}
	window.before = func(splash.Dialog) { os.Remove(way) }
	if code, _ := a.show(t.Context(), window); code != 0 || !strings.Contains(window.asked[0].Body, "Old.collet is in the way; move it elsewhere") {
		t.Errorf("code %d, asked %+v", code, window.asked)
	}
	a, _ = adopting(t, "")
	second := &adviser{answers: []update.Action{update.Quit}}
	first := &adviser{answers: []update.Action{update.Quit}, before: func(splash.Dialog) {
		twin := *a
		twin.show(t.Context(), second)
	}}
	if a.show(t.Context(), first); len(second.asked) != 1 || !strings.Contains(second.asked[0].Body, "takes a folder over in another window or terminal") {
		t.Errorf("a second call while the first one asks: %+v", second.asked)
	}
	a, _ = adopting(t, "")
	a.opt.Adopt = a.folder
	if code, _ := a.show(t.Context(), &adviser{}); code != exitNotAdopted {
		t.Errorf("its own folder: code %d", code)
	}
}
