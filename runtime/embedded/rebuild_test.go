//go:build cgo

package embedded_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/platform/testlevel"
)

// TestSourcesElsewhereAreWatched: the game's sources are in another folder, which Go's build cache does not look at for
// this package. It is built again all the same when they change, because it imports the package that embeds them.
func TestSourcesElsewhereAreWatched(t *testing.T) {
	testlevel.Lab(t) // compiles this package three times
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	copyFile(t, filepath.Join("..", "..", "go.mod"), filepath.Join(root, "go.mod"))
	for _, name := range []string{"abi", "area", "sample", "embedded"} {
		if err := os.CopyFS(filepath.Join(root, "runtime", name), os.DirFS(filepath.Join("..", name))); err != nil {
			t.Fatal(err)
		}
	}
	first := buildID(t, root)
	if again := buildID(t, root); again != first {
		t.Fatalf("two builds of the same: %s, then %s", first, again)
	}
	edit(t, filepath.Join(root, "runtime", "sample", "game", "world.c"), "SPEED = 5", "SPEED = 6")
	second := buildID(t, root)
	if second == first {
		t.Error("not built again when the game changed")
	}
	edit(t, filepath.Join(root, "runtime", "abi", "client_runtime.h"), "COLLET_LOG_ERROR 3", "COLLET_LOG_ERROR 4")
	if third := buildID(t, root); third == second {
		t.Error("not built again when the contract changed")
	}
}

// buildID builds the package and names what came out.
func buildID(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-export", "-f", "{{.BuildID}}", "collet/runtime/embedded")
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	_, content, _ := strings.Cut(strings.TrimSpace(string(out)), "/")
	return content
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// edit replaces the only place where a text stands in a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(data), old) != 1 {
		t.Fatalf("%s does not have %q once", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
