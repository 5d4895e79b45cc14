package qa

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"

	"collet/platform"
	"collet/platform/testlevel"
)

// TestManyFilesOutliveAPowerCut: platform.SyncFiles and SyncDirs of so many files that a volume is synced as a whole keep their promise, on
// each file system whose power can be cut. Without them the files are lost.
func TestManyFilesOutliveAPowerCut(t *testing.T) {
	testlevel.Slow(t)
	const files = 300
	for _, kind := range []string{"ext4", "xfs"} {
		for _, synced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, synced %t", kind, synced), func(t *testing.T) {
				t.Parallel()
				image, mount := filepath.Join(t.TempDir(), "image"), filepath.Join(t.TempDir(), "mount")
				err := makeImage(t.Context(), kind, image, 400<<20)
				if err == nil {
					err = mountImage(t.Context(), kind, image, mount)
				}
				if err != nil {
					t.Skip(err)
				}
				defer func() {
					if err := unmount(mount); err != nil {
						t.Error(err)
					}
				}()
				var names, folders []string
				for i := range files {
					folder := fmt.Sprint("folder", i/2)
					names, folders = append(names, path.Join(folder, fmt.Sprint(i))), append(folders, folder)
				}
				if err := writeMany(mount, names, folders, synced); err != nil {
					t.Fatal(err)
				}
				err = errors.Join(cutPower(mount, false), unmount(mount))
				if err == nil {
					err = mountImage(t.Context(), kind, image, mount)
				}
				if err != nil {
					t.Fatal(err)
				}
				right := 0
				for _, name := range names {
					if data, err := os.ReadFile(filepath.Join(mount, name)); err == nil && string(data) == name {
						right++
					}
				}
				if synced && right != files || !synced && right == files {
					t.Errorf("%d of %d files are there", right, files)
				}
			})
		}
	}
}

// writeMany writes files that hold their names.
func writeMany(mount string, names, folders []string, sync bool) (err error) {
	d, err := platform.OpenDir(mount)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for i, name := range names {
		if err := d.MkdirAll(folders[i], 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(d.Path(name), []byte(name), 0o644); err != nil {
			return err
		}
	}
	if !sync {
		return nil
	}
	err = platform.SyncFiles(d, names)
	if err == nil {
		err = platform.SyncDirs(d, append(folders, "."), func(error) bool { return false })
	}
	return err
}
