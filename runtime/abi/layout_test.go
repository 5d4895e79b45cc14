package abi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/abi"
)

// structs pairs the header's structs with their mirrors, in the header's order. Fields have the same names.
var structs = []struct {
	name   string
	mirror any
	size   uint32
}{
	{"ClientRuntimeMetadata", abi.RawMetadata{}, abi.MetadataSize},
	{"ClientRuntimeResult", abi.RawResult{}, abi.ResultSize},
	{"ClientRuntimeExports", abi.RawExports{}, abi.ExportsSize},
	{"ColletHostServices", abi.RawServices{}, abi.ServicesSize},
	{"ColletComponent", abi.RawComponent{}, abi.ComponentSize},
	{"ColletComponents", abi.RawComponents{}, abi.ComponentsSize},
}

// constants pairs the header's numbers with ours, in the header's order.
var constants = []struct {
	name  string
	value int64
}{
	{"FO_CLIENT_RUNTIME_HOST_ABI_VERSION", abi.HostABIVersion},
	{"COLLET_OLDEST_HOST_ABI_VERSION", abi.OldestHostABIVersion},
	{"FO_CLIENT_RUNTIME_SHUTDOWN", int64(abi.Shutdown)},
	{"FO_CLIENT_RUNTIME_RELOAD_REQUESTED", int64(abi.ReloadRequested)},
	{"FO_CLIENT_RUNTIME_FATAL_ERROR", int64(abi.FatalError)},
	{"COLLET_LOG_DEBUG", int64(abi.LogDebug)},
	{"COLLET_LOG_INFO", int64(abi.LogInfo)},
	{"COLLET_LOG_WARN", int64(abi.LogWarn)},
	{"COLLET_LOG_ERROR", int64(abi.LogError)},
	{"COLLET_HOST_SERVICES_VERSION", abi.ServicesVersion},
	{"COLLET_MAX_COMPONENTS", abi.MaxComponents},
	{"COLLET_MAX_COMPONENT_NAME", abi.MaxComponentName},
	{"COLLET_MAX_BUILD_ID", abi.MaxBuildID},
	{"COLLET_MAX_BRANCH", abi.MaxBranch},
}

// claims are what has to hold for the header and the mirror to be the same, as C expressions.
func claims() (all []string) {
	claim := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	for _, s := range structs {
		mirror := reflect.TypeOf(s.mirror)
		claim("sizeof(%s) == %d", s.name, mirror.Size())
		for i := range mirror.NumField() {
			f := mirror.Field(i)
			claim("offsetof(%s, %s) == %d", s.name, f.Name, f.Offset)
			claim("sizeof(((%s*)0)->%s) == %d", s.name, f.Name, f.Type.Size())
		}
	}
	for _, c := range constants {
		claim("%s == %d", c.name, c.value)
	}
	claim("sizeof(void (*)(void)) == sizeof(void*)")
	return all
}

// compilers are those that may read the header: C and C++ of this system, and C for Windows.
var compilers = []struct {
	name, file, assert string
	command            []string
}{
	{"C11", "claims.c", "_Static_assert", []string{"cc", "-std=c11"}},
	{"C++11", "claims.cc", "static_assert", []string{"c++", "-std=c++11"}},
	{"C11 for Windows", "claims.c", "_Static_assert", []string{"x86_64-w64-mingw32-gcc", "-std=c11"}},
}

// compile has a compiler look at the header and at claims about it.
func compile(t *testing.T, command []string, file, assert string, all []string) (said string, err error) {
	t.Helper()
	dir := t.TempDir()
	text := "#include \"client_runtime.h\"\n#include <stddef.h>\n"
	for _, c := range all {
		text += fmt.Sprintf("%s(%s, %q);\n", assert, c, c)
	}
	for name, content := range map[string]string{"client_runtime.h": abi.Header, file: text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := append(command[1:], "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", file)
	cmd := exec.CommandContext(t.Context(), command[0], args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestHeaderAndMirrorAreTheSame(t *testing.T) {
	testlevel.Slow(t)
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command[0]); err != nil {
				t.Skip(err)
			}
			if said, err := compile(t, c.command, c.file, c.assert, claims()); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
			if said, err := compile(t, c.command, c.file, c.assert, []string{"sizeof(ClientRuntimeResult) == 31"}); err == nil {
				t.Errorf("the compiler takes a wrong claim: %s", said)
			}
		})
	}
}

// TestSizes are the sizes of the source, which is a program for 64-bit systems.
func TestSizes(t *testing.T) {
	if abi.MetadataSize != 32 || abi.ResultSize != 32 || abi.ExportsSize != 48 || abi.ServicesSize != 40 {
		if reflect.TypeFor[uintptr]().Size() == 8 {
			t.Error("a struct has another size than the engine's")
		}
	}
	for _, s := range structs {
		if size := reflect.TypeOf(s.mirror).Size(); size != uintptr(s.size) {
			t.Errorf("%s: %d bytes, the constant says %d", s.name, size, s.size)
		}
	}
}

// TestHeaderNamesTheSymbols: the names that are looked up are those that the header declares.
func TestHeaderNamesTheSymbols(t *testing.T) {
	for _, name := range []string{abi.QuerySymbol, abi.ServicesSymbol, abi.ComponentsSymbol} {
		if !strings.Contains(abi.Header, "COLLET_EXPORT bool "+name+"(") {
			t.Errorf("the header does not declare %s", name)
		}
	}
}
