package fileset_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"collet/build/qa/fileset"
)

// tree writes files with slashes in their names below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadSetLeavesOutWhatIsNoPart(t *testing.T) {
	dir := tree(t, map[string]string{
		"Lathe": "host", "Lathe.so": "module", "Resources/Core.zip": "", "Resources/deep/a.log": "pack", "Resources/Cache/x": "pack", "saves/1.toml": "player's",
		"~Lathe.so": "x", "Resources/~Core.zip": "x", "Lathe.so-staging": "x", "Lathe.so.bak": "x", ".collet/journal.0": "x",
		"Cache/hashes": "x", "Recycler/7/old.zip": "x", "Lathe.log": "x", "Lathe.toml": "x",
	})
	s, err := fileset.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fileset.Set{
		"Lathe":                "sha256:4740ae6347b0172c01254ff55bae5aff5199f4446e7f6d643d40185b3f475145",
		"Resources/Core.zip":   "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"Lathe.so":             s["Lathe.so"],
		"Resources/deep/a.log": s["Resources/deep/a.log"],
		"Resources/Cache/x":    s["Resources/deep/a.log"],
		"saves/1.toml":         s["saves/1.toml"],
	}
	if !reflect.DeepEqual(s, want) || s["Lathe.so"] == "" || s["saves/1.toml"] == s["Lathe.so"] {
		t.Errorf("got  %v\nwant %v", s, want)
	}
	if _, err := fileset.Read(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there has a set")
	}
}

func TestDiffNamesEveryFile(t *testing.T) {
	has := fileset.Set{"same": "1", "changed": "sha256:0123456789abcdef0123", "extra": "1"}
	want := fileset.Set{"same": "1", "changed": "link:x", "gone": "1"}
	got := has.Diff(want)
	if !reflect.DeepEqual(got, []string{"changed: is sha256:0123456789ab, want link:x", "extra: should not be there", "gone: missing"}) {
		t.Errorf("%q", got)
	}
	if d := has.Diff(has); d != nil {
		t.Errorf("%q", d)
	}
}

func TestPromise(t *testing.T) {
	p := fileset.Promise{Old: fileset.Set{"a": "1", "b": "1"}, New: fileset.Set{"a": "2", "b": "2"}}
	for _, test := range []struct {
		set   fileset.Set
		which string
	}{
		{fileset.Set{"a": "1", "b": "1"}, "old"}, {fileset.Set{"a": "2", "b": "2"}, "new"},
		{fileset.Set{"a": "1", "b": "2"}, ""}, {fileset.Set{"a": "2"}, ""}, {fileset.Set{}, ""}, {fileset.Set{"a": "2", "b": "2", "c": "2"}, ""},
	} {
		which, err := p.Kept(test.set)
		var broken *fileset.BrokenError
		if which != test.which || errors.As(err, &broken) != (test.which == "") {
			t.Errorf("%v: %q, %v", test.set, which, err)
		}
	}
	_, err := p.Kept(fileset.Set{"a": "1", "b": "2"})
	for _, want := range []string{"neither the old nor the new set", "b: is 2, want 1", "a: is 1, want 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if text := fileset.Difference(make([]string, 100)); !strings.Contains(text, "and 88 more") {
		t.Error(text)
	}
}

func TestCopyInstallKeepsModesTimesAndLinks(t *testing.T) {
	from := tree(t, map[string]string{"Lathe": "host", ".collet/journal.0": "x", "Resources/a": "y"})
	then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := errors.Join(os.Chmod(filepath.Join(from, "Lathe"), 0o755), os.Chtimes(filepath.Join(from, "Lathe"), then, then)); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("Resources/a", filepath.Join(from, "link")); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := fileset.CopyInstall(to, from); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, "Lathe"))
	if err != nil || !info.ModTime().Equal(then) || runtime.GOOS != "windows" && info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(to, ".collet", "journal.0")); err != nil {
		t.Error(err)
	}
	a, errA := fileset.Read(from)
	b, errB := fileset.Read(to)
	if d := a.Diff(b); errA != nil || errB != nil || d != nil {
		t.Error(errA, errB, d)
	}
	if err := fileset.CopyInstall(to, from); err == nil {
		t.Error("copied over something")
	}
}
