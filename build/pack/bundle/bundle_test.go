package bundle_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/pack/bundle"
)

func plain(path string) bundle.Entry { return bundle.Entry{Path: path, Mode: bundle.Plain} }

func TestTreeIsSorted(t *testing.T) {
	tree, err := bundle.NewTree(plain("b"), plain("a/z"), plain("a.txt"), plain("B2"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range tree {
		paths = append(paths, e.Path)
	}
	if want := []string{"B2", "a.txt", "a/z", "b"}; !slices.Equal(paths, want) {
		t.Errorf("order %v, want %v", paths, want)
	}
	if moved := tree.Below("top"); moved[2].Path != "top/a/z" || tree[2].Path != "a/z" {
		t.Errorf("moved %q, and the first is %q", moved[2].Path, tree[2].Path)
	}
}

func TestTreeRefuses(t *testing.T) {
	link := func(path, to string) bundle.Entry { return bundle.Entry{Path: path, Link: to} }
	for _, c := range []struct {
		name    string
		entries []bundle.Entry
		want    string
	}{
		{"twice", []bundle.Entry{plain("a"), plain("A")}, "same file"},
		{"sharp s", []bundle.Entry{plain("straße"), plain("STRASSE")}, "same file"},
		{"a file as folder", []bundle.Entry{plain("a"), plain("a/b")}, "is a file"},
		{"device", []bundle.Entry{plain("nul.txt")}, "device"},
		{"backslash", []bundle.Entry{plain(`a\b`)}, "Windows refuses"},
		{"mode", []bundle.Entry{{Path: "a", Mode: 0o600}}, "neither"},
		{"absolute link", []bundle.Entry{link("a", "/etc/passwd")}, "not relative"},
		{"link out", []bundle.Entry{link("a/b", "../../c")}, "leaves the package"},
		{"link with detour", []bundle.Entry{link("a/b", "x/../c")}, "detours"},
		{"link with backslash", []bundle.Entry{link("a/b", `x\c`)}, "not relative"},
	} {
		if _, err := bundle.NewTree(c.entries...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := bundle.NewTree(link("a/b/c", "../d"), link("e", "a/d")); err != nil {
		t.Errorf("links inside: %v", err)
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("on disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []bundle.Entry{{From: file}, {Data: []byte("on disk")}} {
		in, size, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil || string(data) != "on disk" || size != int64(len(data)) {
			t.Errorf("%q, %d, %v", data, size, err)
		}
		in.Close()
	}
	if _, _, err := (bundle.Entry{From: filepath.Dir(file)}).Open(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
}
