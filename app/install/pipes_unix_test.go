//go:build unix

package install_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collet/app/install/inspect"
)

// TestPipesHangNothing checks that a pipe in place of a file is an error or is replaced; no call waits for its other end.
func TestPipesHangNothing(t *testing.T) {
	s := all(binaries("Lathe.so", "m2"), packs("A.zip", "a2"))
	for _, name := range []string{
		".collet/lock", ".collet/readers", ".collet/open", ".collet/journal.0", ".collet/journal.1", ".collet/lists.0", ".collet/lists.1",
		".collet", ".collet/previous", ".collet/parts", "Cache", "Cache/hashes", "Resources", "Resources/A.zip", "Resources/~A.zip", "Lathe.so",
		"Lathe.so.bak", "Lathe.so-staging", "Recycler",
	} {
		f := newFolder(t)
		all(binaries("Lathe.so", "m1"), packs("A.zip", "a1")).confirmed().must(f)
		full := filepath.Join(f.dir, filepath.FromSlash(name))
		if err := os.RemoveAll(full); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(full, 0o666); err != nil {
			t.Skip(err)
		}
		_, err := s.on(t, f.open()) // it ends, with or without an error
		if _, inspected := inspect.Folder(context.Background(), f.open(), nil, names(), true); err == nil && inspected != nil {
			t.Errorf("%s: the start does not mind, and the inspection says %v", name, inspected)
		}
	}
}
