package adopt_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
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
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, dir := range []string{"downloads", filepath.Join("Games", "Lathe"), "Lathe", ".config", filepath.Join("Papiere", "Briefe")} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".config", "user-dirs.dirs"), []byte("XDG_DOCUMENTS_DIR=\"$HOME/Papiere/Briefe\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
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
		{filepath.Join(home, "downloads"), false}, {filepath.Join(home, "Games"), false}, {filepath.Join(link, "Games"), false}, {account.HomeDir, false},
		{filepath.Join(home, "Papiere"), false}, {filepath.Join(home, "Papiere", "Briefe"), false}, {filepath.Join(home, ".config"), false},
		{filepath.Join(home, "Games", "Lathe"), true}, {filepath.Join(home, "Lathe"), true}, {filepath.Join(home, "downloads", "Lathe"), true}, {filepath.Join(home, "Papiere", "Lathe"), true},
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

// TestOneAtATime: while a client is open, or takes a folder over, it takes no other one over. A folder that can't be written has no lock.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	game, own := filepath.Join(dir, "Lathe"), filepath.Join(dir, "client")
	for _, folder := range []string{game, own} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first, err := adopt.OpenBeside(game, own)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adopt.OpenBeside(game, own); !errors.Is(err, adopt.ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := adopt.OpenElsewhere(game, own); !errors.Is(err, adopt.ErrBusy) {
		t.Errorf("one into the client's folder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := adopt.OpenElsewhere(game, own)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adopt.OpenElsewhere(game, own); !errors.Is(err, adopt.ErrBusy) {
		t.Errorf("a second one elsewhere: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.RemoveAll(own), os.Mkdir(own, 0o755), os.WriteFile(filepath.Join(own, ".collet"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	third, err := adopt.OpenBeside(game, own)
	if err != nil {
		t.Fatalf("a folder that can't have a lock: %v", err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}

// TestMeanwhile: a folder that another client made an install after the plan is left alone.
func TestMeanwhile(t *testing.T) {
	disk := plant(t, game)
	fsys := disk.Open(faultfs.Options{})
	p, err := adopt.Look(fsys, "Lathe", "Client", "Resources", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(fsys); err != nil {
		t.Fatal(err)
	}
	if err := adopt.Adopt(fsys, p, client()); !errors.Is(err, adopt.ErrInstalled) || !reflect.DeepEqual(files(disk), installed) {
		t.Errorf("%v, %v", err, files(disk))
	}
}
