package install_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"collet/platform/testlevel"
)

// selfswapTime is far more than three starts of a small program take, even on a busy machine.
const selfswapTime = 3 * time.Minute

// TestAProgramReplacesItself: a real program replaces its own running file, and the new one runs while its file is renamed.
// The next start removes the replaced file, which Windows does not allow earlier; build/lab/wine tests that.
func TestAProgramReplacesItself(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "Lathe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./testdata/selfswap").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), selfswapTime)
	defer cancel()
	run := func(program, what string) (string, error) {
		out, err := exec.CommandContext(ctx, program, what).CombinedOutput()
		return string(out), err
	}
	old, err := os.ReadFile(program)
	newer := append(old[:len(old):len(old)], "a newer build"...)
	if err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(program), "newer"), newer, 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := run(program, "start"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	live, err := os.ReadFile(program)
	before, errBefore := os.ReadFile(program + ".bak")
	if err != nil || errBefore != nil || !bytes.Equal(live, newer) || !bytes.Equal(before, old) {
		t.Fatalf("%d bytes are live and %d were, %v, %v", len(live), len(before), err, errBefore)
	}
	if out, err := run(program, "look"); err != nil {
		t.Fatalf("the newer one: %v\n%s", err, out)
	}
	for _, name := range []string{program + ".bak", filepath.Join(filepath.Dir(program), "~"+filepath.Base(program))} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", filepath.Base(name), err)
		}
	}
}
