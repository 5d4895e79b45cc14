package platform_test

import (
	"os"
	"path/filepath"
	"testing"

	"collet/platform"
)

// TestLstatAllIsLstat: the same answers, whatever a name is.
func TestLstatAllIsLstat(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "x/b.txt", "x/y/c.txt", "x/d.txt"} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Log("no links here:", err)
	}
	d, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	names := []string{"x/b.txt", "a.txt", "x/y/c.txt", "x", "x/y", "gone", "x/gone", "gone/too", "a.txt/below", "out", "out/etc", "..", "../x", "x/d.txt", ""}
	infos := d.LstatAll(names)
	for i, name := range names {
		want, err := d.Lstat(name)
		switch {
		case err != nil && infos[i] != nil:
			t.Errorf("%q: found, and Lstat says %v", name, err)
		case err == nil && infos[i] == nil && name != "" && name != "..":
			t.Errorf("%q: not found", name)
		case err == nil && infos[i] != nil && (!os.SameFile(want, infos[i]) || want.Size() != infos[i].Size() || want.Mode() != infos[i].Mode()):
			t.Errorf("%q: another file", name)
		}
	}
	if got := d.LstatAll(nil); len(got) != 0 {
		t.Errorf("%d answers to no question", len(got))
	}
}
