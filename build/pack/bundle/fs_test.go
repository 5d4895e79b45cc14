package bundle_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"collet/build/pack/bundle"
	"collet/platform"
)

// TestTreeFS reads a tree as a folder, whose files lie anywhere.
func TestTreeFS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "one", "b": "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := bundle.NewTreeFS(dir, bundle.Tree{{Path: "x/y/one", Mode: bundle.Program, From: filepath.Join(dir, "a")}})
	if err == nil {
		err = f.Add(bundle.Entry{Path: "x/two", Mode: bundle.Plain, From: filepath.Join(dir, "b")})
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.ReadDir("x")
	if err != nil || len(entries) != 2 || entries[0].Name() != "two" || entries[0].IsDir() || entries[1].Name() != "y" || !entries[1].IsDir() {
		t.Fatalf("%v, %v", entries, err)
	}
	info, err := f.Lstat("x/y/one")
	if err != nil || info.Name() != "one" || info.Mode() != bundle.Program || info.Size() != 3 {
		t.Fatalf("%v, %v", info, err)
	}
	source, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || !platform.IdentityOf(info).Same(platform.IdentityOf(source)) || f.Path("x/y/one") != filepath.Join(dir, "a") {
		t.Errorf("%s is not told as the source: %v", f.Path("x/y/one"), err)
	}
	in, err := f.OpenFile("x/two", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil || string(text) != "two" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := f.OpenFile("x/none", os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"write": errorOf(f.OpenFile("x/two", os.O_WRONLY, 0)), "rename": f.Rename("x/two", "y"), "remove": f.Remove("x/two"), "mkdir": f.MkdirAll("z", 0o755),
		"link": f.Link("x/two", "z"), "exchange": f.Exchange("x/two", "x/y/one"), "chmod": f.Chmod("x/two", 0o600), "lock": errorOf(f.Lock("x/two")),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Add(bundle.Entry{Path: "data", Data: []byte("x")}); err == nil {
		t.Error("a file that is not on the disk was added")
	}
}

func errorOf[T any](_ T, err error) error { return err }
