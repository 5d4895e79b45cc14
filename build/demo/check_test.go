package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/qa/fileset"
	"collet/platform/text"
)

func TestSameFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large := bytes.Repeat([]byte("x"), 2<<20)
	changed := bytes.Clone(large)
	changed[len(changed)-1] = 'y'
	whole, again := write("whole", large), write("again", large)
	if err := fileset.SameFile(whole, again); err != nil {
		t.Error(err)
	}
	for name, data := range map[string][]byte{
		"last byte": changed, "one byte more": append(bytes.Clone(large), 'x'), "half": large[:1<<20], "empty": nil,
	} {
		other := write(name, data)
		if fileset.SameFile(whole, other) == nil || fileset.SameFile(other, whole) == nil {
			t.Errorf("%s: passed as the same", name)
		}
	}
	if err := fileset.SameFile(whole, filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	if err := absent(filepath.Join(dir, "nothing")); err != nil {
		t.Error(err)
	}
	if err := absent(dir); err == nil {
		t.Error("a folder passed for absent")
	}
}

func TestParentOf(t *testing.T) {
	parent, err := parentOf(os.Getpid())
	if runtime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
		return
	}
	if err != nil || parent != os.Getppid() {
		t.Errorf("%d, %v; want %d", parent, err, os.Getppid())
	}
	if _, err := parentOf(0); err == nil {
		t.Error("no process has id 0")
	}
}

func TestFolder(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "new")
	root, remove, err := folder(kept)
	if err != nil || root != kept || remove() != nil {
		t.Fatalf("%s, %v", root, err)
	}
	if err := os.WriteFile(filepath.Join(kept, "precious"), nil, 0o644); err != nil {
		t.Fatal("a kept folder was removed: ", err)
	}
	if _, _, err := folder(kept); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with files was taken: %v", err)
	}
	root, remove, err = folder("")
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil || absent(root) != nil {
		t.Errorf("temporary folder stays: %v", err)
	}
}

func TestTeller(t *testing.T) {
	var out strings.Builder
	tell := newTeller(&out)
	tell.say("link", "%s through", text.Bytes(4_200_000))
	tell.quote("log", []byte(strings.Repeat("line\n", 3*quoteLines)))
	tell.quote("nothing", []byte("\n"))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2+quoteLines || !strings.HasSuffix(lines[0], " s  link     4.2 MB through") || lines[1] != "the end of the log:" {
		t.Errorf("told:\n%s", out.String())
	}
}
