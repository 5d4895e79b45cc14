package install_test

import (
	"errors"
	"testing"

	"collet/app/update"
)

// restoring opens an install, calls RestoreModule, and closes it.
func (f folder) restoring(want bool) {
	f.t.Helper()
	d := f.mustOpen()
	restored, err := d.RestoreModule(f.t.Context())
	if err != nil || restored != want {
		f.t.Errorf("restored %v, %v; want %v", restored, err, want)
	}
	if err := d.Close(); err != nil {
		f.t.Error(err)
	}
}

// TestRestoreModule checks that a module that can't be loaded is replaced only if it differs from the set's.
func TestRestoreModule(t *testing.T) {
	both := start{mode: update.Binaries, blobs: append(packs("A.zip", "a1"), binaries("Lathe.so", "one")...), confirm: true}
	next := start{mode: update.Binaries, blobs: append(packs("A.zip", "a2"), binaries("Lathe.so", "two")...)}
	t.Run("an unproven one goes back with its set", func(t *testing.T) {
		f := newFolder(t)
		both.must(f)
		next.must(f)
		f.write("Lathe.so", "damaged")
		f.restoring(true)
		f.want("went back", "Lathe.so=one Recycler/yours-2/Lathe.so=damaged Resources/A.zip=a1")
		next.must(f)
		f.want("it is not to blame", "Lathe.so=two Lathe.so.bak=one Recycler/yours-2/Lathe.so=damaged Resources/A.zip=a2")
	})
	t.Run("a right one stays", func(t *testing.T) {
		f := newFolder(t)
		both.must(f)
		next.must(f)
		f.restoring(false)
		f.want("stays", "Lathe.so=two Lathe.so.bak=one Resources/A.zip=a2")
	})
	t.Run("a damaged backup is no help", func(t *testing.T) {
		f := newFolder(t)
		both.must(f)
		next.must(f)
		f.write("Lathe.so", "damaged")
		f.write("Lathe.so.bak", "as well")
		f.restoring(false)
		f.want("stays", "Lathe.so=damaged Lathe.so.bak=as well Resources/A.zip=a2")
	})
	t.Run("a proven one has a copy", func(t *testing.T) {
		f := newFolder(t)
		both.must(f)
		f.write("Lathe.so", "damaged")
		f.write("Lathe.so.bak", "one")
		f.restoring(true)
		f.want("from the copy", "Lathe.so=one Recycler/yours-1/Lathe.so=damaged Resources/A.zip=a1")
	})
	t.Run("a proven one has none", func(t *testing.T) {
		f := newFolder(t)
		both.must(f)
		f.write("Lathe.so", "damaged")
		f.write("Lathe.so.bak", "older")
		f.restoring(false)
		f.want("stays", "Lathe.so=damaged Lathe.so.bak=older Resources/A.zip=a1")
	})
	t.Run("an install of which nothing is known", func(t *testing.T) {
		f := newFolder(t)
		f.write("Lathe.so", "by hand")
		f.write("Lathe.so.bak", "older")
		f.restoring(false)
		f.want("stays", "Lathe.so=by hand Lathe.so.bak=older")
	})
}

// TestPartsOfAnotherShape checks that parts of a rolled-back set may be missing, and that a file may occupy the place of
// their folder.
func TestPartsOfAnotherShape(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("A.zip", "a1"), confirm: true}.must(f)
	next := start{blobs: packs("A.zip", "a1", "Deep", "d2")}
	next.must(f)
	d := f.mustOpen()
	if err := errors.Join(d.RollBack(t.Context()), d.Unblock(), d.Close()); err != nil {
		t.Fatal(err)
	}
	f.remove(".collet/parts/Resources/Deep")
	f.remove(".collet/parts/Resources")
	f.write(".collet/parts/Resources", "a file")
	next.must(f)
	f.want("once more", "Resources/A.zip=a1 Resources/Deep=d2")
}
