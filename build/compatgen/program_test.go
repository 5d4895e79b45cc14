package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/testprograms"
)

// program is compatgen as people and build servers run it.
func program(t *testing.T) func(dir string, args ...string) (code int, text, notes string) {
	t.Helper()
	path := testprograms.Compatgen(t)
	return func(dir string, args ...string) (int, string, string) {
		t.Helper()
		var text, notes bytes.Buffer
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &text, &notes
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+string(built))
		err := cmd.Run()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), text.String(), notes.String()
	}
}

// TestT14Program goes through a release as a build server does, in the folder and from elsewhere: what it prints where, and its exit
// codes, which are all that such a server looks at.
func TestT14Program(t *testing.T) {
	t.Parallel()
	run, dir := program(t), harbour(t)
	elsewhere := t.TempDir()
	boat := filepath.Join(dir, "components", "Boat.AutoComponent.xml")
	for i, step := range []struct {
		do    func()
		in    string
		args  []string
		code  int
		text  []string // standard output has these; none: it is empty
		notes []string // standard error, likewise
	}{
		{nil, dir, []string{"check"}, 1, []string{"compat.lock is missing: run compatgen gen", "manifest.json is missing"}, []string{"compatgen: the declarations can't be shipped"}},
		{nil, dir, []string{"gen"}, 0, []string{"wrote compat.lock", "wrote compat_gen.go", "wrote components.h", "wrote manifest.json"}, nil},
		{nil, dir, []string{"gen"}, 0, nil, nil},
		{nil, elsewhere, []string{"check", dir}, 0, nil, nil},
		{nil, elsewhere, []string{"release", dir, "--build-id", "b7", "--branch", "main"}, 0, []string{"logic version 7 is released", "7.json"}, nil},
		{nil, dir, []string{"check"}, 0, nil, nil},
		{func() { change(t, boat, `Name="Collide"`, `Name="Crash"`) }, dir, []string{"check"}, 1, []string{"Harbour.BoatComponent changed, but logic version 7 is released", "is stale"}, []string{"can't be shipped"}},
		{nil, dir, []string{"release"}, 1, nil, []string{"nothing was released: component Harbour.BoatComponent changed"}},
		{func() { change(t, boat, `Name="Crash"`, `Name="Collide"`) }, dir, []string{"check"}, 0, nil, nil},
		{nil, dir, []string{"explain", "Harbour::TideComponent"}, 0, []string{`(component "Harbour.TideComponent"`, `"Level" f32`}, nil},
		{nil, dir, []string{"explain", "tide"}, 1, nil, []string{`explain "tide": logic version 7 has no such component; it has Harbour.TideComponent`}},
		{nil, elsewhere, []string{"check"}, 2, nil, []string{"compatgen: compatgen.json: there is no such file; name the folder that has one", "\ncompatgen check --help tells more\n"}},
		{nil, elsewhere, []string{"gen", "nowhere"}, 2, nil, []string{"compatgen: " + filepath.Join("nowhere", "compatgen.json") + ": there is no such file"}},
		{nil, dir, []string{"generate"}, 2, nil, []string{"generate", "\ncompatgen --help tells more\n"}},
		{nil, dir, []string{"check", "--all"}, 2, nil, []string{"unknown flag --all", "\ncompatgen check --help tells more\n"}},
		{nil, dir, nil, 2, nil, []string{"compatgen: expected one of"}},
		{nil, dir, []string{"check", "--help"}, 0, []string{"List everything that is stale", "\n    compatgen check game\n"}, nil},
		{nil, dir, []string{"gen", "--help"}, 0, []string{"\n    compatgen gen\n    compatgen gen game\n"}, nil},
		{nil, dir, []string{"--completion", "fish"}, 0, []string{"compatgen"}, nil},
		{nil, dir, []string{"--complete=rel"}, 0, []string{"release\tStore the manifest"}, nil},
		{nil, elsewhere, []string{"--man", "pages"}, 0, nil, nil},
	} {
		if step.do != nil {
			step.do()
		}
		code, text, notes := run(step.in, step.args...)
		what := fmt.Sprintf("step %d, %q: code %d\n%s\n%s", i, step.args, code, text, notes)
		if code != step.code || len(step.text) == 0 && text != "" || len(step.notes) == 0 && notes != "" {
			t.Fatal(what)
		}
		for _, want := range step.text {
			if !strings.Contains(text, want) {
				t.Errorf("%s\nno %q on standard output", what, want)
			}
		}
		for _, want := range step.notes {
			if !strings.Contains(notes, want) {
				t.Errorf("%s\nno %q on standard error", what, want)
			}
		}
	}
	for name, part := range lockOf(t, dir).Components {
		if fmt.Sprint(part.ChangedAt) != string(built) {
			t.Errorf("%s changed at %d, not at SOURCE_DATE_EPOCH", name, part.ChangedAt)
		}
	}
}

// TestSuggestions checks the suggestions for a mistyped name.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	names := []string{"Harbour.Boat", "Harbour.Buoy", "Sea.Boat"}
	for word, want := range map[string]string{
		"boat": "it has Harbour.Boat, Sea.Boat", "HARBOUR": "it has Harbour.Boat, Harbour.Buoy", "Crane": "it has Harbour.Boat, Harbour.Buoy, Sea.Boat", "": "it has Harbour.Boat, Harbour.Buoy, Sea.Boat",
	} {
		if got := suggestNames(word, names); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	if got := suggestNames("boat", nil); got != "it has none" {
		t.Error(got)
	}
	dir := layOut(t, map[string]string{"a.xml": `<Component Name="A" Since="8"/>`, projectFile: `{"logic": 7, "declarations": ["*.xml"]}`})
	if _, _, err := compatgen(t, "explain", "A", dir); err == nil || !strings.Contains(err.Error(), "logic version 7 has no such component; it has none") {
		t.Errorf("%v", err)
	}
	if said := must(t, "explain", "A", dir, "--logic", "8"); !strings.HasPrefix(said, `(component "A")`) {
		t.Error(said)
	}
}
