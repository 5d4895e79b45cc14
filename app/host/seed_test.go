package host

import (
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"strings"
	"testing"

	"collet/app/install"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// delivered is what an installer put where players can't write.
var delivered = map[string]string{
	"Data/Resources/bin/game": "program", "Data/Resources/maps/one": "level", "Data/Resources/maps/two": "level 2", "Lathe.program": "description",
	"Lathe": "host", "INSTALLED": "",
}

// seeded is what a player's folder has after that.
var seeded = map[string]string{
	"Data/Resources/bin/game": "program", "Data/Resources/maps/one": "level", "Data/Resources/maps/two": "level 2", "Lathe.program": "description",
}

// TestCopySetStops stops the copy of a delivered game, and cuts the power, at every operation. The description is there only with all
// other files, and the next start finishes.
func TestCopySetStops(t *testing.T) {
	installed := faultfs.New(faultfs.Config{})
	for name, content := range delivered {
		if err := installed.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	from := installed.Open(faultfs.Options{})
	seedInto := func(to *faultfs.FS) error { return copySet(t.Context(), from, to, "Data/Resources", "Lathe.program") }
	whole := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	if err := seedInto(whole); err != nil || !reflect.DeepEqual(filesOf(whole.Disk()), seeded) {
		t.Fatalf("%v, %v", err, filesOf(whole.Disk()))
	}
	for k := 1; k <= whole.Count(); k += testlevel.Stride(1, 2) {
		for _, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter} {
			fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
			stop(fsys, k)
			if err := seedInto(fsys); err == nil && k < whole.Count() {
				t.Fatalf("operation %d was not stopped", k)
			}
			for _, percent := range []int{0, 50, 100} {
				for seed := range uint64(3) {
					after := fsys.Disk().Crash(faultfs.Keep(percent, seed))
					left := filesOf(after)
					if _, begun := left["Lathe.program"]; begun && !reflect.DeepEqual(left, seeded) {
						t.Fatalf("operation %d, %d %%, seed %d: an incomplete game would start: %v", k, percent, seed, left)
					}
					if err := seedInto(after.Open(faultfs.Options{})); err != nil || !reflect.DeepEqual(filesOf(after), seeded) {
						t.Fatalf("operation %d, %d %%, seed %d: then %v, %v", k, percent, seed, err, filesOf(after))
					}
				}
			}
		}
	}
}

// unreadable is a file system whose resources can't be looked at.
type unreadable struct{ *faultfs.FS }

func (u unreadable) Stat(name string) (fs.FileInfo, error) {
	if name == "Data/Resources" {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return u.FS.Stat(name)
}

// TestCopySetUnreadable: resources that can't be looked at are an error, and no description makes an install without them.
func TestCopySetUnreadable(t *testing.T) {
	installed := faultfs.New(faultfs.Config{})
	for name, content := range delivered {
		if err := installed.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	to := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	err := copySet(t.Context(), unreadable{installed.Open(faultfs.Options{})}, to, "Data/Resources", "Lathe.program")
	if left := filesOf(to.Disk()); !errors.Is(err, fs.ErrPermission) || len(left) > 0 {
		t.Errorf("%v, and %v is there", err, left)
	}
}

// TestCopyOnce: while another start copies the game, or after it has, nothing is written over what that one may have updated.
func TestCopyOnce(t *testing.T) {
	installed := faultfs.New(faultfs.Config{})
	for name, content := range delivered {
		if err := installed.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	from := installed.Open(faultfs.Options{})
	to := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	seedIt := func() map[string]string {
		t.Helper()
		if err := copyOnce(t.Context(), from, to, "Data/Resources", "Lathe.program"); err != nil {
			t.Fatal(err)
		}
		list := filesOf(to.Disk())
		maps.DeleteFunc(list, func(name, _ string) bool { return strings.HasPrefix(name, install.StateDir+"/") })
		return list
	}
	other, err := install.Lock(to)
	if err != nil {
		t.Fatal(err)
	}
	if got := seedIt(); len(got) > 0 {
		t.Errorf("beside another start, %v was copied", got)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if got := seedIt(); !reflect.DeepEqual(got, seeded) {
		t.Errorf("alone, got %v", got)
	}
	if err := platform.WriteFile(to, "Data/Resources/maps/one", []byte("updated")); err != nil {
		t.Fatal(err)
	}
	if got := seedIt(); got["Data/Resources/maps/one"] != "updated" {
		t.Errorf("an update was overwritten: %v", got)
	}
}

// filesOf are the files of a disk, without folders.
func filesOf(disk *faultfs.Disk) map[string]string {
	list := disk.Files()
	maps.DeleteFunc(list, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return list
}
