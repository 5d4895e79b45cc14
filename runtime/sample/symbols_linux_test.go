package sample_test

import (
	"debug/elf"
	"slices"
	"testing"

	"collet/runtime/abi"
)

// TestModuleShowsOnlyTheContract: no other name can be mixed up with one of the host, and none of the host's takes its
// place.
func TestModuleShowsOnlyTheContract(t *testing.T) {
	file, err := elf.Open(build(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_BIND(s.Info) == elf.STB_GLOBAL {
			exported = append(exported, s.Name)
		}
	}
	slices.Sort(exported)
	if want := []string{abi.ComponentsSymbol, abi.ServicesSymbol, abi.QuerySymbol}; !slices.Equal(exported, want) {
		t.Errorf("exports %q, want %q", exported, want)
	}
	flags, err := file.DynValue(elf.DT_FLAGS)
	if err != nil || len(flags) == 0 || elf.DynFlag(flags[0])&elf.DF_SYMBOLIC == 0 {
		t.Errorf("not linked with -Bsymbolic: %v, %v", flags, err)
	}
	needed, err := file.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range needed {
		if library != "libc.so.6" && library != "libdl.so.2" && library != "libpthread.so.0" && library != "ld-linux-x86-64.so.2" && library != "ld-linux-aarch64.so.1" {
			t.Errorf("needs %s", library)
		}
	}
}
