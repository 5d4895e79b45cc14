package verify_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"collet/build/pack/verify"
	"collet/platform/testlevel"
)

// What the archives of these tests are made of.
type file struct{ name, text string }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, at time.Time, files ...file) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store, Modified: at})
		must(t, err)
		_, err = to.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	return out.String()
}

func tarred(t *testing.T, uid int, files ...file) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		must(t, w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644, Uid: uid}))
		_, err := w.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	return out.String()
}

func gzipped(t *testing.T, level int, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	must(t, err)
	_, err = w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return out.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}

func arred(files ...file) string {
	out := "!<arch>\n"
	for _, f := range files {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n%s%s", f.name, 0, 0, 0, "100644", len(f.text), f.text, strings.Repeat("\n", len(f.text)%2))
	}
	return out
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

var then = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func TestFirstDifference(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16) // the difference is not in the first block
	bare := func(s string) string { return s }
	deep := func(change string) string {
		pack := zipped(t, then, file{"a.txt", "same"}, file{"b.txt", "text" + change})
		data := gzipped(t, 6, tarred(t, 0, file{"./usr/share/game/Core.zip", pack}))
		return arred(file{"debian-binary", "2.0\n"}, file{"data.tar.gz", data})
	}
	for _, c := range []struct{ name, a, b, want string }{
		{"equal", "abc", "abc", ""},
		{"byte", "abcdef", "abcxef", "x: byte 3 (0x3): 0x64 and 0x78"},
		{"shorter", "abc", "abcd", "x: byte 3 (0x3): nothing and 0x64"},
		{"empty", "", "a", "x: byte 0 (0x0): nothing and 0x61"},
		{"late", large + "a", large + "b", "x: byte 1048576 (0x100000): 0x61 and 0x62"},
		{"zip member", zipped(t, then, file{"a", "1"}, file{"b", "12"}), zipped(t, then, file{"a", "1"}, file{"b", "13"}), "x: b: byte 1 (0x1): 0x32 and 0x33"},
		{"zip time", zipped(t, then, file{"a", "1"}), zipped(t, then.Add(time.Hour), file{"a", "1"}), "x: a: time: 2026-01-02 03:04:06 and 2026-01-02 04:04:06"},
		{"zip more", zipped(t, then, file{"a", "1"}), zipped(t, then, file{"a", "1"}, file{"b", ""}), "x: next member: the end and b"},
		{"zip other", zipped(t, then, file{"a", "1"}), zipped(t, then, file{"c", "1"}), "x: next member: a and c"},
		{"tar owner", tarred(t, 0, file{"a", "1"}), tarred(t, 7, file{"a", "1"}), "x: a: owner: 0/0 / and 7/0 /"},
		{"tar in zstd", zstded(t, tarred(t, 0, file{"a", "1"})), zstded(t, tarred(t, 0, file{"a", "2"})), "x: (unpacked): a: byte 0 (0x0): 0x31 and 0x32"},
		{"compression", gzipped(t, 1, large), gzipped(t, 9, large), "x: byte "},
		{"deb", deep("1"), deep("2"), "x: data.tar.gz: (unpacked): ./usr/share/game/Core.zip: b.txt: byte 4 (0x4): 0x31 and 0x32"},
		{"broken zip", "PK\x03\x04rubbish", "PK\x03\x04rabbish", "x: byte 5 (0x5): 0x75 and 0x61"},
		{"broken PE", "MZ" + strings.Repeat("\x00", 70) + "a", "MZ" + strings.Repeat("\x00", 70) + "b", "x: byte 72"},
		{"zip and tar", bare("PK\x03\x04"), tarred(t, 0), "x: byte 0"},
	} {
		d, err := verify.Compare(t.Context(), write(t, "x", c.a), write(t, "x", c.b))
		must(t, err)
		got := ""
		if d != nil {
			got = d.String()
		}
		if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFolders(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "sub", "same"), []byte("same"), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "z"), []byte(filepath.Base(dir)), 0o644))
	}
	check := func(want string) {
		t.Helper()
		d, err := verify.Compare(t.Context(), a, b)
		must(t, err)
		if d == nil || !strings.HasPrefix(d.String(), want) {
			t.Errorf("%v, want %s", d, want)
		}
	}
	check("z: byte ")
	must(t, os.Chmod(filepath.Join(a, "sub", "same"), 0o755))
	check("sub/same: permissions: -rwxr-xr-x and -rw-r--r--")
	must(t, os.WriteFile(filepath.Join(b, "only"), nil, 0o644))
	check("only: file: missing and there")
	must(t, os.Symlink("z", filepath.Join(a, "link")))
	must(t, os.Symlink("y", filepath.Join(b, "link")))
	check("link: link: z and y")
	if _, err := verify.Compare(t.Context(), a, filepath.Join(b, "z")); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder and file: %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Compare(ctx, write(t, "x", "a"), write(t, "x", "b")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestPrograms compares real programs: the section is named.
func TestPrograms(t *testing.T) {
	testlevel.Slow(t)
	for _, c := range []struct {
		name, compiler string
		args           []string
		section        string
	}{
		{"ELF", "cc", []string{"-shared", "-fPIC"}, ".rodata"},
		{"PE", "x86_64-w64-mingw32-gcc", []string{"-shared"}, ".rdata"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skipf("NOT TESTED: no %s on this machine; make setup installs it", c.compiler)
			}
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "p.c"), []byte("const char *greet(void) { return \"hello, first difference\"; }\n"), 0o644))
			cmd := exec.CommandContext(t.Context(), c.compiler, append(c.args, "-s", "-o", "p.bin", "p.c")...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program, err := os.ReadFile(filepath.Join(dir, "p.bin"))
			must(t, err)
			other := bytes.Replace(program, []byte("hello, first"), []byte("hello, later"), 1)
			d, err := verify.Compare(t.Context(), write(t, "p", string(program)), write(t, "p", string(other)))
			must(t, err)
			if d == nil || len(d.Place) != 2 || d.Place[1] != "section "+c.section || d.A != "0x66" || d.B != "0x6c" {
				t.Errorf("%v", d)
			}
			grown := string(program) + "signature"
			d, err = verify.Compare(t.Context(), write(t, "p", string(program)), write(t, "p", grown))
			must(t, err)
			if d == nil || d.A != "nothing" && d.A != "the end" {
				t.Errorf("%v", d)
			}
			header := bytes.Clone(program)
			header[9]++
			d, err = verify.Compare(t.Context(), write(t, "p", string(program)), write(t, "p", string(header)))
			must(t, err)
			if d == nil || len(d.Place) != 2 || d.Place[1] != "headers" || d.Offset != 9 {
				t.Errorf("%v", d)
			}
		})
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("PK\x03\x04", "PK\x05\x06")
	f.Add("\x1f\x8b\x08", "\x28\xb5\x2f\xfd")
	f.Add("!<arch>\nx", "\xed\xab\xee\xdb")
	f.Add("\x8e\xad\xe8\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01"+strings.Repeat("\x00", 17), "MZ")
	f.Add("070701"+strings.Repeat("0", 104)+"a", "\x7fELF\x02\x01")
	f.Fuzz(func(t *testing.T, a, b string) {
		dir := t.TempDir()
		x, y := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		must(t, os.WriteFile(x, []byte(a), 0o644))
		must(t, os.WriteFile(y, []byte(b), 0o644))
		for _, other := range []string{x, y} {
			d, err := verify.Compare(t.Context(), x, other)
			must(t, err)
			if same := other == x || a == b; (d == nil) != same {
				t.Errorf("%v although the bytes are the same: %v", d, same)
			}
		}
		// Both begin alike, so that what is inside is looked at.
		must(t, os.WriteFile(y, []byte(a+b), 0o644))
		if d, err := verify.Compare(t.Context(), x, y); err != nil || (d == nil) != (b == "") {
			t.Errorf("%v, %v", d, err)
		}
	})
}
