package adopt_test

import (
	"errors"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"

	"collet/app/adopt"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// game are the files of a game's folder, with one of the player's that no release has.
var game = map[string]string{"Lathe/game": "program", "Lathe/data/core.pak": "pack", "Lathe/saves/1.sav": "the player's"}

// installed is what becomes of it.
var installed = map[string]string{
	"Lathe/Client": "client", "Lathe/Client.toml": "settings",
	"Lathe/Resources/game": "program", "Lathe/Resources/data/core.pak": "pack", "Lathe/Resources/saves/1.sav": "the player's",
}

func client() []adopt.File {
	return []adopt.File{{Name: "Client", Open: opened("client"), Mode: 0o755}, {Name: "Client.toml", Open: opened("settings"), Mode: 0o644}}
}

func opened(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

func plant(t *testing.T, files map[string]string) *faultfs.Disk {
	t.Helper()
	disk := faultfs.New(faultfs.Config{})
	for name, content := range files {
		if err := disk.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// files are those of a disk, without folders.
func files(disk *faultfs.Disk) map[string]string {
	list := disk.Files()
	maps.DeleteFunc(list, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return list
}

// run is one call of the client.
func run(fsys platform.FS) error { return runIn(fsys, "Resources") }

// runIn is run of a client whose settings have another folder for the game's files.
func runIn(fsys platform.FS, resources string) error {
	p, err := adopt.Look(fsys, "Lathe", "Client", resources, "")
	if err != nil {
		return err
	}
	return adopt.Adopt(fsys, p, client())
}

func TestAdopt(t *testing.T) {
	disk := plant(t, game)
	fsys := disk.Open(faultfs.Options{})
	p, err := adopt.Look(fsys, "Lathe", "Client", "Resources", "")
	if want := (adopt.Plan{Name: "Lathe", Resources: "Resources", Files: 3, Bytes: 23}); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if err := run(fsys); err != nil || !reflect.DeepEqual(files(disk), installed) {
		t.Errorf("%v, %v", err, files(disk))
	}
	if err := run(fsys); !errors.Is(err, adopt.ErrInstalled) {
		t.Errorf("a second time: %v", err)
	}
}

// installedIn is what becomes of the game with another folder for its files.
func installedIn(resources string) map[string]string {
	list := map[string]string{}
	for name, content := range installed {
		list[strings.Replace(name, "/Resources/", "/"+resources+"/", 1)] = content
	}
	return list
}

// TestStops stops the call, and cuts the power, at every operation; the next call finishes, and no file is lost at any time.
func TestStops(t *testing.T) {
	for _, resources := range []string{"Resources", "Data", "Data/Packs/All"} {
		t.Run(resources, func(t *testing.T) { stops(t, resources) })
	}
}

func stops(t *testing.T, resources string) {
	before, want := plant(t, game), installedIn(resources)
	whole := before.Clone().Open(faultfs.Options{})
	if err := runIn(whole, resources); err != nil || !reflect.DeepEqual(files(whole.Disk()), want) {
		t.Fatal(err, files(whole.Disk()))
	}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for k := 1; k <= whole.Count(); k += testlevel.Stride(1, 2) {
		for _, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
			fsys := before.Clone().Open(faultfs.Options{})
			stop(fsys, k)
			if err := runIn(fsys, resources); err == nil && k < whole.Count() {
				t.Fatalf("operation %d was not stopped", k)
			}
			for _, percent := range []int{0, 50, 100} {
				for seed := range seeds {
					after := fsys.Disk().Crash(faultfs.Keep(percent, seed))
					if lost := lostFiles(files(after), resources); lost != "" {
						t.Fatalf("operation %d, %d %%, seed %d: %s is lost: %v", k, percent, seed, lost, files(after))
					}
					err := runIn(after.Open(faultfs.Options{}), resources)
					if err != nil && !errors.Is(err, adopt.ErrInstalled) || !reflect.DeepEqual(files(after), want) {
						t.Fatalf("operation %d, %d %%, seed %d: %v, %v", k, percent, seed, err, files(after))
					}
				}
			}
		}
	}
}

// lostFiles names a file of the game that is not there under any of its names.
func lostFiles(files map[string]string, resources string) string {
	for name, content := range game {
		rest := strings.TrimPrefix(name, "Lathe/")
		if files[name] != content && files["Lathe.collet/"+resources+"/"+rest] != content && files["Lathe/"+resources+"/"+rest] != content {
			return name
		}
	}
	return ""
}

// TestRefused leaves everything as it is.
func TestRefused(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"in the way":      {"Lathe/game": "x", "Lathe.collet/notes": "mine"},
		"no folder":       {"Lathe": "x"},
		"not there":       {"Other": "x"},
		"install already": installed,
	} {
		disk := plant(t, before)
		if err := run(disk.Open(faultfs.Options{})); err == nil || !reflect.DeepEqual(files(disk), before) {
			t.Errorf("%s: %v, %v", name, err, files(disk))
		}
	}
}

// TestBusy has a folder that a running game keeps from being renamed: nothing of it has changed, and the next call works.
func TestBusy(t *testing.T) {
	disk := plant(t, game)
	fsys := disk.Open(faultfs.Options{})
	busy := errors.New("in use")
	if err := run(refusing{fsys, busy}); !errors.Is(err, busy) || files(disk)["Lathe/data/core.pak"] != "pack" {
		t.Errorf("%v, %v", err, files(disk))
	}
	if err := run(fsys); err != nil || !reflect.DeepEqual(files(disk), installed) {
		t.Errorf("%v, %v", err, files(disk))
	}
}

// refusing can't rename the game's folder.
type refusing struct {
	platform.FS
	why error
}

func (r refusing) Rename(from, to string) error {
	if from == "Lathe" {
		return r.why
	}
	return r.FS.Rename(from, to)
}
