package installers

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"collet/build/lab/wine"
)

// scripts is where build/pack/windows keeps what its own tests hold it to.
const scripts = "../../pack/windows/testdata"

// TestEscapedIsWhatRuns has a setup write texts into a file that mean something to a script: what comes out is what went in.
func TestEscapedIsWhatRuns(t *testing.T) {
	computers(t, "makensis")
	dir := t.TempDir()
	script, err := filepath.Abs(filepath.Join(scripts, "escaped.nsi"))
	if err != nil {
		t.Fatal(err)
	}
	maker := exec.CommandContext(t.Context(), "makensis", "-NOCONFIG", "-NOCD", "-V2", "-WX", "-INPUTCHARSET", "UTF8", script)
	maker.Dir = dir
	maker.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	if said, err := maker.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if said, err := wine.For(t, wine.Options{}).Run(t.Context(), filepath.Join(dir, "made.exe")); err != nil {
		t.Fatal(err, said)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	units := unitsOf(data)
	want, err := os.ReadFile(filepath.Join(scripts, "escaped.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(string(utf16.Decode(units)), "\n"), strings.Split(string(want), "\n")
	if len(lines) != len(wanted) || len(lines) < 60 {
		t.Errorf("%d lines came out, %d went in", len(lines), len(wanted))
	}
	for i := range min(len(lines), len(wanted)) {
		if lines[i] != wanted[i] {
			t.Errorf("%q came out as %q", wanted[i], lines[i])
		}
	}
}

// unitsOf reads the units of UTF-16.
func unitsOf(data []byte) []uint16 {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[2*i:])
	}
	return units
}
