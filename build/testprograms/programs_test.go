package testprograms

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"collet/platform/testlevel"
)

// TestPrograms builds what the tests of other packages start, so that these begin at once.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, build := range []func(testing.TB) string{Client, CrashClient, Server, Collet, Compatgen} {
		path := build(t)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if made, err := filepath.Glob(filepath.Join(Modules(t), "release-[12]", "*")); err != nil || len(made) != 2 {
		t.Errorf("modules %q, %v", made, err)
	}
}

// TestBuildsWhatChanged builds a program of its own: once for tests that ask at the same time, and again when a source has
// another size or time, when a file was added, and when it is built in another way.
func TestBuildsWhatChanged(t *testing.T) {
	testlevel.Slow(t)
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", module+"\ngo 1.26\n")
	put("go.sum", "")
	put("program/main.go", "package main\n\nimport \"collet/part\"\n\nfunc main() { part.Do() }\n")
	put("part/part.go", "package part\n\nimport _ \"embed\"\n\n//go:embed text\nvar text string\n\nfunc Do() { println(text) }\n")
	put("part/text", "first")
	b := &build{root: root, dir: filepath.Join(root, "bin"), name: "program", pkg: "collet/program"}
	t.Setenv("GOWORK", "off")

	made := func() time.Time {
		t.Helper()
		info, err := os.Stat(b.path())
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	var asks sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		asks.Go(func() { errs[i] = b.ensure() })
	}
	asks.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	first := made()
	if err := b.ensure(); err != nil || made() != first {
		t.Fatalf("built again without a change, or %v", err)
	}

	text := filepath.Join(root, "part", "text")
	info, err := os.Stat(text)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]struct{ do, undo func() error }{
		"another time": {
			func() error { return os.Chtimes(text, time.Time{}, info.ModTime().Add(time.Hour)) },
			func() error { return os.Chtimes(text, time.Time{}, info.ModTime()) },
		},
		"another tag":   {func() error { b.tags = "x"; return nil }, func() error { b.tags = ""; return nil }},
		"a source gone": {func() error { return os.Rename(text, text+"~") }, func() error { return os.Rename(text+"~", text) }},
	} {
		folder, err := os.Stat(filepath.Dir(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := change.do(); err != nil || b.fresh() {
			t.Errorf("%s: up to date, or %v", what, err)
		}
		if err := change.undo(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Dir(text), time.Time{}, folder.ModTime()); err != nil || !b.fresh() {
			t.Errorf("%s, undone: not up to date, or %v", what, err)
		}
	}
	put("part/more.go", "package part\n\nfunc init() { text = \"second\" }\n")
	if b.fresh() {
		t.Error("a file was added, and the program counts as up to date")
	}
	if err := b.ensure(); err != nil || made() == first || !b.fresh() {
		t.Errorf("not built again after a change, or %v", err)
	}
}
