package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"collet/netproto/compat"
	"collet/platform/testlevel"
	"collet/runtime/abi"
)

// released is a copy of the harbour project whose logic versions 6 and 7 were released as they should be.
func released(t *testing.T) string {
	t.Helper()
	dir := harbour(t)
	change(t, filepath.Join(dir, projectFile), `"logic": 7,`, `"logic": 6,`)
	must(t, "gen", dir)
	must(t, "release", dir, "--build-id", "six", "--branch", "main")
	change(t, filepath.Join(dir, projectFile), `"logic": 6,`, `"logic": 7,`)
	must(t, "gen", dir)
	must(t, "release", dir)
	must(t, "check", dir)
	return dir
}

// TestT14Check is the table of what a build must not ship with: each edit of a released project, generated anew or not, and
// what check says.
func TestT14Check(t *testing.T) {
	t.Parallel()
	xml := func(name string) string { return "components/" + name + ".AutoComponent.xml" }
	for name, row := range sampled(map[string]struct {
		file, old, new string
		gen            bool
		logic          string // the new one; empty: as it was
		want           []string
	}{
		"nothing":                   {file: xml("Boat"), old: "Everybody hears it", new: "Loud", want: nil},
		"changed without a bump":    {xml("Boat"), `Name="Collide"`, `Name="Crash"`, true, "", []string{`component Harbour.BoatComponent changed, but logic version 7 is released: set "logic" to 8`, "component Harbour.BoatComponent, as logic version 6 sees it, changed"}},
		"two calls exchanged":       {xml("Cargo"), calls, swapped(calls), true, "", []string{"component Harbour.CargoComponent changed", "component Harbour.CargoComponent, as logic version 6"}},
		"changed and not generated": {xml("Tide"), `Type="float" Name="Level"`, `Type="double" Name="Level"`, false, "", []string{"Harbour.TideComponent changed", "as logic version 6", "compat.lock is stale", "compat_gen.go is stale", "components.h is stale", "manifest.json is stale"}},
		"a forgotten since":         {xml("Tide"), `<ArchetypeProperty`, `<NetworkProperty Type="bool" Name="Spring"/><ArchetypeProperty`, true, "8", []string{"Harbour.TideComponent, as logic version 6 sees it, changed since", "Harbour.TideComponent, as logic version 7 sees it, changed since"}},
		"a since for a member":      {xml("Tide"), `<ArchetypeProperty`, `<NetworkProperty Type="bool" Name="Spring" Since="8"/><ArchetypeProperty`, true, "8", nil},
		"a since in the middle":     {xml("Tide"), `<NetworkProperty`, `<NetworkProperty Type="bool" Name="Spring" Since="8"/><NetworkProperty`, true, "8", nil},
		"a since that is too early": {xml("Tide"), `<ArchetypeProperty`, `<NetworkProperty Type="bool" Name="Spring" Since="7"/><ArchetypeProperty`, true, "8", []string{"as logic version 7 sees it, changed"}},
		"a forgotten until":         {xml("Boat"), `<RemoteProcedure Name="RequestTow" InvokeFrom="Autonomous" HandleOn="Authority" IsPublic="true" IsReliable="true" GenerateEventBindings="false" Description=""/>`, ``, true, "8", []string{"Harbour.BoatComponent, as logic version 6", "Harbour.BoatComponent, as logic version 7"}},
		"an until":                  {xml("Boat"), `<RemoteProcedure Name="RequestTow"`, `<RemoteProcedure Until="8" Name="RequestTow"`, true, "8", nil},
		"a component that comes":    {"components/New.json", "", `{"Component": {"Name": "New", "Since": 8}}`, true, "8", nil},
		"a component without since": {"components/New.json", "", `{"Component": {"Name": "New"}}`, true, "8", []string{"component New, as logic version 6 sees it, is new", "component New, as logic version 7 sees it, is new"}},
		"a component that goes":     {xml("Wind"), `Name="WindComponent"`, `Name="WindComponent" Until="8"`, true, "8", nil},
		"a component that is gone":  {"components/Bridge.json", "Harbour", "Other", true, "8", []string{"Harbour.BridgeComponent, as logic version 6 sees it, is gone", "Other.BridgeComponent, as logic version 6 sees it, is new", "version 7 sees it, is gone", "version 7 sees it, is new"}},
		"another id":                {xml("Ferry"), `Id="40"`, `Id="41"`, true, "8", []string{"Harbour.FerryComponent, as logic version 6 sees it, has the id 41, and had 40", "version 7 sees it, has the id 41"}},
		"a field of a nested type":  {"shapes/harbour.xml", `Type="uint32_t" Name="Amount"`, `Type="uint64_t" Name="Amount"`, true, "8", []string{"CargoComponent, as logic version 6", "MarketComponent, as logic version 6", "CargoComponent, as logic version 7", "MarketComponent, as logic version 7"}},
		"an edited header":          {"components.h", "LOGIC_VERSION 7", "LOGIC_VERSION 8", false, "", []string{"components.h is stale: run compatgen gen"}},
		"an edited baseline":        {"baselines/6.json", `"branch": "main"`, `"branch": "other"`, false, "", nil},
	}) {
		t.Run(name, func(t *testing.T) {
			dir := released(t)
			if row.old == "" {
				put(t, dir, map[string]string{row.file: row.new})
			} else {
				change(t, filepath.Join(dir, filepath.FromSlash(row.file)), row.old, row.new)
			}
			if row.logic != "" {
				change(t, filepath.Join(dir, projectFile), `"logic": 7`, `"logic": `+row.logic)
			}
			if row.gen {
				must(t, "gen", dir)
			}
			said, _, err := compatgen(t, "check", dir)
			got := strings.Split(strings.TrimSpace(said), "\n")
			if len(row.want) == 0 && (err != nil || said != "") || len(row.want) > 0 && (err == nil || len(got) != len(row.want)) {
				t.Fatalf("%v:\n%s", err, said)
			}
			for _, want := range row.want {
				if !strings.Contains(said, want) {
					t.Errorf("check does not say %q, but\n%s", want, said)
				}
			}
		})
	}
}

// TestT14Missing checks that a released version that is supported needs its baseline, and one that is not does not.
func TestT14Missing(t *testing.T) {
	t.Parallel()
	dir := released(t)
	if err := os.Remove(filepath.Join(dir, "baselines", "6.json")); err != nil {
		t.Fatal(err)
	}
	if said, _, err := compatgen(t, "check", dir); err == nil || !strings.Contains(said, "6.json is missing") {
		t.Errorf("%v: %s", err, said)
	}
	change(t, filepath.Join(dir, projectFile), `"supported_min": 6`, `"supported_min": 7`)
	must(t, "gen", dir)
	must(t, "check", dir)
	put(t, dir, map[string]string{"baselines/7.json": `{"logic": 6, "set_hash": "30cc2710ed48aa5c", "components": []}`})
	if _, _, err := compatgen(t, "check", dir); err == nil || !strings.Contains(err.Error(), "it is the baseline of logic version 6") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"baselines/7.json": `{`})
	if _, _, err := compatgen(t, "check", dir); err == nil || !strings.Contains(err.Error(), "7.json: component manifest: file:") {
		t.Errorf("%v", err)
	}
}

// TestT14IDs checks that an id is never used again, that a component keeps the id it was given, also when it comes back, and that
// a logic version never goes back.
func TestT14IDs(t *testing.T) {
	t.Parallel()
	dir := released(t)
	wind := filepath.Join(dir, "components", "Wind.AutoComponent.xml")
	data, err := os.ReadFile(wind)
	if err != nil {
		t.Fatal(err)
	}
	before, err := openLock(filepath.Join(dir, "compat.lock"))
	if err != nil {
		t.Fatal(err)
	}
	id := before.Components["Harbour.WindComponent"].ID
	if err := os.Remove(wind); err != nil {
		t.Fatal(err)
	}
	must(t, "gen", dir)
	put(t, dir, map[string]string{"components/New.json": `{"Component": {"Name": "New", "Id": 13}}`})
	if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), "component New has the id 13, which Harbour.WindComponent had: an id is never used again, take one above 40") {
		t.Errorf("%v", err)
	}
	put(t, dir, map[string]string{"components/New.json": `{"Component": {"Name": "New"}}`})
	must(t, "gen", dir)
	l, err := openLock(filepath.Join(dir, "compat.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if gone := l.Components["Harbour.WindComponent"]; id != 13 || !gone.Gone || gone.ID != id || l.Components["New"].ID != 14 || l.Components["New"].SinceLogic != 7 {
		t.Errorf("wind had %d; the lock has %+v and %+v", id, gone, l.Components["New"])
	}
	put(t, dir, map[string]string{"components/Wind.AutoComponent.xml": string(data)})
	must(t, "gen", dir)
	if l, err = openLock(filepath.Join(dir, "compat.lock")); err != nil || l.Components["Harbour.WindComponent"].ID != id || l.Components["Harbour.WindComponent"].Gone {
		t.Errorf("%v: it came back as %+v", err, l.Components["Harbour.WindComponent"])
	}
	change(t, filepath.Join(dir, projectFile), `"logic": 7`, `"logic": 6`)
	if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), "logic version 6 is below 7") {
		t.Errorf("%v", err)
	}
}

// TestRelease checks what a baseline says, that nothing stale is released, and that a baseline is never written over.
func TestRelease(t *testing.T) {
	t.Parallel()
	dir := released(t)
	data, err := os.ReadFile(filepath.Join(dir, "baselines", "6.json"))
	if err != nil {
		t.Fatal(err)
	}
	six, err := compat.ParseManifest(data)
	if err != nil || six.Build.ID != "six" || six.Build.Branch != "main" || six.Build.Time != 1770802200 || six.Build.Compatibility != compat.Derived(6, six.Build.Components) {
		t.Errorf("%v: %+v", err, six.Build)
	}
	if said := must(t, "release", dir, "--build-id", "again"); !strings.Contains(said, "logic version 7 is released") {
		t.Errorf("%q", said)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "baselines", "7.json")); err != nil || strings.Contains(string(data), "again") {
		t.Errorf("%v: the baseline was written over:\n%s", err, data)
	}
	change(t, filepath.Join(dir, "components", "Tide.AutoComponent.xml"), `Name="Level"`, `Name="Height"`)
	if _, _, err := compatgen(t, "release", dir); err == nil || !strings.Contains(err.Error(), "nothing was released") {
		t.Errorf("%v", err)
	}
}

// TestLockFile checks what is refused of a lock.
func TestLockFile(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	for text, want := range map[string]string{`{"format": 2}`: "format 2 is not known", `{"format": 1, "extra": 1}`: "extra", `{`: "compat.lock"} {
		put(t, dir, map[string]string{"compat.lock": text})
		if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestHeaderCompiles has C compilers, and one of C++, read the header, and a program print what it fills in.
func TestHeaderCompiles(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	empty := layOut(t, map[string]string{"a.xml": `<Component Name="A" Side="server"/>`, projectFile: `{"logic": 1, "declarations": ["*.xml"], "header": "components.h"}`})
	must(t, "gen", empty)
	const program = `#include <stdio.h>
#include "client_runtime.h"
#include "components.h"
int main(void) {
    ColletComponents c = {0};
    if (collet_fill_components(&c)) return 1;
    c.StructSize = sizeof c;
    if (!collet_fill_components(&c)) return 2;
    printf("%u %d %u %s %s", c.Count, c.LogicVersion, c.Patch, c.BuildId, c.Branch);
    for (uint32_t i = 0; i < c.Count; i++) printf(" %s=%u", c.Entries[i].Name, c.Entries[i].WireId);
    return 0;
}
`
	every := testlevel.Stride(3, 3) // make test has the first compiler
	for i, compiler := range [][]string{{"cc", "-std=c11"}, {"c++", "-std=c++11", "-x", "c++", "-Wno-missing-field-initializers"}, {"x86_64-w64-mingw32-gcc", "-std=c11"}} {
		if i%every > 0 {
			continue
		}
		for folder, want := range map[string]string{dir: "13 7 3 b1 main Harbour.BoatComponent=1 ", empty: "0 1 3 b1 main"} {
			if _, err := exec.LookPath(compiler[0]); err != nil {
				t.Logf("%s is not here, so it reads nothing", compiler[0])
				continue
			}
			put(t, folder, map[string]string{"client_runtime.h": abi.Header, "main.c": program})
			args := append([]string{"-Wall", "-Wextra", "-Wpedantic", "-Werror"}, compiler[1:]...) // clang's -Wextra asks again for what was taken out before it
			args = append(args, `-DCOLLET_BUILD_ID="b1"`, `-DCOLLET_BUILD_BRANCH="main"`, "-DCOLLET_BUILD_PATCH=3", "-o", "program", "main.c")
			cmd := exec.CommandContext(t.Context(), compiler[0], args...)
			cmd.Dir = folder
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", compiler[0], err, said)
				continue
			}
			if strings.Contains(compiler[0], "mingw") {
				continue
			}
			if said, err := exec.CommandContext(t.Context(), filepath.Join(folder, "program")).Output(); err != nil || !strings.HasPrefix(string(said), want) {
				t.Errorf("%s: %v: %s", compiler[0], err, said)
			}
		}
	}
	put(t, dir, map[string]string{"alone.c": "#include \"components.h\"\n"})
	if _, err := exec.LookPath("cc"); err == nil {
		cmd := exec.CommandContext(t.Context(), "cc", "-fsyntax-only", "alone.c")
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "include client_runtime.h before") {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// TestHeaderSymbols checks that two names which C can't tell apart are refused.
func TestHeaderSymbols(t *testing.T) {
	t.Parallel()
	dir := layOut(t, map[string]string{
		"a.xml": `<Component Name="A.B"/>`, "b.xml": `<Component Name="a_b"/>`,
		projectFile: `{"logic": 1, "declarations": ["*.xml"], "header": "components.h"}`,
	})
	if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), "would both be COLLET_ID_A_B") {
		t.Errorf("%v", err)
	}
}

// TestGoTableCompiles has the Go compiler's checker read generated tables, as packages of this module that are nowhere on disk.
func TestGoTableCompiles(t *testing.T) {
	t.Parallel()
	testlevel.Lab(t) // it checks the types of the standard library, too
	dir := harbour(t)
	must(t, "gen", dir)
	empty := layOut(t, map[string]string{"a.xml": `<Component Name="A" Side="server" Until="1"/>`, projectFile: `{"logic": 1, "declarations": ["*.xml"], "package": "none", "library": "collet/netproto/compat", "table_name": "Wire"}`})
	must(t, "gen", empty)
	for folder, from := range map[string]string{"harbour": dir, "none": empty} {
		table, err := os.ReadFile(filepath.Join(from, "compat_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		here, err := filepath.Abs(filepath.Join("testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedDeps
		loaded, err := packages.Load(&packages.Config{Mode: mode, Overlay: map[string][]byte{filepath.Join(here, "compat_gen.go"): table}}, "./testdata/"+folder)
		if err != nil || len(loaded) != 1 {
			t.Fatalf("%v: %d packages", err, len(loaded))
		}
		if p := loaded[0]; len(p.Errors) > 0 || p.Types == nil || p.Types.Scope().Lookup(map[string]string{"harbour": "CompatComponents", "none": "WireRegister"}[folder]) == nil {
			t.Errorf("%s: %v", folder, p.Errors)
		}
	}
}
