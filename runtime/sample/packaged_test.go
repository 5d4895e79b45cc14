package sample_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/runtime/abi"
	"collet/runtime/area"
)

// packaged is the game with its areas filled.
func packaged(t *testing.T, config string) string {
	t.Helper()
	data, err := os.ReadFile(build(t))
	if err == nil {
		err = area.Patch(data, area.Contents{Name: "Lathe_OpenGL", Config: config})
	}
	module := filepath.Join(t.TempDir(), "Lathe.packaged")
	if err == nil {
		err = os.WriteFile(module, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// TestConfig is what the game finds in what packaging put into it.
func TestConfig(t *testing.T) {
	packs := good().write(t)
	root := "Release.Root = '''\n{\"signed\": {\"a\": 1},\nForceOpenGL = 7\n}'''\n"
	said := func(title, opengl string) string {
		return "packaged as Lathe_OpenGL: title \"" + title + "\", ForceOpenGL " + opengl
	}
	tests := map[string]struct{ config, args, says string }{
		"nothing":                {"", "", said("", "not set")},
		"both":                   {"Client.Title = \"The Lathe\"\nForceOpenGL = 1\n", "", said("The Lathe", "1")},
		"no line end":            {"Client.Title = \"The Lathe\"", "", said("The Lathe", "not set")},
		"no line end, a number":  {"ForceOpenGL = 1", "", said("", "1")},
		"behind others":          {"# Client.Title = \"no\"\nClient.Titles = \"no\"\n\nClient.Title = 'yes'\n", "", said("yes", "not set")},
		"behind a root":          {root + "ForceOpenGL = 1\n", "", said("", "1")},
		"before a root":          {"ForceOpenGL = 0\n" + root, "", said("", "0")},
		"no blanks":              {"ForceOpenGL=true#yes\nClient.Title=\"a\"", "", said("a", "true")},
		"many blanks":            {"\t ForceOpenGL \t=  true \r\n", "", said("", "true")},
		"escapes":                {`Client.Title = "a \"b\" \\ c"`, "", said(`a "b" \ c`, "not set")},
		"no escapes":             {`Client.Title = 'a \"b'`, "", said(`a \"b`, "not set")},
		"a quote that is open":   {"Client.Title = \"a", "", said("a", "not set")},
		"a root that is open":    {"Release.Root = '''\nForceOpenGL = 1", "", said("", "not set")},
		"a backslash at the end": {`Client.Title = "a\`, "", said(`a\`, "not set")},
		"longer than is shown":   {"Client.Title = \"" + strings.Repeat("t", 300) + "\"", "", said(strings.Repeat("t", 127), "not set")},
		"the host knows better":  {"ForceOpenGL = 1", "--ForceOpenGL 0", said("", "0")},
		"a list":                 {"Release.Urls = [\"ForceOpenGL = 3\"]\nForceOpenGL = 1", "", said("", "1")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--headless", "--packaged", "Lathe_OpenGL", "--ClientResources", packs}, strings.Fields(test.args)...)
			got := run(t, patience, packaged(t, test.config), args...)
			if got.code != 0 || got.result == nil || *got.result != (abi.Result{Success: true}) || len(got.logs) != 2 {
				t.Fatalf("got %+v, result %+v", got, got.result)
			}
			if !strings.HasPrefix(got.logs[0], "1 "+test.says) || !strings.HasPrefix(got.printed, test.says) {
				t.Errorf("logged %q, printed %q, want %q", got.logs[0], got.printed, test.says)
			}
		})
	}
}

// TestPackagedIsRequired: a packaged host does not get a module that was not packaged to run, while any other one does.
func TestPackagedIsRequired(t *testing.T) {
	packs := good().write(t)
	args := []string{"--headless", "--ClientResources", packs}
	got := run(t, patience, build(t), append(args, "--packaged", "Lathe")...)
	want := []string{"3 the host was packaged as Lathe and this module was not packaged; install the game anew"}
	if got.code != 0 || got.ready != 0 || got.result == nil || *got.result != (abi.Result{Kind: abi.FatalError}) || !slices.Equal(got.logs, want) {
		t.Errorf("got %+v, result %+v", got, got.result)
	}
	for _, module := range []string{build(t), packaged(t, "")} {
		if got := run(t, patience, module, args...); got.code != 0 || got.ready != 1 {
			t.Errorf("%s: %+v", filepath.Base(module), got)
		}
	}
}

// TestOneSetOfAreas: the text of the areas stands in the module once, so that packaging finds what the game reads.
func TestOneSetOfAreas(t *testing.T) {
	data, err := os.ReadFile(build(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, marker := range []string{"###InternalConfig###1234", "###InternalConfigEnd###", "###NotPackaged###"} {
		if n := strings.Count(string(data), marker); n != 1 {
			t.Errorf("%s stands there %d times", marker, n)
		}
	}
	for kind, capacity := range map[area.Kind]int{area.Resources: area.DefaultResources, area.Config: area.DefaultConfig, area.Name: area.NameSize} {
		if a, err := area.Find(data, kind); err != nil || a.Capacity != capacity {
			t.Errorf("%s: %+v, %v", kind, a, err)
		}
	}
}

func TestLinkIsTold(t *testing.T) {
	got := run(t, patience, build(t), "--headless", "--DeepLinkUri", "lathe://join/7", "--ClientResources", good().write(t))
	if !slices.Contains(got.logs, "1 opened by lathe://join/7") {
		t.Errorf("logged %q", got.logs)
	}
}
