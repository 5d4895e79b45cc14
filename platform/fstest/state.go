package fstest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"collet/platform"
	"collet/platform/testwait"
)

func conformStat(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "four")
	for what, stat := range map[string]func(string) (fs.FileInfo, error){"Stat": fsys.Stat, "Lstat": fsys.Lstat} {
		info, err := stat("a")
		if err != nil || info.Name() != "a" || info.Size() != 4 || !info.Mode().IsRegular() || info.ModTime().IsZero() {
			t.Errorf("%s: %v %v", what, info, err)
		}
		if info, err := stat("."); err != nil || !info.IsDir() {
			t.Errorf("%s of the folder: %v %v", what, info, err)
		}
		_, err = stat("no")
		WantError(t, what, err, fs.ErrNotExist)
	}
	first, again := identity(t, fsys, "a"), identity(t, fsys, "a")
	if first != again || first.Size != 4 {
		t.Errorf("identity: %+v, then %+v", first, again)
	}
}

func conformMode(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "x")
	for _, mode := range []fs.FileMode{0o444, 0o644} {
		if err := fsys.Chmod("a", mode); err != nil {
			t.Fatal(err)
		}
		if info, err := fsys.Stat("a"); err != nil || info.Mode().Perm()&0o200 != mode&0o200 {
			t.Errorf("mode %v: %v %v", mode, info.Mode(), err)
		}
	}
	WantError(t, "chmod of what is missing", fsys.Chmod("no", 0o644), fs.ErrNotExist)
}

func conformSync(t *testing.T, fsys platform.FS) {
	f, err := fsys.OpenFile("a", os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), fsys.SyncDir("."), f.Close()); err != nil {
		t.Error(err)
	}
	WantError(t, "sync of a missing folder", fsys.SyncDir("no"), fs.ErrNotExist)
}

// conformIdentity watches the identity of a file through its life.
func conformIdentity(t *testing.T, fsys platform.FS) {
	Put(t, fsys, "a", "one")
	Put(t, fsys, "b", "two")
	a, b := identity(t, fsys, "a"), identity(t, fsys, "b")
	if a.Inode == 0 {
		t.Skip("this system tells no inode")
	}
	if a.Inode == b.Inode || a.Changed.IsZero() {
		t.Errorf("%+v and %+v", a, b)
	}
	testwait.Until(t, func() bool {
		Put(t, fsys, "probe", "x")
		return identity(t, fsys, "probe").Modified.After(b.Modified)
	}, "the clock of the volume takes a step")
	if again := identity(t, fsys, "a"); again != a {
		t.Errorf("unchanged, and yet %+v and then %+v", a, again)
	}
	if err := fsys.Rename("a", "c"); err != nil {
		t.Fatal(err)
	}
	if c := identity(t, fsys, "c"); c.Inode != a.Inode || c.Modified != a.Modified {
		t.Errorf("renamed: %+v, before %+v", c, a)
	}
	Put(t, fsys, "b", "owt")
	if after := identity(t, fsys, "b"); after == b || after.Inode != b.Inode || !after.Modified.After(b.Modified) {
		t.Errorf("rewritten: %+v, before %+v", after, b)
	}
	if err := fsys.Rename("b", "c"); err != nil {
		t.Fatal(err)
	}
	if c := identity(t, fsys, "c"); c.Inode != b.Inode {
		t.Errorf("replaced: %+v, before %+v", c, a)
	}
}

// identity reads it in three ways that have to agree.
func identity(t *testing.T, fsys platform.FS, name string) platform.Identity {
	t.Helper()
	f := opened(t, fsys, name, os.O_RDONLY)
	open, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	stat, err := fsys.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	lstat, err := fsys.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	id := platform.IdentityOf(stat)
	if platform.IdentityOf(open) != id || platform.IdentityOf(lstat) != id {
		t.Errorf("%s: %+v open, %+v by name, %+v as a link", name, platform.IdentityOf(open), id, platform.IdentityOf(lstat))
	}
	return id
}

// conformWriteFile replaces a file through the helper that installers use.
func conformWriteFile(t *testing.T, fsys platform.FS) {
	for _, content := range []string{"one", "", "three"} {
		if err := platform.WriteFile(fsys, "a", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got := Listing(t, fsys, ".") + "|" + Get(t, fsys, "a"); got != "a|"+content {
			t.Errorf("left %s", got)
		}
	}
	_, err := platform.ReadFile(fsys, "a", 4)
	WantError(t, "read of too much", err, platform.ErrTooLong)
}

func conformPathAndFree(t *testing.T, fsys platform.FS) {
	root := fsys.Path(".")
	if !filepath.IsAbs(root) {
		t.Errorf("the folder is %q", root)
	}
	if got, want := fsys.Path("d/a"), filepath.Join(root, "d", "a"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	free, err := fsys.Free()
	if err != nil || free == 0 || free > 1<<60 {
		t.Errorf("free: %d bytes, %v", free, err)
	}
}

func conformClose(t *testing.T, fsys platform.FS) {
	f, err := fsys.OpenFile("a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Stat("a"); err == nil {
		t.Error("a closed folder answers")
	}
	if _, err := f.Write([]byte("x")); err != nil {
		t.Errorf("an open file went with its folder: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// conformManyAtOnce lets many work in one folder.
func conformManyAtOnce(t *testing.T, fsys platform.FS) {
	const workers, turns = 8, 20
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for turn := range turns {
				if err := work(fsys, fmt.Sprint("f", w), fmt.Sprint(w, " ", turn)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := Listing(t, fsys, "."); got != "f0 f1 f2 f3 f4 f5 f6 f7" {
		t.Errorf("holds %s", got)
	}
}

// work is one turn of one of many.
func work(fsys platform.FS, name, content string) error {
	if err := platform.WriteFile(fsys, name, []byte(content)); err != nil {
		return err
	}
	if _, err := fsys.ReadDir("."); err != nil {
		return err
	}
	if got, err := platform.ReadFile(fsys, name, 100); err != nil || string(got) != content {
		return fmt.Errorf("%s holds %q, %w", name, got, err)
	}
	lock, err := fsys.Lock(name)
	if err != nil {
		return err
	}
	return lock.Close()
}
