package platform_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

func TestSyncFiles(t *testing.T) {
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("file-%d", i)
		put(t, dir, name, name)
		names = append(names, name)
	}
	for _, some := range [][]string{nil, names[:1], names} {
		if err := platform.SyncFiles(dir, some); err != nil {
			t.Errorf("%d files: %v", len(some), err)
		}
	}
	err = platform.SyncFiles(dir, []string{"file-1", "nothing", "file-2", "nowhere/file"})
	var path *fs.PathError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) {
		t.Errorf("%v", err)
	}
}

func TestSyncDirs(t *testing.T) {
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	disk := faultfs.New(faultfs.Config{})
	for _, fsys := range []platform.FS{dir, disk.Open(faultfs.Options{})} {
		for _, name := range []string{"a", "b", "c"} {
			if err := fsys.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		none := func(error) bool { return false }
		if err := platform.SyncDirs(fsys, []string{".", "a", "b", "c"}, none); err != nil {
			t.Error(err)
		}
		if err := platform.SyncDirs(fsys, []string{"a", "gone"}, none); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		if err := platform.SyncDirs(fsys, []string{"gone", "a"}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }); err != nil {
			t.Error(err)
		}
	}
}

// TestSyncFilesOneByOne: a disk that counts operations sees them in order, and what was synced outlives a power cut.
func TestSyncFilesOneByOne(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	var synced []string
	fsys := disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if o.Verb == faultfs.Sync {
			synced = append(synced, o.Name)
		}
	}})
	names := []string{"b", "a", "c"}
	for _, name := range names {
		put(t, fsys, name, "text")
	}
	synced = nil
	if err := platform.SyncFiles(fsys, names); err != nil || !slices.Equal(synced, names) {
		t.Errorf("%q, %v", synced, err)
	}
	if err := platform.SyncFiles(fsys, []string{"gone", "a"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
