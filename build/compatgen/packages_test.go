package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

// fleet is a module of several packages: a component in one, its calls in another, what both use in a third.
func fleet() map[string]string {
	return map[string]string{
		"go.mod":             "module fleet\n\ngo 1.26\n",
		"shape/shape.go":     "package shape\n\ntype Point struct{ X, Y float32 }\n\ntype Path []Point\n",
		"state/state.go":     "package state\n\nimport \"fleet/shape\"\n\n//compat:component name=Ship id=1\ntype Ship struct {\n\tAt   shape.Point `wire:\"1\"`\n\tWake shape.Path `wire:\"2\"`\n}\n",
		"calls/calls.go":     "package calls\n\nimport \"fleet/shape\"\n\n//compat:rpc component=Ship id=1 to=server reliable\ntype Steer struct {\n\tTo shape.Point `wire:\"1\"`\n}\n",
		"calls/more_test.go": "package calls\n\n//compat:component name=OnlyInTests id=9\ntype onlyInTests struct{ X bool }\n",
		"calls/windows.go":   "//go:build never\n\npackage calls\n\n//compat:component name=Elsewhere id=8\ntype Elsewhere struct{ X bool }\n",
		projectFile:          `{"logic": 1, "go": ["./state", "./calls"]}`,
	}
}

// TestSeveralPackages: what belongs to a component may be declared anywhere, and what tests or other systems have is not in it.
func TestSeveralPackages(t *testing.T) {
	t.Parallel()
	dir := layOut(t, fleet())
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	const point = `(named "Point" (struct (f 1 "X" f32) (f 2 "Y" f32)))`
	const want = `(component "Ship" (prop 1 "At" ` + point + `) (prop 2 "Wake" (named "Path" (list ` + point + `))) (rpc 1 "Steer" server reliable (arg 1 "To" ` + point + `)))`
	if len(made.forms) != 1 || made.forms["Ship"] != want {
		t.Errorf("%s", slices.Sorted(maps.Values(made.forms)))
	}
}

// TestMovesBetweenPackages: the place of a declaration does not matter; its fields do, wherever they are declared.
func TestMovesBetweenPackages(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	before := hashes(t, layOut(t, fleet()))
	for name, row := range sampled(map[string]struct {
		edit    func(files map[string]string)
		changes bool
	}{
		"the package is renamed": {func(f map[string]string) {
			f["form/form.go"] = strings.Replace(f["shape/shape.go"], "package shape", "package form", 1)
			delete(f, "shape/shape.go")
			for _, user := range []string{"state/state.go", "calls/calls.go"} {
				f[user] = strings.NewReplacer("fleet/shape", "fleet/form", "shape.", "form.").Replace(f[user])
			}
		}, false},
		"the type moves to its user": {func(f map[string]string) {
			f["shape/shape.go"] = "package shape\n\nimport \"fleet/base\"\n\ntype Point = base.Point\n\ntype Path []Point\n"
			f["base/base.go"] = "package base\n\ntype Point struct{ X, Y float32 }\n"
		}, false},
		"the patterns are turned round": {func(f map[string]string) { f[projectFile] = `{"logic": 1, "go": ["./calls", "./state"]}` }, false},
		"all packages":                  {func(f map[string]string) { f[projectFile] = `{"logic": 1, "go": ["./..."]}` }, false},
		"a package twice":               {func(f map[string]string) { f[projectFile] = `{"logic": 1, "go": ["./state", "./...", "./calls"]}` }, false},
		"a field in a package that no source names": {func(f map[string]string) {
			f["shape/shape.go"] = strings.Replace(f["shape/shape.go"], "X, Y float32", "X, Y, Z float32", 1)
		}, true},
		"the kind behind a name": {func(f map[string]string) {
			f["shape/shape.go"] = strings.Replace(f["shape/shape.go"], "type Path []Point", "type Path [2]Point", 1)
		}, true},
		"another type of the same name": {func(f map[string]string) {
			f["calls/point.go"] = "package calls\n\ntype Point struct{ X, Y float64 }\n"
			f["calls/calls.go"] = strings.NewReplacer("import \"fleet/shape\"\n\n", "", "shape.Point", "Point").Replace(f["calls/calls.go"])
		}, true},
		"the call is not among the packages": {func(f map[string]string) { f[projectFile] = `{"logic": 1, "go": ["./state"]}` }, true},
	}) {
		t.Run(name, func(t *testing.T) {
			files := fleet()
			row.edit(files)
			if got := differing(before, hashes(t, layOut(t, files))); (len(got) > 0) != row.changes {
				t.Errorf("%v changed", got)
			}
		})
	}
}

// TestPackagesThatAreWrong names the file and the line of what is wrong, in whichever package.
func TestPackagesThatAreWrong(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	for want, edit := range sampled(map[string]func(files map[string]string){
		`rpc names component "Ship"`: func(f map[string]string) { f[projectFile] = `{"logic": 1, "go": ["./calls"]}` },
		filepath.Join("calls", "calls.go") + ":6: Steer.To: chan bool can't be": func(f map[string]string) {
			f["calls/calls.go"] = strings.NewReplacer("import \"fleet/shape\"", "const none = 0", "shape.Point", "chan bool").Replace(f["calls/calls.go"])
		},
		filepath.Join("state", "state.go") + ":6: Ship.At.X: uint has no fixed width": func(f map[string]string) {
			f["shape/shape.go"] = strings.Replace(f["shape/shape.go"], "float32", "uint", 1)
		},
		"component Ship is declared already at": func(f map[string]string) {
			f["other/other.go"] = "package other\n\n//compat:component name=Ship id=2\ntype Ship struct{ X bool }\n"
			f[projectFile] = `{"logic": 1, "go": ["./..."]}`
		},
		"since=0: a number from 1": func(f map[string]string) {
			f["state/state.go"] = strings.Replace(f["state/state.go"], "id=1", "id=1 since=0", 1)
		},
		"until=x: a number from 1": func(f map[string]string) {
			f["state/state.go"] = strings.Replace(f["state/state.go"], "id=1", "id=1 until=x", 1)
		},
		"since=-3: a number from 1": func(f map[string]string) {
			f["calls/calls.go"] = strings.Replace(f["calls/calls.go"], "id=1", "id=1 since=-3", 1)
		},
		"id=0: a number from 1": func(f map[string]string) {
			f["calls/calls.go"] = strings.Replace(f["calls/calls.go"], "id=1", "id=0", 1)
		},
		"since=7 until=7 is a span": func(f map[string]string) {
			f["state/state.go"] = strings.Replace(f["state/state.go"], "id=1", "id=1 since=7 until=7", 1)
		},
	}) {
		t.Run(want, func(t *testing.T) {
			files := fleet()
			edit(files)
			if _, err := buildTable(layOut(t, files), stamp{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
