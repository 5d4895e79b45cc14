//go:build unix

package platform_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collet/platform"
)

// TestOnlyFilesAreOpened: a pipe is not waited for, and nothing is written through a link, inside the folder or out of it.
func TestOnlyFilesAreOpened(t *testing.T) {
	fsys := disk().fresh(t)
	put(t, fsys, "victim", "victim")
	outside := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(outside, []byte("victim"), 0o600))
	must(t, os.Symlink("victim", fsys.Path("inside")))
	must(t, os.Symlink(outside, fsys.Path("outside")))
	must(t, os.Symlink("nothing", fsys.Path("dangling")))
	must(t, syscall.Mkfifo(fsys.Path("pipe"), 0o666))
	for _, name := range []string{"inside", "outside", "dangling", "pipe"} {
		for _, flag := range []int{
			os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
			os.O_RDWR | os.O_CREATE | os.O_APPEND, os.O_RDONLY | os.O_CREATE, os.O_RDONLY | os.O_TRUNC,
		} {
			if f, err := fsys.OpenFile(name, flag, 0o644); !errors.Is(err, platform.ErrNoFile) {
				t.Errorf("%s with flags %#x: %v, %v", name, flag, f, err)
			}
		}
		if lock, err := fsys.Lock(name); !errors.Is(err, platform.ErrNoFile) {
			t.Errorf("lock of %s: %v, %v", name, lock, err)
		}
	}
	for _, name := range []string{"pipe", "outside"} {
		if data, err := platform.ReadFile(fsys, name, 100); err == nil {
			t.Errorf("read %q of %s", data, name)
		}
	}
	if _, err := fsys.ReadDir("pipe"); err == nil {
		t.Error("a pipe was listed")
	}
	if err := fsys.SyncDir("pipe"); err == nil {
		t.Error("a pipe was synced")
	}
	for _, name := range []string{outside, fsys.Path("victim")} {
		if data, err := os.ReadFile(name); err != nil || string(data) != "victim" {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	if _, err := os.Lstat(fsys.Path("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made through a dangling link: %v", err)
	}
	if data, err := platform.ReadFile(fsys, "inside", 100); err != nil || string(data) != "victim" {
		t.Errorf("a link inside is read as %q, %v", data, err)
	}
}
