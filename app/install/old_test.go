package install_test

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// read opens an old file and reads it; a missing one is "absent".
func read(t *testing.T, d *install.Dir, f release.File) string {
	t.Helper()
	file, err := d.OpenExact(t.Context(), f)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, 0, f.Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOldContents finds live files and backups with the right content, and no others.
func TestOldContents(t *testing.T) {
	f := newFolder(t)
	first := append(binaries("Lathe.so", "module 1"), packs("Core.zip", "core 1", "Same.zip", "same")...)
	start{blobs: first, mode: update.Binaries, confirm: true}.must(f)
	second := append(binaries("Lathe.so", "module 2"), packs("Core.zip", "core 2", "Same.zip", "same")...)
	start{blobs: second, mode: update.Binaries}.must(f)
	d := f.mustOpen()
	defer d.Close()
	for i, old := range offer(t, release.SHA256, first) {
		if got := read(t, d, old); got != first[i].content {
			t.Errorf("%s of release 1 is %q", old.Path, got)
		}
	}
	for i, now := range offer(t, release.SHA256, second) {
		if got := read(t, d, now); got != second[i].content {
			t.Errorf("%s of release 2 is %q", now.Path, got)
		}
	}
	third := offer(t, release.SHA256, append(packs("Core.zip", "core 3", "New.zip", "new"), binaries("Other.so", "module 1")...))
	for _, never := range third {
		if got := read(t, d, never); got != "absent" {
			t.Errorf("%s of release 3 is %q", never.Path, got)
		}
	}
	if d.Manages(third[2]) || !d.Manages(third[0]) || d.Bare() {
		t.Error("what belongs here is not known")
	}
	identity, _, err := d.Set()
	if want := d.Identity(offer(t, release.SHA256, second)); err != nil || identity != want {
		t.Errorf("the set is %v, %v; want %v", identity, err, want)
	}
	if identity == d.Identity(offer(t, release.SHA256, first)) {
		t.Error("two sets have one name")
	}
	seen := map[string]bool{}
	d.OpenVersions(offer(t, release.SHA256, second)[1], func(file delta.SetFile, size int64) {
		data, err := io.ReadAll(io.NewSectionReader(file, 0, size))
		seen[string(data)] = err == nil
		_ = file.Close()
	})
	if !seen["core 1"] || !seen["core 2"] || len(seen) != 2 {
		t.Errorf("here is %v", seen)
	}
}

// TestOldContentsThatChanged checks that a changed file is not found.
func TestOldContentsThatChanged(t *testing.T) {
	f := newFolder(t)
	set := packs("Core.zip", "core 1")
	start{blobs: set, confirm: true}.must(f)
	f.write("Resources/Core.zip", "CORE 1")
	d := f.mustOpen()
	defer d.Close()
	if got := read(t, d, offer(t, release.SHA256, set)[0]); got != "absent" {
		t.Errorf("a changed file is %q", got)
	}
}

// TestRestart checks that the part is deleted with all its bytes, and that the whole file is fetched again.
func TestRestart(t *testing.T) {
	f := newFolder(t)
	set := packs("Core.zip", "the right core")
	d := f.mustOpen()
	defer d.Close()
	plan, err := d.Plan(t.Context(), update.Resources, offer(t, release.SHA256, set), func(string, int64, int64) {})
	if err != nil || len(plan.Wants) != 1 {
		t.Fatal(plan, err)
	}
	steps := errors.Join(d.Advance(t.Context(), 0), d.Write(0, []byte("the wrong")), d.Restart(t.Context(), 0),
		d.Advance(t.Context(), 0), d.Write(0, []byte("the right core")), d.Finish(t.Context(), 0), d.Commit(t.Context()))
	if steps != nil {
		t.Fatal(steps)
	}
	if got := f.files()["Resources/Core.zip"]; got != "the right core" {
		t.Errorf("it is %q", got)
	}
	if err := d.Restart(t.Context(), 7); err == nil {
		t.Error("a file that is not planned began anew")
	}
}
