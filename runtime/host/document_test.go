package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/abi"
)

// TestModuleOfTheDocument compiles the module in docs/ABI.md with the command in docs/ABI.md, and runs it.
func TestModuleOfTheDocument(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "ABI.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```c\n")
	source, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the document has no module")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"tiny.c": source, "client_runtime.h": abi.Header} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := compileCommand(t, string(data))
	testlevel.Slow(t)
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	m := load(t, filepath.Join(dir, library("Lathe")))
	want := abi.Metadata{ABIVersion: abi.HostABIVersion, RuntimeName: "Tiny", BuildHash: "1", CompatibilityVersion: "tiny-1"}
	if m.Metadata() != want {
		t.Errorf("got %+v, want %+v", m.Metadata(), want)
	}
	var h heard
	result, err := m.Run([]string{"/games/Lathe"}, h.services())
	if err != nil || result != (abi.Result{Success: true}) {
		t.Errorf("got %+v, %v", result, err)
	}
	if !slices.Equal(h.lines, []string{"1 /games/Lathe"}) || h.ready != 1 {
		t.Errorf("heard %d times ready and %q", h.ready, h.lines)
	}
}

// compileCommand finds the document's command for this system.
func compileCommand(t *testing.T, document string) []string {
	t.Helper()
	system := map[string]string{"linux": "Linux", "windows": "Windows", "darwin": "macOS"}[runtime.GOOS]
	_, rest, found := strings.Cut(document, "| "+system+" | `")
	command, _, ends := strings.Cut(rest, "` |")
	if system == "" {
		t.Skip("the document has no command for this system")
	}
	if !found || !ends {
		t.Fatalf("the document has no command for %s", system)
	}
	return strings.Fields(command)
}
