package platform_test

import (
	"bytes"
	"os"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// Telling the disk early changes nothing: not the bytes, not where writing goes on, and not that a range may be nonsense.
func TestWriteAhead(t *testing.T) {
	disk, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for name, fsys := range map[string]platform.FS{"disk": disk, "memory": faultfs.New(faultfs.Config{}).Open(faultfs.Options{})} {
		f, err := fsys.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for n := range 5 {
			piece := bytes.Repeat([]byte{byte(n)}, 70_000)
			if _, err := f.Write(piece); err != nil {
				t.Fatal(err)
			}
			platform.WriteAhead(f, int64(len(want)), int64(len(want)+len(piece)))
			want = append(want, piece...)
		}
		platform.WriteAhead(f, 1<<40, 5)
		platform.WriteAhead(f, -1, -7)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		platform.WriteAhead(f, 0, 10)
		if got, err := platform.ReadFile(fsys, "file", 1<<20); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
}
