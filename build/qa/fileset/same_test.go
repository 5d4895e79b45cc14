package fileset_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/qa/fileset"
)

func TestSameFile(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 3*fileset.SameBlock)
	for name, text := range map[string]string{"whole": long, "again": long, "short": long[1:], "long": long + "x", "bent": long[:fileset.SameBlock] + "y" + long[fileset.SameBlock+1:], "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := fileset.SameFile(at("whole"), at("again")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"short": "ends after", "long": "longer than", "bent": "differs in", "empty": "ends after 0"} {
		if err := fileset.SameFile(at(name), at("whole")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if fileset.SameFile(at("whole"), at(name)) == nil {
			t.Errorf("whole is the same as %s", name)
		}
	}
	for _, pair := range [][2]string{{"whole", "gone"}, {"gone", "whole"}} {
		if err := fileset.SameFile(at(pair[0]), at(pair[1])); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

// TestComparerTellsWhatItCouldNotRead checks that a read error is not reported as a difference.
func TestComparerTellsWhatItCouldNotRead(t *testing.T) {
	broken := errors.New("broken")
	c := fileset.NewComparer(io.MultiReader(strings.NewReader("ab"), broke{broken}))
	if _, err := c.Write([]byte("abc")); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type broke struct{ err error }

func (b broke) Read([]byte) (int, error) { return 0, b.err }
