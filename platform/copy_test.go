package platform_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

func TestCopyRange(t *testing.T) {
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for name, fsys := range map[string]platform.FS{"disk": dir, "memory": faultfs.New(faultfs.Config{}).Open(faultfs.Options{})} {
		t.Run(name, func(t *testing.T) { copyRanges(t, fsys) })
	}
}

func copyRanges(t *testing.T, fsys platform.FS) {
	old := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	if err := platform.WriteHint(fsys, "src", old); err != nil {
		t.Fatal(err)
	}
	src, err := fsys.OpenFile("src", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := fsys.OpenFile("dst", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	want := make([]byte, len(old))
	for _, r := range [][2]int64{{100_000, 60_000}, {0, 1}, {5000, 70_000}, {160_000, 0}} {
		if err := platform.CopyRange(dst, src, r[0], r[1]); err != nil {
			t.Fatal(r, err)
		}
		copy(want[r[0]:], old[r[0]:r[0]+r[1]])
	}
	got, err := platform.ReadFile(fsys, "dst", 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived, %v", len(got), err)
	}
	if err := platform.CopyRange(dst, src, 159_999, 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("more than there is: %v", err)
	}
}
