package adopt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"collet/app/adopt"
	"collet/platform/faultfs"
	"collet/runtime/program"
)

// TestCheck: a folder that is shared with other things is not taken for a game's.
func TestCheck(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ada")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, dir := range []string{"Downloads", filepath.Join("Games", "Lathe"), "Lathe"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		dir  string
		good bool
	}{
		{filepath.VolumeName(home) + string(filepath.Separator), false}, {filepath.Dir(home), false}, {home, false}, {link, false}, {os.TempDir(), false},
		{filepath.Join(home, "Downloads"), false}, {filepath.Join(home, "Games"), false},
		{filepath.Join(home, "Games", "Lathe"), true}, {filepath.Join(home, "Lathe"), true}, {filepath.Join(home, "Downloads", "Lathe"), true},
	} {
		if err := adopt.Check(of.dir); (err == nil) != of.good || err != nil && !errors.Is(err, adopt.ErrNotAGame) {
			t.Errorf("%s: %v", of.dir, err)
		}
	}
}

// TestNotAGame: a folder without files, or without the program of the description, stays as it is.
func TestNotAGame(t *testing.T) {
	data, err := program.Description{Name: "Lathe", Program: "bin/game", Build: "1", Ready: program.Ready{Seconds: 5}, Exit: program.Exit{Clean: []int64{0}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	description := filepath.Join(t.TempDir(), "Lathe.program")
	if err := os.WriteFile(description, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		files map[string]string
		good  bool
	}{
		{map[string]string{"Lathe/": ""}, false}, {nil, false}, {map[string]string{"Lathe/letter.txt": "dear"}, false}, {map[string]string{"Lathe/bin/game": "game"}, true},
	} {
		disk := faultfs.New(faultfs.Config{})
		for name, content := range of.files {
			if name == "Lathe/" {
				err = disk.Open(faultfs.Options{}).MkdirAll("Lathe/saves", 0o755)
			} else {
				err = disk.Plant(name, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []string{description, ""} {
			_, err := adopt.Look(disk.Open(faultfs.Options{}), "Lathe", "Client", "Resources", d)
			good := of.good || d == "" && of.files["Lathe/letter.txt"] != ""
			if (err == nil) != good || err != nil && !errors.Is(err, adopt.ErrNotAGame) {
				t.Errorf("%v with description %q: %v", of.files, d, err)
			}
		}
	}
}
