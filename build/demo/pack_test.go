package demo

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"collet/build/qa/fileset"
	"collet/netproto/release"
)

// The tests of this package need its inside: the demo as a whole is run by the end-to-end test of the command.

func TestPackIsAReadableZip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Test.zip")
	entries := []entry{{"b/two.txt", []byte("two")}, {"a.txt", []byte("one")}, {"empty", nil}, {"ö.txt", []byte("umlaut")}}
	if err := writePack(path, entries); err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := []entry{{"a.txt", []byte("one")}, {"b/two.txt", []byte("two")}, {"empty", nil}, {"ö.txt", []byte("umlaut")}}
	if len(r.File) != len(want) {
		t.Fatalf("%d entries, want %d", len(r.File), len(want))
	}
	for i, f := range r.File {
		if f.Name != want[i].name || f.Method != zip.Store || f.Flags&8 != 0 {
			t.Errorf("entry %d: %q, method %d, flags %#x", i, f.Name, f.Method, f.Flags)
		}
		opened, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(opened) // checks the CRC
		if err != nil || string(data) != string(want[i].data) {
			t.Errorf("%s holds %q, %v", f.Name, data, err)
		}
	}
}

func TestPackBytesDependOnlyOnTheEntries(t *testing.T) {
	dir := t.TempDir()
	a, b := entry{"a", []byte("1")}, entry{"b", []byte("2")}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for path, entries := range map[string][]entry{first: {a, b}, second: {b, a}} {
		if err := writePack(path, entries); err != nil {
			t.Fatal(err)
		}
	}
	if err := fileset.SameFile(first, second); err != nil {
		t.Error(err)
	}
	const golden = "sha256:10a6f434a9958d4d15f799f32b0dd8f36bd405146fc494f85a711f525840be73"
	if got := digest(t, first); got != golden {
		t.Errorf("digest %s, want %s", got, golden)
	}
}

// digest names the content of a file.
func digest(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := release.SHA256.DigestOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}
