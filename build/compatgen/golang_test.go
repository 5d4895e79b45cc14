package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// cameraSource declares the components of docs/COMPATIBILITY.md, "What is hashed", and one more.
const cameraSource = `package game

// Vec is a place.
type Vec struct {
	X float32
	Y float32
}

// Camera looks.
//
//compat:component name=Camera id=1
type Camera struct {
	Pos Vec     ` + "`wire:\"1\"`" + `
	FOV float32 ` + "`wire:\"2\"`" + `
	old int
}

// Shake is a call.
//
//compat:rpc component=Camera id=1 to=client reliable
type Shake struct {
	Amount float32 ` + "`wire:\"1\"`" + `
}

//compat:component name=Wallet id=2
type Wallet struct {
	Gold int64 ` + "`wire:\"1\"`" + `
}

//compat:component id=3
type Drone struct {
	Path []Vec ` + "`wire:\"1\"`" + `
}
`

// goProject lays a project of one Go file out.
func goProject(t *testing.T, source string) string {
	t.Helper()
	return layOut(t, map[string]string{
		"go.mod":    "module game\n\ngo 1.26\n",
		"state.go":  source,
		projectFile: `{"logic": 1, "go": ["."], "package": "game", "header": "components.h"}`,
	})
}

// TestT2GoVectors holds the Go front end to the forms and hashes of docs/COMPATIBILITY.md.
func TestT2GoVectors(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	dir := goProject(t, cameraSource)
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	const camera = `(component "Camera" (prop 1 "Pos" (named "Vec" (struct (f 1 "X" f32) (f 2 "Y" f32)))) (prop 2 "FOV" f32) (rpc 1 "Shake" client reliable (arg 1 "Amount" f32)))`
	if made.forms["Camera"] != camera {
		t.Errorf("the form is %s", made.forms["Camera"])
	}
	got := hashes(t, dir)
	if got["Camera"] != 0xa64fc12a8e0c1b84 || got["Wallet"] != 0x344f237d92ca82f0 {
		t.Errorf("hashes %016x", got)
	}
	double := goProject(t, strings.NewReplacer("X float32", "X float64", "Y float32", "Y float64").Replace(cameraSource))
	if got := hashes(t, double)["Camera"]; got != 0xdf1301673469e89d {
		t.Errorf("with f64 the hash is %016x", got)
	}
	pair := goProject(t, cameraSource[:strings.Index(cameraSource, "//compat:component id=3")])
	if made, err = buildTable(pair, stamp{}); err != nil || made.manifest.Build.Components != 0x4c37681f163b1204 {
		t.Errorf("%v: set hash %016x", err, made.manifest.Build.Components)
	}
	renumbered := strings.NewReplacer("name=Camera id=1", "name=Camera id=2", "name=Wallet id=2", "name=Wallet id=1")
	pair = goProject(t, renumbered.Replace(cameraSource[:strings.Index(cameraSource, "//compat:component id=3")]))
	if made, err = buildTable(pair, stamp{}); err != nil || made.manifest.Build.Components != 0x7edb58535afb9fcf {
		t.Errorf("%v: set hash %016x", err, made.manifest.Build.Components)
	}
}

// TestT2GoEdits is the table of edits: what is only text never changes a hash, what is on the wire always does, and in every
// component that uses it.
func TestT2GoEdits(t *testing.T) {
	t.Parallel()
	before := hashes(t, goProject(t, cameraSource))
	wallet := cameraSource[strings.Index(cameraSource, "//compat:component name=Wallet"):strings.Index(cameraSource, "//compat:component id=3")]
	for name, row := range sampled(map[string]struct {
		old, new string
		changes  []string
	}{
		"CRLF":                  {"\n", "\r\n", nil},
		"indentation":           {"\t", "        ", nil},
		"comment":               {"// Vec is a place.", "/* Vec\nis\nanother */", nil},
		"lines above":           {"package game\n", "package game\n\n\n// more\n\nconst unused = 1\n", nil},
		"two in a line":         {"X float32\n\tY float32", "X, Y float32", nil},
		"order of numbered":     {"Pos Vec     `wire:\"1\"`\n\tFOV float32 `wire:\"2\"`", "FOV float32 `wire:\"2\"`\n\tPos Vec     `wire:\"1\"`", nil},
		"no member":             {"\told int\n", "\tother map[string]func()\n", nil},
		"numbers for places":    {"X float32\n\tY float32", "Y float32 `wire:\"2\"`\n\tX float32 `wire:\"1\"`", nil},
		"order of types":        {wallet, "", []string{"Wallet"}},
		"other tags":            {"FOV float32 `wire", "FOV float32 `json:\"fov\" wire", nil},
		"always":                {"`wire:\"2\"`", "`wire:\"2,since=1\"`", nil},
		"alias":                 {"package game\n", "package game\n\ntype Angle = float32\n\nvar _ Angle\n", nil},
		"numbers of two":        {"Pos Vec     `wire:\"1\"`\n\tFOV float32 `wire:\"2\"`", "Pos Vec     `wire:\"2\"`\n\tFOV float32 `wire:\"1\"`", []string{"Camera"}},
		"inside a nested one":   {"Y float32\n", "Y float64\n", []string{"Camera", "Drone"}},
		"order of places":       {"X float32\n\tY float32", "Y float32\n\tX float32", []string{"Camera", "Drone"}},
		"another field":         {"Y float32\n", "Y float32\n\tZ float32\n", []string{"Camera", "Drone"}},
		"name of a nested one":  {"type Vec struct", "type Vec = Vec2\ntype Vec2 struct", []string{"Camera", "Drone"}},
		"kind":                  {"FOV float32", "FOV float64", []string{"Camera"}},
		"a name around a kind":  {"Gold int64 `wire:\"1\"`\n}", "Gold Coins `wire:\"1\"`\n}\ntype Coins int64\n", []string{"Wallet"}},
		"list for one":          {"Gold int64", "Gold []int64", []string{"Wallet"}},
		"array for list":        {"Path []Vec", "Path [4]Vec", []string{"Drone"}},
		"pointer":               {"Gold int64", "Gold *int64", []string{"Wallet"}},
		"direction":             {"to=client", "to=server", []string{"Camera"}},
		"reliability":           {" reliable", "", []string{"Camera"}},
		"number of a call":      {"component=Camera id=1", "component=Camera id=2", []string{"Camera"}},
		"name of a call":        {"type Shake", "type Tremble", []string{"Camera"}},
		"argument":              {"Amount float32", "Amount float64", []string{"Camera"}},
		"not yet":               {"`wire:\"2\"`", "`wire:\"2,since=2\"`", []string{"Camera"}},
		"name of a component":   {"name=Camera id=1", "name=Lens id=1", []string{"Camera", "Lens"}},
		"input for a component": {"//compat:component name=Wallet id=2", "//compat:input component=Drone", []string{"Drone", "Wallet"}},
	}) {
		t.Run(name, func(t *testing.T) {
			source := strings.ReplaceAll(cameraSource, row.old, row.new)
			if name == "name of a component" {
				source = strings.ReplaceAll(source, "component=Camera", "component=Lens")
			}
			if name == "order of types" { // the type moves to the end, which changes nothing
				source, row.changes = source+wallet, nil
			}
			if source == cameraSource {
				t.Fatal("the edit changes nothing")
			}
			if got := differing(before, hashes(t, goProject(t, source))); !slices.Equal(got, row.changes) {
				t.Errorf("%v changed, want %v", got, row.changes)
			}
		})
	}
}

// TestGoTypes is the table of types and their forms.
func TestGoTypes(t *testing.T) {
	t.Parallel()
	const before = `package game

type Flag bool
type Tree struct {
	Left, Right *Tree
	Leaf        Flag
}
type Even struct{ Next *Odd }
type Odd struct{ Next *Even }
type Box[T any] struct{ Inside T }
type ID = uint16
`
	types := map[string]string{
		"bool": "bool", "string": "str", "int8": "i8", "int16": "i16", "int32": "i32", "rune": "i32", "int64": "i64",
		"uint8": "u8", "byte": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64",
		"[]byte": "(list u8)", "[3]bool": "(array 3 bool)", "[0]bool": "(array 0 bool)", "*bool": "(opt bool)", "map[string][]int8": "(map str (list i8))",
		"Flag": `(named "Flag" bool)`, "ID": "u16", "struct{}": "(struct)", "map[ID]struct{}": "(map u16 (struct))",
		"struct{ A, b, C bool }": `(struct (f 1 "A" bool) (f 2 "C" bool))`,
		"Tree":                   `(named "Tree" (struct (f 1 "Left" (opt (back 1))) (f 2 "Right" (opt (back 1))) (f 3 "Leaf" (named "Flag" bool))))`,
		"Even":                   `(named "Even" (struct (f 1 "Next" (opt (named "Odd" (struct (f 1 "Next" (opt (back 2)))))))))`,
		"Odd":                    `(named "Odd" (struct (f 1 "Next" (opt (named "Even" (struct (f 1 "Next" (opt (back 2)))))))))`,
		"Box[int8]":              `(named "Box" (struct (f 1 "Inside" i8)))`,
		"Box[Flag]":              `(named "Box" (struct (f 1 "Inside" (named "Flag" bool))))`,
	}
	var source strings.Builder
	source.WriteString(before)
	for i, name := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&source, "\n//compat:component name=A%d id=%d\ntype A%d struct {\n\tF %s `wire:\"1\"`\n}\n", i, i+1, i, name)
	}
	made, err := buildTable(goProject(t, source.String()), stamp{}) // one load for all: it takes much longer than what follows
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Sorted(maps.Keys(types)) {
		if got, want := made.forms[fmt.Sprintf("A%d", i)], fmt.Sprintf(`(component "A%d" (prop 1 "F" %s))`, i, types[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestGoRefuses is the table of sources that can't be on a wire, or whose marks are wrong, and what is said about them.
func TestGoRefuses(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	component := func(fields string) string {
		return "package game\n\n//compat:component name=A id=1\ntype A struct {\n" + fields + "\n}\n"
	}
	for want, source := range sampled(map[string]string{
		"A.F: int has no fixed width":                       component("F int `wire:\"1\"`"),
		"A.F: uint has no fixed width":                      component("F uint `wire:\"1\"`"),
		"A.F: uintptr has no fixed width":                   component("F uintptr `wire:\"1\"`"),
		"A.F: complex64 has no fixed width":                 component("F complex64 `wire:\"1\"`"),
		"A.F: any can't be on a wire":                       component("F any `wire:\"1\"`"),
		"A.F: interface{Error() string} can't be on a wire": component("F *error `wire:\"1\"`"),
		"A.F: func() can't be on a wire":                    component("F func() `wire:\"1\"`"),
		"A.F: chan bool can't be on a wire":                 component("F []chan bool `wire:\"1\"`"),
		"A.F.G.H: int has no fixed width":                   component("F struct { G struct { H int } } `wire:\"1\"`"),
		"A.F: its type has errors":                          component("F Missing `wire:\"1\"`"),
		"A.F: none of its fields is a member":               component("F struct { a, b bool } `wire:\"1\"`"),
		"A: none of its fields is a member":                 component("a bool"),
		`"F" and "G" have the number 1`:                     component("F bool `wire:\"1\"`\nG bool `wire:\"1\"`"),
		`"0" is no number`:                                  component("F bool `wire:\"0\"`"),
		"since=9 until=9 is a span without versions":        component("F bool `wire:\"1,since=9,until=9\"`"),
		"marks nothing":                                     "package game\n\n//compat:component name=A id=1\nvar A int\n",
		"A is marked, but it is no struct":                  "package game\n\n//compat:component name=A id=1\ntype A int32\n",
		"it is component, rpc or input":                     "package game\n\n//compat:part name=A id=1\ntype A struct{}\n",
		`"nam" is unknown to component`:                     "package game\n\n//compat:component nam=A id=1\ntype A struct{}\n",
		`"name" is there twice`:                             "package game\n\n//compat:component name=A name=B\ntype A struct{}\n",
		`"id" has a value where it wants none, or none`:     "package game\n\n//compat:component name=A id\ntype A struct{}\n",
		"id=65536: a number from 0 to 65535 is wanted":      "package game\n\n//compat:component name=A id=65536\ntype A struct{}\n",
		"side=client: it is server or both":                 "package game\n\n//compat:component name=A side=client\ntype A struct{}\n",
		`input names component "B", which no type here is`:  "package game\n\n//compat:input component=B\ntype A struct{ F bool }\n",
		"rpc R has no id":                                   component("") + "//compat:rpc component=A to=client\ntype R struct{}\n",
		"it goes to=client or to=server":                    component("") + "//compat:rpc component=A id=1 to=all\ntype R struct{}\n",
		"rpc R is reliable and unreliable":                  component("") + "//compat:rpc component=A id=1 to=client reliable unreliable\ntype R struct{}\n",
		"component A is declared already":                   component("") + "//compat:component name=A id=2\ntype B struct{}\n",
		"component B has the id 1 of A":                     component("") + "//compat:component name=B id=1\ntype B struct{}\n",
		`rpc "R" and "S" have the number 1`:                 component("") + "//compat:rpc component=A id=1 to=client\ntype R struct{}\n\n//compat:rpc component=A id=1 to=client\ntype S struct{}\n",
		"state.go:3":                                        "package game\n\nfunc {",
	}) {
		t.Run(want, func(t *testing.T) {
			if _, err := buildTable(goProject(t, source), stamp{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestGoVersions checks what each version sees of a source: nothing that came later, everything that it had.
func TestGoVersions(t *testing.T) {
	t.Parallel()
	source := strings.Replace(cameraSource, "FOV float32 `wire:\"2\"`", "FOV float32 `wire:\"2,until=3\"`\n\tZoom float32 `wire:\"3,since=3\"`", 1)
	source = strings.Replace(source, "//compat:component id=3", "//compat:component id=3 since=2 until=4", 1)
	source = strings.Replace(source, "to=client reliable", "to=client reliable since=4", 1)
	dir := goProject(t, source)
	put(t, dir, map[string]string{projectFile: `{"logic": 4, "supported_min": 1, "go": ["."]}`})
	made, err := buildTable(dir, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	const pos = `(prop 1 "Pos" (named "Vec" (struct (f 1 "X" f32) (f 2 "Y" f32))))`
	for logic, want := range map[int32]struct {
		camera string
		drone  bool
	}{
		1: {`(component "Camera" ` + pos + ` (prop 2 "FOV" f32))`, false},
		2: {`(component "Camera" ` + pos + ` (prop 2 "FOV" f32))`, true},
		3: {`(component "Camera" ` + pos + ` (prop 3 "Zoom" f32))`, true},
		4: {`(component "Camera" ` + pos + ` (prop 3 "Zoom" f32) (rpc 1 "Shake" client reliable (arg 1 "Amount" f32)))`, false},
	} {
		m, forms, err := made.manifestOf(made.ids(), logic)
		if err != nil {
			t.Fatal(err)
		}
		if _, drone := forms["Drone"]; forms["Camera"] != want.camera || drone != want.drone {
			t.Errorf("version %d sees %s", logic, slices.Sorted(maps.Values(forms)))
		}
		if made.sets[logic] != m.Build.Components || m.Build.Components != compat.SetHash(m.Entries) {
			t.Errorf("version %d has the set %016x and %016x", logic, made.sets[logic], m.Build.Components)
		}
	}
	if made.sets[1] == made.sets[2] || made.sets[2] == made.sets[3] {
		t.Error("versions that see something else have one hash")
	}
}
