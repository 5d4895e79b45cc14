package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// faulty is a volume with the files of before, and a process on it.
func faulty(t *testing.T) (*faultfs.Disk, *faultfs.FS) {
	t.Helper()
	disk := launchertest.Planted(t)
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
		folder := tree.New(fsys, tree.Options{})
		layout, problems, err := folder.Scan(t.Context())
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
			expectPart(t, layout, launchertest.Before)
		}
		if layout, problems, err = folder.Scan(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("%+v: healed: %v, %v", c.rule, problems, err)
			continue
		}
		launchertest.Expect(t, layout, launchertest.Before)
	}
}

// expectPart wants every file of a layout to be right.
func expectPart(t *testing.T, layout *wire.Layout, files map[string]string) {
	t.Helper()
	for _, f := range layout.Files() {
		if content, there := files[f.Path]; !there || f.Hash != wire.HashOf([]byte(content)) || f.Size != uint64(len(content)) {
			t.Errorf("%+v is wrong", f)
		}
	}
}

// TestSaveWithFaults: a cache that can't be written is an error and nothing else, and the old one stays.
func TestSaveWithFaults(t *testing.T) {
	disk, fsys := faulty(t)
	state := faultfs.New(faultfs.Config{})
	store := state.Open(faultfs.Options{})
	options := tree.Options{Cache: store, CacheName: "hashes"}
	folder := tree.New(fsys, options)
	scan(t, folder)
	if err := folder.Save(); err != nil {
		t.Fatal(err)
	}
	old := state.Files()["hashes"]
	if err := platform.WriteHint(fsys, "more", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []faultfs.Verb{faultfs.Create, faultfs.Write, faultfs.Rename} {
		store.Inject(faultfs.Rule{Verb: verb, Err: faultfs.ENOSPC})
		next := tree.New(fsys, options)
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
	scan(t, tree.New(quiet, options))
	for _, op := range quiet.Ops() {
		if op.Verb == faultfs.Read {
			t.Errorf("%q was read though the cache knows it", op.Name)
		}
	}
}

// TestFilesThatGoMeanwhile: what disappears between listing and reading is simply not there.
func TestFilesThatGoMeanwhile(t *testing.T) {
	_, fsys := faulty(t)
	goes := &launchertest.Watched{FS: fsys}
	goes.Fail = func(name string) error {
		if name == "a" {
			return errors.Join(fsys.Remove("a"), nil)
		}
		return nil
	}
	layout, problems, err := tree.New(goes, tree.Options{}).Scan(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if _, there := layout.Find("a"); there || len(layout.Files()) != len(launchertest.Before)-1 {
		t.Errorf("layout %v", layout.Files())
	}
}

// TestTooManyFiles: a folder with too many files is rejected before it takes all memory.
func TestTooManyFiles(t *testing.T) {
	testlevel.Lab(t) // it makes 200 001 files
	disk := faultfs.New(faultfs.Config{})
	for i := range wire.MaxFiles + 1 {
		if err := disk.Plant(fmt.Sprintf("%d/%d", i/1000, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tree.New(disk.Open(faultfs.Options{}), tree.Options{}).Scan(t.Context()); !errors.Is(err, tree.ErrTooManyFiles) {
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
	layout, problems, err := tree.New(disk.Open(faultfs.Options{}), tree.Options{}).Scan(t.Context())
	if err != nil || len(problems) != 1 || len(layout.Files()) != 1 {
		t.Errorf("%v, %v, %v", layout, problems, err)
	}
}
