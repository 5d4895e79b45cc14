package tree_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// linked is a tree with every kind of link. Beside it, outside, lies a secret.
func linked(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	launchertest.Plant(t, outside, map[string]string{"secret": "s"})
	root := t.TempDir()
	launchertest.Plant(t, root, map[string]string{"real/a": "1", "real/b/c": "2"})
	if err := os.Symlink("real/a", filepath.Join(root, "file")); err != nil {
		t.Skip(err)
	}
	launchertest.Plant(t, root, map[string]string{
		"folder": "->real", "real/up": "->..", "self": "->self", "out": "->" + filepath.Join(outside, "secret"), "outdir": "->" + outside,
		"nowhere": "->missing", "dots": "->../" + filepath.Base(outside) + "/secret",
	})
	return root
}

func TestLinksLeftOut(t *testing.T) {
	layout, problems, err := tree.New(launchertest.Open(t, linked(t)), tree.Options{}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	launchertest.Expect(t, layout, map[string]string{"real/a": "1", "real/b/c": "2"})
	if len(problems) != 8 {
		t.Errorf("problems %v", problems)
	}
}

func TestLinksInside(t *testing.T) {
	folder := tree.New(launchertest.Open(t, linked(t)), tree.Options{Links: tree.LinksInside})
	layout, problems, err := folder.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range layout.Files() {
		if f.Hash == wire.HashOf([]byte("s")) {
			t.Errorf("%q is the secret", f.Path)
		}
	}
	for path, content := range map[string]string{"file": "1", "folder/a": "1", "folder/b/c": "2", "real/a": "1", "real/b/c": "2"} {
		if f, there := layout.Find(path); !there || f.Hash != wire.HashOf([]byte(content)) {
			t.Errorf("%q: %v, %v", path, f, there)
		}
	}
	var names []string
	for _, p := range problems {
		names = append(names, p.Path)
	}
	for _, name := range []string{"out", "outdir", "self", "nowhere", "dots"} {
		if !slices.Contains(names, name) {
			t.Errorf("%q is no problem: %v", name, problems)
		}
	}
	if n := len(layout.Files()); n > 40 {
		t.Errorf("the loop was followed: %d files", n)
	}
}

func TestOpenOfATree(t *testing.T) {
	folder := tree.New(launchertest.Open(t, linked(t)), tree.Options{Links: tree.LinksInside})
	for _, path := range []string{"real/a", "folder/a", "file"} {
		f, err := folder.Open(path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"out", "outdir/secret", "dots", "../x", "real", "missing"} {
		if f, err := folder.Open(path); err == nil {
			t.Errorf("%q opens", path)
			_ = f.Close()
		}
	}
}
