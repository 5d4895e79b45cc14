package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"collet/runtime/host"
)

// place moves a fixture to a path, over whatever is there.
func place(t *testing.T, name, path string) {
	t.Helper()
	if err := os.Rename(fixture(t, name), path); err != nil {
		t.Fatal(err)
	}
}

func resident(t *testing.T, what, path string) {
	t.Helper()
	if err := refused(t, path, host.StageOpen); !errors.Is(err, host.ErrResident) {
		t.Errorf("%s: got %v, want ErrResident", what, err)
	}
}

// TestResident covers the cases in which the system's loader would return old code for a path, without an error.
func TestResident(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files of mapped modules can't be moved about there as they are here")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, library(name)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	place(t, "never_unloads", at("live"))
	must(os.Symlink(at("live"), at("symbolic")))
	must(os.Link(at("live"), at("hard")))
	must(os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	must(os.Symlink(dir, filepath.Join(dir, "folder", "around")))

	m := load(t, at("live"))
	resident(t, "same path", at("live"))
	resident(t, "symbolic link", at("symbolic"))
	resident(t, "hard link", at("hard"))
	resident(t, "link to its folder", filepath.Join(dir, "folder", "around", library("live")))

	must(m.Close())
	resident(t, "same path, closed", at("live"))
	must(os.Rename(at("live"), at("aside")))
	resident(t, "moved aside", at("aside"))

	place(t, "echo", at("live"))
	resident(t, "another file at the path", at("live"))
	must(os.Rename(at("live"), at("other")))
	if got := load(t, at("other")).Metadata().BuildHash; got != "fixture-build" {
		t.Errorf("another file at another path is build %q", got)
	}
}

// TestResidentThroughALink: the real path counts, whichever way led there.
func TestResidentThroughALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there that few have")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, library("real")), filepath.Join(dir, library("link"))
	place(t, "never_unloads", real)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	load(t, link)
	place(t, "echo", real)
	resident(t, "another file where a link led", real)
	resident(t, "another file, through the link", link)
}

// TestDeletedFileIsNotTakenForANewOne: a new file may get the number of a deleted one, and is another file all the same.
func TestDeletedFileIsNotTakenForANewOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file can't be deleted there")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(fixture(t, "old_abi"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		path := filepath.Join(dir, library(string(rune('a'+i))))
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
		m, err := host.Load(path)
		if err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
		if err := errors.Join(m.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPipeIsNotOpened: opening one for reading waits for a writer.
func TestPipeIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.so")
	if !makePipe(t, path) {
		t.Skip("no pipes in this system's folders")
	}
	refused(t, path, host.StageOpen)
}
