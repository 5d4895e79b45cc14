package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shape is a component of these tests; an id of 0 is left to the lock.
func shapeOf(name, typ string, id int) string {
	own := ""
	if id != 0 {
		own = fmt.Sprintf(" Id=%q", fmt.Sprint(id))
	}
	return fmt.Sprintf(`<Component Name=%q%s><NetworkProperty Type=%q Name="Value"/></Component>`, name, own, typ)
}

// When the projects of branches were built: before they branched, in ours, in theirs, and merged.
const (
	branched   epoch = "1770000000"
	byUs       epoch = "1771000000"
	byThem     epoch = "1772000000"
	whenMerged epoch = "1773000000"
)

// branches are two checkouts of one project, as two people have them who begin with the same commit.
func branches(t *testing.T) (ours, theirs string) {
	t.Helper()
	base := layOut(t, map[string]string{
		projectFile: `{"logic": 3, "supported_min": 2, "declarations": ["*.xml"], "header": "components.h", "package": "game", "library": "collet/netproto/compat"}`,
		"boat.xml":  shapeOf("Boat", "float", 0), "crane.xml": shapeOf("Crane", "float", 0),
	})
	mustAt(t, branched, "gen", base)
	for _, dir := range []*string{&ours, &theirs} {
		*dir = t.TempDir()
		if err := os.CopyFS(*dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
	}
	return ours, theirs
}

// merged is a lock as a merge by hand makes it of two: all components of both, those of ours where both have one.
func merged(t *testing.T, ours, theirs string) string {
	t.Helper()
	var a, b lock
	for path, l := range map[string]*lock{ours: &a, theirs: &b} {
		if err := json.Unmarshal([]byte(readText(t, filepath.Join(path, "compat.lock"))), l); err != nil {
			t.Fatal(err)
		}
	}
	all := maps.Clone(b.Components)
	maps.Copy(all, a.Components)
	a.Components = all
	data, err := a.encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func lockOf(t *testing.T, dir string) *lock {
	t.Helper()
	l, err := openLock(filepath.Join(dir, "compat.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMergeOfTwoBranches: two people each add a component, and merge. Both have been given the same id, which is told with both names;
// with an id of its own for one of them everything is right, and nothing else has changed.
func TestMergeOfTwoBranches(t *testing.T) {
	t.Parallel()
	ours, theirs := branches(t)
	put(t, ours, map[string]string{"ferry.xml": shapeOf("Ferry", "float", 0)})
	mustAt(t, byUs, "gen", ours)
	put(t, theirs, map[string]string{"radio.xml": shapeOf("Radio", "double", 0)})
	mustAt(t, byThem, "gen", theirs)
	put(t, ours, map[string]string{"radio.xml": shapeOf("Radio", "double", 0), "compat.lock": merged(t, ours, theirs)})
	_, _, err := compatgen(t, "gen", ours)
	if err == nil || !strings.Contains(err.Error(), "component Radio has the id 3 of Ferry") {
		t.Fatalf("two components with one id: %v", err)
	}
	put(t, ours, map[string]string{"radio.xml": shapeOf("Radio", "double", 4)})
	mustAt(t, byThem, "gen", ours)
	must(t, "check", ours)
	l := lockOf(t, ours)
	for name, want := range map[string]struct {
		id uint16
		at int64
	}{"Boat": {1, 1770000000}, "Crane": {2, 1770000000}, "Ferry": {3, 1771000000}, "Radio": {4, 1772000000}} {
		if got := l.Components[name]; got.ID != want.id || got.ChangedAt != want.at || got.Gone {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestMergeOfTwoChanges: both people change one component. Whichever lock the merge took, gen makes it that of the source. What
// neither lock has is dated as a change of the merge.
func TestMergeOfTwoChanges(t *testing.T) {
	t.Parallel()
	ours, theirs := branches(t)
	put(t, ours, map[string]string{"boat.xml": shapeOf("Boat", "double", 0)})
	mustAt(t, byUs, "gen", ours)
	put(t, theirs, map[string]string{"boat.xml": shapeOf("Boat", "int32_t", 0)})
	mustAt(t, byThem, "gen", theirs)
	for name, row := range map[string]struct {
		lock, source string
		date         int64
	}{
		"all of ours": {ours, "double", 1771000000}, "their source, our lock": {ours, "int32_t", 1773000000},
		"all of theirs": {theirs, "int32_t", 1772000000}, "a third one": {theirs, "uint8_t", 1773000000},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(row.lock)); err != nil {
			t.Fatal(err)
		}
		put(t, dir, map[string]string{"boat.xml": shapeOf("Boat", row.source, 0)})
		mustAt(t, whenMerged, "gen", dir)
		must(t, "check", dir)
		if got := lockOf(t, dir).Components; got["Boat"].ChangedAt != row.date || got["Crane"].ChangedAt != 1770000000 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestConflictMarkers: a lock, a manifest and a table with the marks of a merge are not taken for anything else.
func TestConflictMarkers(t *testing.T) {
	t.Parallel()
	ours, _ := branches(t)
	lockText := readText(t, filepath.Join(ours, "compat.lock"))
	put(t, ours, map[string]string{"compat.lock": "<<<<<<< ours\n" + lockText + "=======\n" + lockText + ">>>>>>> theirs\n"})
	for _, command := range []string{"gen", "check"} {
		if said, _, err := compatgen(t, command, ours); err == nil || !strings.Contains(said+err.Error(), "compat.lock") {
			t.Errorf("%s: %v", command, err)
		}
	}
	put(t, ours, map[string]string{"compat.lock": lockText})
	for _, output := range []string{"compat_gen.go", "components.h", "manifest.json"} {
		right := readText(t, filepath.Join(ours, output))
		put(t, ours, map[string]string{output: "<<<<<<< ours\n" + right + "=======\n>>>>>>> theirs\n"})
		if said, _, err := compatgen(t, "check", ours); err == nil || !strings.Contains(said, output+" is stale") {
			t.Errorf("%s: %v, %s", output, err, said)
		}
		must(t, "gen", ours)
		if got := readText(t, filepath.Join(ours, output)); got != right {
			t.Errorf("%s is not what it was:\n%s", output, got)
		}
	}
}

// TestLostLock: without its lock a project whose components have no ids of their own numbers them anew, which the check against what was
// released notices; with ids of their own nothing changes but dates.
func TestLostLock(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][2]int{"of the lock": {0, 0}, "of their own": {1, 2}} {
		dir := layOut(t, map[string]string{
			projectFile: `{"logic": 3, "declarations": ["*.xml"]}`,
			"b.xml":     shapeOf("Boat", "float", ids[0]), "c.xml": shapeOf("Crane", "float", ids[1]),
		})
		must(t, "gen", dir)
		must(t, "release", dir)
		put(t, dir, map[string]string{"a.xml": shapeOf("Anchor", "float", 0)})
		if err := os.Remove(filepath.Join(dir, "compat.lock")); err != nil {
			t.Fatal(err)
		}
		must(t, "gen", dir)
		said, _, err := compatgen(t, "check", dir)
		renumbered := strings.Contains(said, "component Boat, as logic version 3 sees it, has the id") || strings.Contains(said, "component Crane, as logic version 3 sees it, has the id")
		if err == nil || renumbered != (ids[0] == 0) {
			t.Errorf("ids %s: %v\n%s", name, err, said)
		}
	}
}

// TestClassesOfEdits goes from an edit of a declaration through the generator to what both ends say of it, for each class and for each way
// in which builds can stand to each other.
func TestClassesOfEdits(t *testing.T) {
	t.Parallel()
	old := compat.Build{Time: 1770802200, Seq: 812, Branch: "main", ID: "old"}
	young := compat.Build{Time: 1772460300, Seq: 841, Branch: "main", ID: "young"}
	other := compat.Build{Branch: "mine"}
	for _, edit := range []struct {
		name          string
		change        func(t *testing.T, dir string)
		logic         string // of the changed build
		component     string
		class         [3]compat.Class // the changed end is younger, older, and the age is unknown
		onlyIfChanged compat.Side     // empty: on both
	}{
		{"a property of a nested type", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "components", "Tide.AutoComponent.xml"), `Type="float" Name="Level"`, `Type="double" Name="Level"`)
		}, "", "Harbour.TideComponent", [3]compat.Class{compat.ClassModified, compat.ClassModified, compat.ClassModified}, ""},
		{"another id", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "components", "Ferry.AutoComponent.xml"), `Id="40"`, `Id="41"`)
		}, "", "Harbour.FerryComponent", [3]compat.Class{compat.ClassRenumbered, compat.ClassRenumbered, compat.ClassRenumbered}, ""},
		{"a new component", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"components/Buoy.AutoComponent.xml": shapeOf("Buoy", "float", 0)})
		}, "", "Buoy", [3]compat.Class{compat.ClassAdded, compat.ClassRemoved, compat.ClassOneSided}, "changed"},
		{"a component less", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "components", "Radio.AutoComponent.xml")); err != nil {
				t.Fatal(err)
			}
		}, "", "Harbour.RadioComponent", [3]compat.Class{compat.ClassRemoved, compat.ClassAdded, compat.ClassOneSided}, "kept"},
		{"a new component of a new logic version", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"components/Buoy.AutoComponent.xml": strings.Replace(shapeOf("Buoy", "float", 0), "<Component ", `<Component Since="8" `, 1)})
			change(t, filepath.Join(dir, projectFile), `"logic": 7`, `"logic": 8`)
		}, "", "Buoy", [3]compat.Class{compat.ClassAdded, compat.ClassAdded, compat.ClassAdded}, "changed"},
	} {
		dir := harbour(t)
		must(t, "gen", dir)
		for way, builds := range [3][2]compat.Build{{old, young}, {young, old}, {old, other}} {
			changed := t.TempDir()
			if err := os.CopyFS(changed, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			edit.change(t, changed)
			mustAt(t, "1772460300", "gen", changed)
			kept, made := shipped(t, dir, builds[0]), shipped(t, changed, builds[1])
			for _, server := range []*compat.Manifest{kept, made} {
				client := made
				if server == made {
					client = kept
				}
				d := compat.DiffManifests(server, client)
				items := slices.DeleteFunc(slices.Clone(d.Items), func(i compat.Difference) bool { return i.Name != edit.component })
				if len(items) != 1 || len(d.Items) != 1 && edit.name != "a new component of a new logic version" {
					t.Fatalf("%s: %+v", edit.name, d.Items)
				}
				side := compat.OnBoth
				if edit.onlyIfChanged != "" {
					side = compat.OnClient
					if (server == made) == (edit.onlyIfChanged == "changed") {
						side = compat.OnServer
					}
				}
				if items[0].Class != edit.class[way] || items[0].Side != side {
					t.Errorf("%s, way %d: %s on %s, want %s on %s", edit.name, way, items[0].Class, items[0].Side, edit.class[way], side)
				}
			}
		}
	}
}
