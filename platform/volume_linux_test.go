package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReportsErrors(t *testing.T) {
	t.Parallel()
	for kernel, want := range map[string]bool{
		"6.18.0": true, "5.8.0-53-generic": true, "5.10.16.3-microsoft-standard-WSL2": true, "10.0": true,
		"5.7.19": false, "4.19.0": false, "5": false, "": false, "next": false,
	} {
		if got := reportsErrors(kernel); got != want {
			t.Errorf("%q: %t", kernel, got)
		}
	}
}

func TestDirtyBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"MemFree:  10 kB\nDirty:               340 kB\nWriteback:            2 kB\nWritebackTmp:         7 kB\n": 342 << 10,
		"Dirty: 0 kB\n":    0,
		"MemFree: 10 kB\n": -1,
		"Dirty: many kB\n": -1,
		"":                 -1,
	} {
		got, known := dirtyBytes([]byte(text))
		if !known {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestSyncVolume: many files on one volume are synced together, and an error of that is an error. Where other programs write much, or a
// name is missing, they are synced one by one.
func TestSyncVolume(t *testing.T) {
	t.Parallel()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.volume == nil {
		t.Skip("the folder for temporary files is on a file system that is not synced as a whole")
	}
	var names []string
	for i := range manySyncs {
		names = append(names, fmt.Sprint("file", i))
		if err := os.WriteFile(d.Path(names[i]), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.volume.meminfo = filepath.Join(t.TempDir(), "meminfo")
	say := func(kB int) {
		if err := os.WriteFile(d.volume.meminfo, fmt.Appendf(nil, "Dirty: %d kB\nWriteback: 0 kB\n", kB), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	none := func(error) bool { return false }
	say(0)
	if done, err := syncVolume(d, names, none); !done || err != nil {
		t.Errorf("%t, %v", done, err)
	}
	if done, _ := syncVolume(d, names[1:], none); done {
		t.Error("few files are synced with the volume")
	}
	if err := d.volume.dir.Close(); err != nil { // from here on its sync fails
		t.Fatal(err)
	}
	var path *fs.PathError
	if err := d.SyncFiles(names); !errors.Is(err, syscall.EBADF) || !errors.As(err, &path) {
		t.Errorf("a failed sync of the volume: %v", err)
	}
	if err := d.SyncDirs(append(names, "gone"), func(err error) bool { return errors.Is(err, fs.ErrNotExist) }); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a failed sync of the volume with a folder that is gone: %v", err)
	}
	if err := d.SyncFiles(append(names, "gone")); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EBADF) {
		t.Errorf("with a missing file: %v", err)
	}
	say(1 << 20)
	if err := d.SyncFiles(names); err != nil {
		t.Errorf("beside 1 GiB of other programs: %v", err)
	}
	d.volume.device++
	say(0)
	if err := d.SyncFiles(names); err != nil {
		t.Errorf("files of another volume: %v", err)
	}
	d.volume = nil // its folder is closed
}
