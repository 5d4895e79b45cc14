package wine_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"collet/build/lab/wine"
)

// TestAProgramReplacesItself is that of app/install, on Windows: a program replaces its own file while it runs, and the newer one runs
// from the file that moves. The next start removes what was replaced.
func TestAProgramReplacesItself(t *testing.T) {
	prefix, program := wine.For(t, wine.Options{}), filepath.Join(t.TempDir(), "Lathe.exe")
	if err := wine.Build(t.Context(), filepath.Join("..", "..", "..", "app", "install"), "./testdata/selfswap", program); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	old, err := os.ReadFile(program)
	newer := append(old[:len(old):len(old)], "a newer build"...)
	if err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(program), "newer"), newer, 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := prefix.Run(ctx, program, "start"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	live, err := os.ReadFile(program)
	before, errBefore := os.ReadFile(program + ".bak")
	if err != nil || errBefore != nil || !bytes.Equal(live, newer) || !bytes.Equal(before, old) {
		t.Fatalf("%d bytes are live and %d were, %v, %v", len(live), len(before), err, errBefore)
	}
	if out, err := prefix.Run(ctx, program, "look"); err != nil {
		t.Fatalf("the newer one: %v\n%s", err, out)
	}
	for _, name := range []string{program + ".bak", filepath.Join(filepath.Dir(program), "~"+filepath.Base(program))} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", filepath.Base(name), err)
		}
	}
}
