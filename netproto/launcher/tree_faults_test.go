package launcher_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"collet/netproto/launcher"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// faulty is a volume with the files of before, and a process on it.
func faulty(t *testing.T) (*faultfs.Disk, *faultfs.FS) {
	t.Helper()
	disk := planted(t)
	return disk, disk.Open(faultfs.Options{})
}

// TestScanWithFaults: what can't be read is a problem of its own and never a wrong hash; a root that can't be listed is an
// error.
func TestScanWithFaults(t *testing.T) {
	for _, c := range []struct {
		rule     faultfs.Rule
		problems []string
		fails    bool
	}{
		{rule: faultfs.Rule{Verb: faultfs.List, Name: "."}, fails: true},
		{rule: faultfs.Rule{Verb: faultfs.List, Name: "dir"}, problems: []string{"dir"}},
		{rule: faultfs.Rule{Verb: faultfs.Stat, Name: "a", Times: 2}, problems: []string{"a"}},
		{rule: faultfs.Rule{Verb: faultfs.Stat, Name: "gone/x"}, problems: []string{"gone/x"}},
		{rule: faultfs.Rule{Verb: faultfs.Open, Name: "big", Err: faultfs.EACCES}, problems: []string{"big"}},
		{rule: faultfs.Rule{Verb: faultfs.Read, Name: "same"}, problems: []string{"same"}},
		{rule: faultfs.Rule{Verb: faultfs.Read, Name: "big", Short: 7}, problems: []string{"big"}},
	} {
		_, fsys := faulty(t)
		fsys.Inject(c.rule)
		tree := launcher.NewTree(fsys, launcher.TreeOptions{})
		layout, problems, err := tree.Scan(t.Context())
		if c.fails != (err != nil) {
			t.Errorf("%+v: %v", c.rule, err)
			continue
		}
		var names []string
		for _, p := range problems {
			names = append(names, p.Path)
		}
		if !slices.Equal(names, c.problems) {
			t.Errorf("%+v: problems %v", c.rule, problems)
		}
		if fsys.Heal(); err == nil {
			expectPart(t, layout, before)
		}
		if layout, problems, err = tree.Scan(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("%+v: healed: %v, %v", c.rule, problems, err)
			continue
		}
		expect(t, layout, before)
	}
}

// expectPart wants every file of a layout to be right.
func expectPart(t *testing.T, layout *launcher.Layout, files map[string]string) {
	t.Helper()
	for _, f := range layout.Files() {
		if content, there := files[f.Path]; !there || f.Hash != launcher.HashOf([]byte(content)) || f.Size != uint64(len(content)) {
			t.Errorf("%+v is wrong", f)
		}
	}
}

// TestSaveWithFaults: a cache that can't be written is an error and nothing else, and the old one stays.
func TestSaveWithFaults(t *testing.T) {
	disk, fsys := faulty(t)
	state := faultfs.New(faultfs.Config{})
	store := state.Open(faultfs.Options{})
	options := launcher.TreeOptions{Cache: store, CacheName: "hashes"}
	tree := launcher.NewTree(fsys, options)
	scan(t, tree)
	if err := tree.Save(); err != nil {
		t.Fatal(err)
	}
	old := state.Files()["hashes"]
	if err := platform.WriteHint(fsys, "more", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []faultfs.Verb{faultfs.Create, faultfs.Write, faultfs.Rename} {
		store.Inject(faultfs.Rule{Verb: verb, Err: faultfs.ENOSPC})
		next := launcher.NewTree(fsys, options)
		scan(t, next)
		if err := next.Save(); !platform.IsDiskFull(err) {
			t.Errorf("%s: %v", verb, err)
		}
		if state.Files()["hashes"] != old {
			t.Errorf("%s: the old cache is lost", verb)
		}
		store.Heal()
		if verb == faultfs.Rename {
			if err := next.Save(); err != nil || state.Files()["hashes"] == old {
				t.Errorf("with the disk healed nothing is saved: %v", err)
			}
		}
	}
	quiet := disk.Open(faultfs.Options{Reads: true})
	scan(t, launcher.NewTree(quiet, options))
	for _, op := range quiet.Ops() {
		if op.Verb == faultfs.Read {
			t.Errorf("%q was read though the cache knows it", op.Name)
		}
	}
}

// TestFilesThatGoMeanwhile: what disappears between listing and reading is simply not there.
func TestFilesThatGoMeanwhile(t *testing.T) {
	_, fsys := faulty(t)
	goes := &watched{FS: fsys}
	goes.fail = func(name string) error {
		if name == "a" {
			return errors.Join(fsys.Remove("a"), nil)
		}
		return nil
	}
	layout, problems, err := launcher.NewTree(goes, launcher.TreeOptions{}).Scan(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if _, there := layout.Find("a"); there || len(layout.Files()) != len(before)-1 {
		t.Errorf("layout %v", layout.Files())
	}
}

// TestTooManyFiles: a folder that nobody can mean is refused before it takes all memory.
func TestTooManyFiles(t *testing.T) {
	testlevel.Lab(t) // it makes 200 001 files
	disk := faultfs.New(faultfs.Config{})
	for i := range launcher.MaxFiles + 1 {
		if err := disk.Plant(fmt.Sprintf("%d/%d", i/1000, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := launcher.NewTree(disk.Open(faultfs.Options{}), launcher.TreeOptions{}).Scan(t.Context()); !errors.Is(err, launcher.ErrTooManyFiles) {
		t.Error(err)
	}
}

// TestDeepFolders: a row of folders in each other without end is cut.
func TestDeepFolders(t *testing.T) {
	disk := faultfs.New(faultfs.Config{NoInodes: true})
	name := ""
	for range 70 {
		name += "d/"
	}
	for _, file := range []string{name + "x", "top"} {
		if err := disk.Plant(file, ""); err != nil {
			t.Fatal(err)
		}
	}
	layout, problems, err := launcher.NewTree(disk.Open(faultfs.Options{}), launcher.TreeOptions{}).Scan(t.Context())
	if err != nil || len(problems) != 1 || len(layout.Files()) != 1 {
		t.Errorf("%v, %v, %v", layout, problems, err)
	}
}
