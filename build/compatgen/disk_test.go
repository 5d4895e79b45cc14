package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputsInTheWay: where something else lies in the place of an output it is named, and left alone.
func TestOutputsInTheWay(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"compat_gen.go", "components.h", "manifest.json", "compat.lock"} {
		dir := harbour(t)
		must(t, "gen", dir)
		path := filepath.Join(dir, output)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		put(t, path, map[string]string{"mine.txt": "mine"})
		for _, command := range []string{"gen", "check"} {
			said, _, err := compatgen(t, command, dir)
			if err == nil || !strings.Contains(said+err.Error(), output) {
				t.Errorf("%s of a folder %s: %v\n%s", command, output, err, said)
			}
		}
		if readText(t, filepath.Join(path, "mine.txt")) != "mine" {
			t.Errorf("%s was replaced", output)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.tmp*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", output, left, err)
		}
	}
}

// TestBaselinesInTheWay: a release never takes the place of another, and one that can't be read is no release.
func TestBaselinesInTheWay(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	must(t, "release", dir)
	baseline := filepath.Join(dir, "baselines", "7.json")
	shipped := readText(t, baseline)
	change(t, filepath.Join(dir, "components", "Tide.AutoComponent.xml"), `Type="float" Name="Level"`, `Type="double" Name="Level"`)
	must(t, "gen", dir)
	if _, _, err := compatgen(t, "release", dir); err == nil || readText(t, baseline) != shipped {
		t.Errorf("released again: %v", err)
	}
	for text, want := range map[string]string{"{": "7.json", shipped[:len(shipped)/2]: "7.json", strings.Replace(shipped, `"logic": 7`, `"logic": 6`, 1): "7.json"} {
		put(t, dir, map[string]string{"baselines/7.json": text})
		if said, _, err := compatgen(t, "check", dir); err == nil || !strings.Contains(said+err.Error(), want) {
			t.Errorf("a baseline %.20q: %v\n%s", text, err, said)
		}
	}
}

// TestDeclarationsInTheWay names the file that can't be read, and the one of two that say the same.
func TestDeclarationsInTheWay(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a folder":            {map[string]string{"a.xml/b": ""}, "a.xml"},
		"nothing":             {map[string]string{"a.xml": ""}, "a.xml"},
		"half a file":         {map[string]string{"a.xml": `<Component Name="A">`}, "a.xml"},
		"a type and no name":  {map[string]string{"a.xml": shapeOf("A", "float", 0), "types/t.xml": `<Types><Type/></Types>`}, "t.xml:1"},
		"a field twice":       {map[string]string{"a.xml": shapeOf("A", "V", 0), "types/t.xml": `<Types><Type Name="V"><Field Type="float" Name="X"/><Field Type="float" Name="X"/></Type></Types>`}, `"X" is declared twice`},
		"a type of no type":   {map[string]string{"a.xml": shapeOf("A", "V", 0), "types/t.xml": `<Types><Type Name="V"><Field Type="" Name="X"/></Type></Types>`}, "t.xml:1"},
		"one name twice":      {map[string]string{"a.xml": shapeOf("A", "float", 0), "b.xml": shapeOf("A", "float", 0)}, "is declared already at"},
		"one id twice":        {map[string]string{"a.xml": shapeOf("A", "float", 3), "b.xml": shapeOf("B", "float", 3)}, "has the id 3 of A"},
		"since that is none":  {map[string]string{"a.xml": `<Component Name="A" Since="soon"/>`}, `Since="soon"`},
		"a span of nothing":   {map[string]string{"a.xml": `<Component Name="A"><NetworkProperty Type="float" Name="B" Since="7" Until="7"/></Component>`}, "a span without versions"},
		"an argument of none": {map[string]string{"a.xml": `<Component Name="A"><RemoteProcedure Name="B"><Param Type="float" Name="C" Since="0"/></RemoteProcedure></Component>`}, `Since="0"`},
	} {
		if row.files["types/t.xml"] == "" {
			row.files["types/t.xml"] = `<Types/>`
		}
		row.files[projectFile] = `{"logic": 7, "declarations": ["*.xml"], "types": ["types/*.xml"]}`
		if _, _, err := compatgen(t, "gen", layOut(t, row.files)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q in it", name, err, row.want)
		}
	}
}
