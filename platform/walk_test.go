package platform_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"collet/platform"
)

// TestWalk visits plain files by name, shows links apart, and ends with the first error. Then it removes the folders.
func TestWalk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/z", "a/b/c", "a/b/a", "other"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var others []string
	link := filepath.Join(dir, "a", "link")
	os.Symlink("b", link)                     // Windows may forbid it,
	if _, err := os.Lstat(link); err == nil { // and Wine says that it made a link, and makes none
		others = []string{"a/link"}
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	var files, seen []string
	visit := func(name string, e fs.DirEntry) error {
		files = append(files, name)
		return nil
	}
	err = platform.Walk(fsys, "a", visit, func(name string, e fs.DirEntry) { seen = append(seen, name) })
	if err != nil || !slices.Equal(files, []string{"a/b/a", "a/b/c", "a/z"}) || !slices.Equal(seen, others) {
		t.Errorf("%q, %q, %v", files, seen, err)
	}
	if err := platform.Walk(fsys, "none", visit, nil); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
	wrong, calls := errors.New("wrong"), 0
	err = platform.Walk(fsys, "a", func(string, fs.DirEntry) error { calls++; return wrong }, nil)
	if !errors.Is(err, wrong) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	var moved []string
	err = platform.RemoveFolder(fsys, "a/b", func(name string) error { moved = append(moved, name); return fsys.Remove(name) })
	if err != nil || !slices.Equal(moved, []string{"a/b/a", "a/b/c"}) {
		t.Errorf("removed %q, %v", moved, err)
	}
	if err := errors.Join(platform.RemoveFolder(fsys, "a", nil), platform.RemoveFolder(fsys, "none", nil)); err != nil {
		t.Error(err)
	}
	if entries, err := fsys.ReadDir("."); err != nil || len(entries) != 1 || entries[0].Name() != "other" {
		t.Errorf("left %v, %v", entries, err)
	}
}
