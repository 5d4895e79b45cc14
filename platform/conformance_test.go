package platform_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/fstest"
)

// fixture is one implementation of platform.FS under test.
type fixture struct {
	fresh func(t *testing.T) platform.FS
	link  func(t *testing.T, fsys platform.FS, target, name string)
}

// conform runs every promise of platform.FS against one implementation.
func conform(t *testing.T, f fixture) { fstest.Run(t, fstest.Fixture{Fresh: f.fresh, Link: f.link}) }

func put(t *testing.T, fsys platform.FS, name, content string) {
	t.Helper()
	fstest.Put(t, fsys, name, content)
}

// get is a file's content, or "-" where there is none.
func get(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	return fstest.Get(t, fsys, name)
}

// listing is the names in a folder, folders with a slash behind.
func listing(t *testing.T, fsys platform.FS, name string) string {
	t.Helper()
	return fstest.Listing(t, fsys, name)
}

// wantError checks the class of an error and that it says where it happened.
func wantError(t *testing.T, what string, err, class error) {
	t.Helper()
	fstest.WantError(t, what, err, class)
}

// disk is the real thing.
func disk() fixture {
	return fixture{
		fresh: func(t *testing.T) platform.FS {
			t.Helper()
			d, err := platform.OpenDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			return d
		},
		link: func(t *testing.T, fsys platform.FS, target, name string) {
			t.Helper()
			if err := os.Symlink(target, fsys.Path(name)); err != nil {
				t.Skipf("no symbolic links: %v", err)
			}
			if _, err := fsys.Lstat(name); err != nil {
				fstest.NotWines(t, "says that it made a link, and makes none")
			}
		},
	}
}

func TestDirConforms(t *testing.T) { conform(t, disk()) }

func TestOpenDirWantsAFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := platform.OpenDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := platform.OpenDir(name); err == nil {
		t.Error("opened a file")
	}
}

// TestOpenDirIsNotMovedByChdir checks that a relative name is resolved once.
func TestOpenDirIsNotMovedByChdir(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	d, err := platform.OpenDir("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Chdir(t.TempDir())
	put(t, d, "a", "x")
	lock, err := d.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if data, err := os.ReadFile(filepath.Join(dir, "d", "a")); err != nil || !bytes.Equal(data, []byte("x")) {
		t.Errorf("%q, %v", data, err)
	}
	if got := listing(t, d, "."); !slices.Equal(strings.Fields(got), []string{"a", "lock"}) {
		t.Errorf("holds %s", got)
	}
}
