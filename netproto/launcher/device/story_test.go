package device_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// randomTree is a tree of a few files, in which names are files in one and folders in another.
func randomTree(dice *rand.Rand) map[string]string {
	tree := map[string]string{}
	names := []string{"a", "b", "c"}
	for range dice.IntN(7) {
		name := names[dice.IntN(3)]
		for range dice.IntN(3) {
			name += "/" + names[dice.IntN(3)]
		}
		content := strings.Repeat(fmt.Sprint(dice.IntN(3)), dice.IntN(4)*dice.IntN(200))
		if len(content) > 300 && dice.IntN(2) == 0 {
			content = content[:200] + "changed" + content[207:]
		}
		if fits(tree, name) {
			tree[name] = content
		}
	}
	return tree
}

// fits reports whether a name is neither a folder of the tree nor below a file of it.
func fits(tree map[string]string, name string) bool {
	for other := range tree {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return false
		}
	}
	return true
}

// TestRandomStories: one device follows a row of random trees, in which folders become files and back, with other processes
// of the machine in between that damage files. After each push it has exactly the files of the tree, and no folder more.
func TestRandomStories(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			for seed := uint64(0); seed < 12; seed += uint64(testlevel.Stride(1, 4)) { // in each sample, all kinds of volumes
				dice := rand.New(rand.NewPCG(seed, 1))
				disk := faultfs.New(faultfs.Config{NoInodes: seed%3 == 1, FoldCase: seed%3 == 2})
				desk := greeted(t, setting{fsys: disk.Open(faultfs.Options{}), protocol: m.protocol, name: "d"})
				have := map[string]string{}
				for step := range 12 {
					damaged := damage(t, dice, disk, have)
					want := randomTree(dice)
					if !m.push(desk, damaged, want) || !maps.Equal(filesOf(disk), want) {
						t.Fatalf("seed %d step %d: after %.300q the files are %.300q, want %.300q", seed, step, damaged, filesOf(disk), want)
					}
					expectFolders(t, disk, want)
					have = want
				}
				desk.stop()
			}
		})
	}
}

// damage changes a file behind the device's back, sometimes, and returns what is there then.
func damage(t *testing.T, dice *rand.Rand, disk *faultfs.Disk, have map[string]string) map[string]string {
	t.Helper()
	have = maps.Clone(have)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if dice.IntN(4) > 0 {
			continue
		}
		have[name] = strings.Repeat("!", len(have[name])+dice.IntN(2))
		if err := platform.WriteHint(disk.Open(faultfs.Options{}), name, []byte(have[name])); err != nil {
			t.Fatal(err)
		}
	}
	return have
}

// expectFolders wants the folders of the files, and those of the device.
func expectFolders(t *testing.T, disk *faultfs.Disk, files map[string]string) {
	t.Helper()
	want := map[string]bool{wire.StateFolder + "/": true, wire.StateFolder + "/parts/": true}
	for name := range files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			want[folder+"/"] = true
		}
	}
	for name := range disk.Files() {
		if strings.HasSuffix(name, "/") && !want[name] {
			t.Errorf("the folder %q is left", name)
		}
	}
}
