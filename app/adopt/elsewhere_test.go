package adopt_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/app/adopt"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// rooted is what becomes of the game in a writable root, which is the disk itself.
var rooted = map[string]string{
	"Client.program":           "description",
	"Data/Packs/game":          "program",
	"Data/Packs/data/core.pak": "pack", "Data/Packs/saves/1.sav": "the player's",
}

// elsewhere has the folders of a disk; without above, the game is on another volume.
func elsewhere(fsys *faultfs.FS, above bool) *adopt.Elsewhere {
	e := &adopt.Elsewhere{Parent: fsys, Root: fsys}
	if above {
		e.Above, e.Game, e.Own = fsys, "Lathe", "."
	}
	return e
}

func runElsewhere(t *testing.T, e *adopt.Elsewhere) error {
	p, err := e.Look("Lathe", "Data/Packs", "")
	if err != nil {
		return err
	}
	return e.Adopt(t.Context(), p, []adopt.File{{Name: "Client.program", Open: opened("description"), Mode: 0o644}})
}

// TestElsewhere stops the call, and cuts the power, at every operation. At any time the game is whole in one of its two places, and the next
// call finishes, or says that the client starts with it.
func TestElsewhere(t *testing.T) {
	for name, moves := range map[string]bool{"moved": true, "copied": false} {
		t.Run(name, func(t *testing.T) { stopsElsewhere(t, moves) })
	}
}

func stopsElsewhere(t *testing.T, moves bool) {
	before, want := plant(t, game), maps.Clone(rooted)
	if !moves {
		maps.Copy(want, game)
	}
	whole := before.Clone().Open(faultfs.Options{})
	if err := runElsewhere(t, elsewhere(whole, moves)); err != nil || !reflect.DeepEqual(files(whole.Disk()), want) {
		t.Fatal(err, files(whole.Disk()))
	}
	for k := 1; k <= whole.Count(); k += testlevel.Stride(1, 2) {
		for _, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
			fsys := before.Clone().Open(faultfs.Options{})
			stop(fsys, k)
			if err := runElsewhere(t, elsewhere(fsys, moves)); err == nil && k < whole.Count() {
				t.Fatalf("operation %d was not stopped", k)
			}
			for _, percent := range []int{0, 50, 100} {
				for seed := range uint64(2) {
					after := fsys.Disk().Crash(faultfs.Keep(percent, seed))
					begun := holds(files(after), "Data/Packs/")
					if !holds(files(after), "Lathe/") && !begun {
						t.Fatalf("operation %d, %d %%, seed %d: the game is in no place: %v", k, percent, seed, files(after))
					}
					err := runElsewhere(t, elsewhere(after.Open(faultfs.Options{}), moves))
					got := files(after)
					if begun { // the call was nearly done
						got["Client.program"] = want["Client.program"]
						delete(got, "Client.program.part")
					} else if err != nil {
						t.Fatalf("operation %d, %d %%, seed %d: %v", k, percent, seed, err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("operation %d, %d %%, seed %d: %v, %v", k, percent, seed, err, got)
					}
				}
			}
		}
	}
}

// holds reports whether a folder has the whole game.
func holds(files map[string]string, folder string) bool {
	for name, content := range game {
		if files[folder+strings.TrimPrefix(name, "Lathe/")] != content {
			return false
		}
	}
	return true
}

// TestElsewhereOtherVolume: a rename that fails for that reason becomes a copy; the old folder stays. Without room nothing is begun.
func TestElsewhereOtherVolume(t *testing.T) {
	disk := plant(t, game)
	e := elsewhere(disk.Open(faultfs.Options{}), true)
	e.Above = refusing{e.Above, faultfs.EXDEV}
	want := maps.Clone(rooted)
	maps.Copy(want, game)
	if err := runElsewhere(t, e); err != nil || !reflect.DeepEqual(files(disk), want) {
		t.Errorf("%v, %v", err, files(disk))
	}
	disk = plant(t, game)
	e = elsewhere(disk.Open(faultfs.Options{}), false)
	e.Root = full{e.Root}
	if err := runElsewhere(t, e); err == nil || !strings.Contains(err.Error(), "has room for 0 MB") || !reflect.DeepEqual(files(disk), game) {
		t.Errorf("%v, %v", err, files(disk))
	}
}

// full has no room.
type full struct{ platform.FS }

func (full) Free() (uint64, error) { return 1, nil }

// TestElsewhereRefused leaves everything as it is.
func TestElsewhereRefused(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"played before": {"Lathe/game": "x", "Data/Packs/core.pak": "newer"},
		"no folder":     {"Lathe": "x"},
		"not there":     {"Other": "x"},
		"moved before":  {"Data/Packs/core.pak": "x"},
	} {
		disk := plant(t, before)
		if err := runElsewhere(t, elsewhere(disk.Open(faultfs.Options{}), true)); err == nil || !reflect.DeepEqual(files(disk), before) ||
			strings.Contains(err.Error(), "start it") != holdsAny(before, "Data/Packs/") {
			t.Errorf("%s: %v, %v", name, err, files(disk))
		}
	}
	disk := plant(t, game)
	e := elsewhere(disk.Open(faultfs.Options{}), true)
	e.Above = refusing{e.Above, faultfs.EBUSY}
	if err := runElsewhere(t, e); !errors.Is(err, faultfs.EBUSY) || !reflect.DeepEqual(files(disk), game) {
		t.Errorf("in use: %v, %v", err, files(disk))
	}
}

// holdsAny reports whether a folder has a file.
func holdsAny(files map[string]string, folder string) bool {
	for name := range files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

// TestOpenElsewhere finds the folder above both places, through links.
func TestOpenElsewhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"home/ada/Lathe", "home/ada/.local/Root/Resources"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "home"), filepath.Join(dir, "link")); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	game, root := filepath.Join(dir, "link", "ada", "Lathe"), filepath.Join(dir, "home", "ada", ".local", "Root")
	e, err := adopt.OpenElsewhere(game, root)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Above.Path(e.Game) + " " + e.Above.Path(e.Own); got != filepath.Join(dir, "home", "ada", "Lathe")+" "+root {
		t.Errorf("got %s", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := adopt.OpenElsewhere(filepath.Join(dir, "home"), root); err == nil || !strings.Contains(err.Error(), "lies in that folder") {
		t.Errorf("the root in the game's folder: %v", err)
	}
	e, err = adopt.OpenElsewhere(filepath.Join(root, "Resources"), root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Look("Resources", "Resources", ""); !errors.Is(err, adopt.ErrInstalled) {
		t.Errorf("the install's own folder: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
