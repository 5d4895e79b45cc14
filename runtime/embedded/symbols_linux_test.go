//go:build cgo

package embedded_test

import (
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/abi"
	"collet/runtime/embedded"
	"collet/runtime/host"
)

// functions lists the functions that the game's headers declare: those that are not static and could be mixed up.
func functions(t *testing.T) (names []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^[\w* ]+?[ *](\w+)\([^)]*\);`)
	err := fs.WalkDir(os.DirFS(filepath.Join("..", "sample", "game")), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".h") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("..", "sample", "game", name))
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(names, abi.QuerySymbol, abi.ServicesSymbol, abi.ComponentsSymbol)
}

// TestSymbolsAreHidden: where the system's linker can't export single symbols, Go's exports every global one of a program
// that uses cgo. What the loader finds there would take the place of a module's own functions. So this program is linked
// again in that way.
func TestSymbolsAreHidden(t *testing.T) {
	testlevel.Slow(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "everything-exported")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "gles", "-ldflags", "-extldflags=-rdynamic", "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exported := exportedSymbols(t, program)
	if !slices.Contains(exported, "x_cgo_init") {
		t.Fatal("even a function of Go's runtime is not exported; this test sees nothing")
	}
	names := functions(t)
	if len(names) < 15 || !slices.Contains(names, "game_run") {
		t.Fatalf("the headers declare %q", names)
	}
	for _, name := range names {
		if slices.Contains(exported, name) {
			t.Errorf("%s is exported", name)
		}
	}
	careless := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^TestCarelessModule$")
	if out, err := careless.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("a careless module in a program that exports everything: %v\n%s", err, out)
	}
}

// exportedSymbols lists what the loader finds in a program.
func exportedSymbols(t *testing.T, program string) (names []string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	return names
}

// careless is a module that was linked without -Bsymbolic and exports a function that the built-in client has, too.
const careless = `#include "client_runtime.h"
bool game_run(const void* a, const void* b, const void* c) { return a == b && b == c; }
static void run(int32_t argc, char** argv, ClientRuntimeResult* result) { result->Success = argc == 0 && argv && game_run(0, 0, 0); }
bool FO_QueryClientRuntimeExports(uint32_t version, ClientRuntimeExports* exports) {
    exports->Metadata.AbiVersion = version;
    exports->Metadata.RuntimeName = exports->Metadata.BuildHash = exports->Metadata.CompatibilityVersion = "careless";
    exports->Run = run;
    return true;
}
`

// TestCarelessModule: even such a module calls its own function, because ours is not there to be found.
func TestCarelessModule(t *testing.T) {
	testlevel.Slow(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"client_runtime.h": abi.Header, "careless.c": careless} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-o", "careless.so", "careless.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !embedded.Available() {
		t.Fatal("nothing to be mixed up with")
	}
	m, err := host.Load(filepath.Join(dir, "careless.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got, err := m.Run(nil, abi.Services{}); err != nil || !got.Success {
		t.Errorf("the module called another library's function: %+v, %v", got, err)
	}
}
