package archive_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/platform/testlevel"
)

// tool is a program that reads what we write. Where it is missing the test says so.
func tool(t *testing.T, name string) string {
	t.Helper()
	testlevel.Slow(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT TESTED: no %s on this machine; make setup installs it", name)
	}
	return path
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, name), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestTools unpacks every format with the programs that people have.
func TestTools(t *testing.T) {
	for ext, make := range makers {
		t.Run(ext, func(t *testing.T) {
			dir, entries := t.TempDir(), sample(t, t.TempDir())
			if err := make(t.Context(), tree(t, entries), filepath.Join(dir, "out"), archive.Options{Time: when}); err != nil {
				t.Fatal(err)
			}
			switch ext {
			case "zip", "deflated.zip":
				run(t, dir, "unzip", "-tq", "out")
				run(t, dir, "unzip", "-q", "out")
			case "tar.zst":
				tool(t, "zstd")
				run(t, dir, "tar", "--zstd", "-xf", "out")
			default:
				run(t, dir, "tar", "-xf", "out")
			}
			for _, e := range entries {
				compare(t, dir, e)
			}
		})
	}
}

// compare holds an unpacked file against its entry.
func compare(t *testing.T, dir string, e bundle.Entry) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(e.Path))
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if e.Link != "" {
		if to, err := os.Readlink(path); err != nil || to != e.Link {
			t.Errorf("%s leads to %q, %v", e.Path, to, err)
		}
		return
	}
	want := e.Data
	if e.From != "" {
		want = read(t, e.From)
	}
	if !bytes.Equal(read(t, path), want) {
		t.Errorf("%s: other bytes", e.Path)
	}
	if info.Mode().Perm()&0o700 != e.Mode&0o700 {
		t.Errorf("%s: mode %v, want %v", e.Path, info.Mode(), e.Mode)
	}
	if d := info.ModTime().Sub(when.Truncate(time.Second)); d > 0 || d < -time.Second {
		t.Errorf("%s: time %v", e.Path, info.ModTime())
	}
}

const listing = `import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert sys.argv[2] == "list" or z.testzip() is None
print(json.dumps([[i.filename, i.date_time, i.external_attr >> 16, i.file_size, i.compress_type] for i in z.infolist()]))`

// TestPython reads a zip with the library that most scripts use.
func TestPython(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.zip")
	if err := archive.Zip(t.Context(), tree(t, sample(t, t.TempDir())), out, archive.Options{Time: when}); err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	if err := json.Unmarshal([]byte(run(t, "", "python3", "-c", listing, out, "test")), &rows); err != nil {
		t.Fatal(err)
	}
	want := []any{"Game.app/Contents/MacOS/game", []any{2024., 3., 1., 0., 30., 0.}, float64(0o100755), 117000., 0.}
	if got, _ := json.Marshal(rows[0]); string(got) != mustJSON(t, want) {
		t.Errorf("first entry %s, want %s", got, mustJSON(t, want))
	}
	if len(rows) != 5 || rows[2][2] != float64(0o120777) {
		t.Errorf("entries %v", rows)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// holes is a file that skips zeros instead of writing them.
type holes struct {
	*os.File
	zeros []byte
}

func (h holes) Write(p []byte) (int, error) {
	if len(p) > len(h.zeros) || !bytes.Equal(p, h.zeros[:len(p)]) {
		return h.File.Write(p)
	}
	_, err := h.Seek(int64(len(p)), 1)
	return len(p), err
}

// TestHuge reads gigabytes of zeros: it packs a file of more than 4 GiB, and one behind it: local header, directory and end all need long numbers.
func TestHuge(t *testing.T) {
	testlevel.Lab(t)
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	const size = 4<<30 + 5
	f, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	f.Close()
	out, err := os.Create(filepath.Join(dir, "out.zip"))
	if err != nil {
		t.Fatal(err)
	}
	entries := tree(t, []bundle.Entry{{Path: "a", Mode: bundle.Plain, From: huge}, {Path: "b", Mode: bundle.Plain, Data: []byte("behind")}})
	if err := archive.EncodeZip(t.Context(), entries, holes{out, make([]byte, 1<<20)}, archive.Options{}); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if got := run(t, dir, "python3", "-c", listing, "out.zip", "list"); !strings.Contains(got, "4294967301") {
		t.Errorf("python lists %s", got)
	}
	if got := run(t, dir, "unzip", "-p", "out.zip", "b"); got != "behind" {
		t.Errorf("unzip finds %q behind the large file", got)
	}
	if got := run(t, dir, "unzip", "-v", "out.zip", "a"); !strings.Contains(got, "4294967301") {
		t.Errorf("unzip lists %s", got)
	}
}
