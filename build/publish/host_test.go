package publish_test

import (
	"testing"

	"collet/build/publish"
	"collet/netproto/release"
)

// TestHostsAreTold: a program beside a module of its name is the host, and nothing else is.
func TestHostsAreTold(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	bin := func(target, name string) string { return "PlatformBinaries/" + target + "/" + name }
	s.publish(game(t, tree{
		"Resources/Core.zip": "core", "Resources/Lathe.bin": "a pack may have any name",
		bin(linux, "Lathe"): "host", bin(linux, "Lathe.so"): "module", bin(linux, "README"): "text",
		bin(windows, "Lathe.exe"): "host", bin(windows, "Lathe.dll"): "module", bin(windows, "tool.exe"): "tool", bin(windows, "Lathe.pdb"): "symbols",
	}), publish.Request{})
	onLinux := tree{"Core.zip": "core", "Lathe.bin": "a pack may have any name", "Lathe": "host", "Lathe.so": "module", "README": "text"}
	onWindows := tree{"Core.zip": "core", "Lathe.bin": "a pack may have any name", "Lathe.exe": "host", "Lathe.dll": "module", "tool.exe": "tool", "Lathe.pdb": "symbols"}
	for name, want := range map[string]bool{
		bin(linux, "Lathe.so"): true, bin(linux, "README"): true, bin(windows, "tool.exe"): true, bin(linux, "Lathe"): false, bin(windows, "Lathe.exe"): false,
	} { // engine generations take the plain files
		if _, err := s.fs.Lstat("plain/" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, listing := range []release.Listing{
		s.wants(query("stable", linux, 0), 1, onLinux).listing, s.wants(query("stable", windows, 0), 1, onWindows).listing,
	} {
		for _, f := range listing {
			want := map[string]release.Use{
				"Lathe": release.UseHost, "Lathe.exe": release.UseHost, "Lathe.so": release.UseRuntime, "Lathe.dll": release.UseRuntime,
				"Core.zip": release.UseResource, "Lathe.bin": release.UseResource,
			}[f.Path]
			if want == "" {
				want = release.UseCompanion
			}
			program := want == release.UseHost || want == release.UseRuntime
			if f.Use != want || (f.Mode == release.ProgramMode) != program {
				t.Errorf("%+v; want %s", f, want)
			}
		}
	}
}
