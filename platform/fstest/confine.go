package fstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"collet/platform"
)

// conformLeavingByName tries every method with names that lead out.
func conformLeavingByName(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "inside")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.ToSlash(fsys.Path("../outside"))
	for _, name := range []string{"..", "../outside", "d/../../outside", outside, ""} {
		open := func(flag int) error { _, err := fsys.OpenFile(name, flag, 0o644); return err }
		for what, err := range map[string]error{
			"read":        open(os.O_RDONLY),
			"create":      open(os.O_WRONLY | os.O_CREATE),
			"rename from": fsys.Rename(name, "b"),
			"rename to":   fsys.Rename("a", name),
			"link from":   fsys.Link(name, "b"),
			"link to":     fsys.Link("a", name),
			"exchange":    fsys.Exchange("a", name),
			"remove":      fsys.Remove(name),
			"list":        second(fsys.ReadDir(name)),
			"stat":        second(fsys.Stat(name)),
			"lstat":       second(fsys.Lstat(name)),
			"chmod":       fsys.Chmod(name, 0o600),
			"sync":        fsys.SyncDir(name),
			"lock":        second(fsys.Lock(name)),
			"share":       second(fsys.LockShared(name)),
		} {
			if err == nil {
				t.Errorf("%s of %q was let through", what, name)
			}
		}
		if err := fsys.MkdirAll(name, 0o755); err == nil && name != "" && name != ".." {
			t.Errorf("made the folder %q", name)
		}
	}
	if got := Get(t, fsys, "a"); got != "inside" {
		t.Errorf("a holds %q", got)
	}
	if _, err := os.Lstat(fsys.Path("../outside")); err == nil {
		t.Error("something was made outside")
	}
}

func second[T any](_ T, err error) error { return err }

// conformLinks plants links: those that stay inside are followed by Stat and OpenFile, those that lead out by nothing.
func (f Fixture) conformLinks(t *testing.T) {
	fsys, outside := f.Fresh(t), f.Fresh(t)
	Put(t, outside, "secret", "secret")
	Put(t, fsys, "a", "four")
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	f.Link(t, fsys, "a", "inside")
	f.Link(t, fsys, outside.Path("."), "out")
	f.Link(t, fsys, outside.Path("secret"), "outfile")
	f.Link(t, fsys, outside.Path("made"), "outnew")
	f.Link(t, fsys, "../../"+filepath.Base(filepath.Dir(outside.Path("."))), "d/up")
	if info, err := fsys.Stat("inside"); err != nil || info.Size() != 4 || !info.Mode().IsRegular() {
		t.Errorf("Stat does not follow: %v %v", info, err)
	}
	if info, err := fsys.Lstat("inside"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat follows: %v %v", info, err)
	}
	if got := Get(t, fsys, "inside"); got != "four" {
		t.Errorf("read through the link: %q", got)
	}
	open := func(name string, flag int) error { _, err := fsys.OpenFile(name, flag, 0o644); return err }
	for what, err := range map[string]error{
		"read of a file":      open("outfile", os.O_RDONLY),
		"write to a file":     open("outfile", os.O_WRONLY|os.O_TRUNC),
		"create":              open("outnew", os.O_WRONLY|os.O_CREATE),
		"read in a folder":    open("out/secret", os.O_RDONLY),
		"create in a folder":  open("out/made", os.O_WRONLY|os.O_CREATE),
		"read by going up":    open("d/up/secret", os.O_RDONLY),
		"stat":                second(fsys.Stat("outfile")),
		"list":                second(fsys.ReadDir("out")),
		"rename out":          fsys.Rename("a", "out/made"),
		"rename in":           fsys.Rename("out/secret", "b"),
		"link out":            fsys.Link("a", "out/made"),
		"link in":             fsys.Link("out/secret", "b"),
		"exchange":            fsys.Exchange("a", "out/secret"),
		"remove in a folder":  fsys.Remove("out/secret"),
		"chmod":               fsys.Chmod("outfile", 0o600),
		"folder in a folder":  fsys.MkdirAll("out/made", 0o755),
		"sync":                fsys.SyncDir("out"),
		"lock of a file":      second(fsys.Lock("outnew")),
		"lock in a folder":    second(fsys.Lock("out/lock")),
		"share in a folder":   second(fsys.LockShared("out/lock")),
		"lock of a real file": second(fsys.Lock("outfile")),
	} {
		if err == nil {
			t.Errorf("%s leads out", what)
		}
	}
	if got := Listing(t, outside, ".") + "|" + Get(t, outside, "secret"); got != "secret|secret" {
		t.Errorf("outside: %s", got)
	}
	if err := fsys.Remove("out"); err != nil {
		t.Errorf("a link itself can be removed: %v", err)
	}
}

// conformLinksInside follows links that stay inside, to files, to folders, in a chain and in a circle.
func (f Fixture) conformLinksInside(t *testing.T) {
	fsys := f.Fresh(t)
	if err := fsys.MkdirAll("d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "d/a", "one")
	f.Link(t, fsys, "d", "folder")
	f.Link(t, fsys, "../a", "d/e/file")
	f.Link(t, fsys, "folder/e/file", "chain")
	f.Link(t, fsys, "circle", "circle")
	f.Link(t, fsys, "d/new", "dangling")
	for _, name := range []string{"folder/a", "folder/e/file", "chain", "folder/../d/a"} {
		if got := Get(t, fsys, name); got != "one" {
			t.Errorf("%q holds %q", name, got)
		}
	}
	if got := Listing(t, fsys, "folder"); got != "a e/" {
		t.Errorf("a folder behind a link holds %s", got)
	}
	if _, err := fsys.Stat("circle"); err == nil {
		t.Error("a circle leads somewhere")
	}
	if err := second(fsys.Stat("dangling")); err == nil {
		t.Error("a link to nothing leads somewhere")
	}
	for name, flag := range map[string]int{
		"chain": os.O_WRONLY, "dangling": os.O_WRONLY | os.O_CREATE, "circle": os.O_RDWR | os.O_CREATE | os.O_TRUNC, "d/e/file": os.O_RDONLY | os.O_TRUNC,
	} {
		WantError(t, "writing through a link", second(fsys.OpenFile(name, flag, 0o644)), platform.ErrNoFile)
	}
	WantError(t, "a lock behind a link", second(fsys.Lock("chain")), platform.ErrNoFile)
	if got := Get(t, fsys, "chain"); got != "one" {
		t.Errorf("written through a link: %q", got)
	}
	if err := fsys.Rename("dangling", "moved"); err != nil {
		t.Error(err)
	}
	if info, err := fsys.Lstat("moved"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("a link was renamed and is %v, %v", info, err)
	}
	if err := fsys.Remove("folder"); err != nil {
		t.Error(err)
	}
	if got := Listing(t, fsys, "d"); got != "a e/" {
		t.Errorf("removed a link and left %s", got)
	}
}
