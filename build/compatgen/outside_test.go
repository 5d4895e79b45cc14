package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/testprograms"
)

// fileOfGuide is a file that the guide shows: a path in a line of text, and the block that follows.
var fileOfGuide = regexp.MustCompile("(?m)`([\\w/]+\\.(?:go|json|xml))`[^`\n]*:\n\n```\\w+\n((?s:.*?\n))```")

// TestGuideOutside does in an empty folder outside of this repository what the guide says, with the files that it shows: it needs no
// network and nothing of this repository but compatgen.
func TestGuideOutside(t *testing.T) {
	t.Parallel()
	program := testprograms.Compatgen(t)
	dir := t.TempDir()
	var names []string
	for _, found := range fileOfGuide.FindAllStringSubmatch(guide(t), -1) {
		names = append(names, found[1])
		put(t, dir, map[string]string{found[1]: found[2]})
	}
	slices.Sort(names)
	if want := []string{"game/compatgen.json", "game/components/Bridge.json", "game/components/Mailbox.xml", "game/state.go", "game/types/types.xml", "main.go"}; !slices.Equal(names, want) {
		t.Fatalf("the guide shows %q, want %q", names, want)
	}
	env := append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=", "SOURCE_DATE_EPOCH=1770802200", "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	run := func(words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Minute
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", words, err, said)
		}
		return string(said)
	}
	var last string
	for line := range strings.Lines(block(t, "```\ngo mod init")) {
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		if words[0] == "compatgen" {
			words[0] = program // the path of this test's own process has none
		}
		if last = run(words...); words[1] == "check" && last != "" {
			t.Errorf("check is not content: %s", last)
		}
	}
	if want := block(t, "```text\nL7-") + "\n"; last != want {
		t.Errorf("the program prints\n%swhere the guide says\n%s", last, want)
	}
	for _, name := range []string{"game/compat_gen.go", "game/manifest.json", "game/compat.lock", "game/baselines/7.json", "game/compat/registry.go"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if needs := strings.Fields(run("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")); !slices.Equal(needs, []string{"example.org/lathe/game/compat", "example.org/lathe/game", "example.org/lathe"}) {
		t.Errorf("the program is made of %q", needs)
	}
	run("go", "vet", "./...")
	compileHeader(t, dir)
}

// compileHeader compiles the three lines of docs/ABI.md with the two headers that were generated.
func compileHeader(t *testing.T, dir string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Log("the headers are not compiled: there is no cc")
		return
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ABI.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin = "#include \"client_runtime.h\"\n#include \"components.h\"\n"
	_, rest, found := strings.Cut(string(page), begin)
	source, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatal("docs/ABI.md has no module with components")
	}
	put(t, dir, map[string]string{"client/module.c": begin + source})
	cmd := exec.CommandContext(t.Context(), compiler, "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "module.c")
	cmd.Dir = filepath.Join(dir, "client")
	if said, err := cmd.CombinedOutput(); err != nil && runtime.GOOS != "windows" {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestLibraryPath: the Go table imports the folder beside it by the path of the module that both are in.
func TestLibraryPath(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		files map[string]string
		table string
		want  string
	}{
		"module above":      {map[string]string{"go.mod": "module example.org/lathe // the game\n"}, "compat_gen.go", "example.org/lathe/game/compat"},
		"module beside":     {map[string]string{"game/go.mod": "module lathe\n", "go.mod": "module other\n"}, "compat_gen.go", "lathe/compat"},
		"table elsewhere":   {map[string]string{"go.mod": "module lathe\n"}, "../server/state/table.go", "lathe/server/state/compat"},
		"no name":           {map[string]string{"go.mod": "go 1.26\n"}, "compat_gen.go", "go.mod names no module"},
		"go.mod is no file": {map[string]string{"go.mod/x": ""}, "compat_gen.go", "go.mod"},
	} {
		dir := layOut(t, row.files)
		p := &project{dir: filepath.Join(dir, "game"), GoTable: row.table}
		if got, err := p.libraryPath(); got != row.want && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, row.want)
		}
	}
	dir := layOut(t, map[string]string{"a.xml": `<Component Name="A"/>`, projectFile: `{"logic": 1, "declarations": ["*.xml"], "package": "game"}`})
	if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), "run go mod init, or leave") {
		t.Errorf("without a module: %v", err)
	}
	put(t, dir, map[string]string{"go.mod": "module game\n\ngo 1.26\n"})
	must(t, "gen", dir)
	change(t, filepath.Join(dir, "compat", "visible.go"), "Visible", "Hidden")
	if said, _, err := compatgen(t, "check", dir); err == nil || !strings.Contains(said, fmt.Sprintf("%s is stale", filepath.Join("compat", "visible.go"))) {
		t.Errorf("a changed library: %v\n%s", err, said)
	}
}
