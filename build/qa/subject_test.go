package qa_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"collet/build/qa"
	"collet/build/qa/fileset"
)

func TestFindClient(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs are known by their names there")
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"Lathe": 0o755, "Lathe.so": 0o755, "Lathe.toml": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "Lathe")} {
		program, install, err := qa.FindClient(path)
		if err != nil || filepath.Base(program) != "Lathe" || install != filepath.Dir(program) {
			t.Errorf("%s, %s, %v", program, install, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "uninstall"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := qa.FindClient(dir); err == nil || !strings.Contains(err.Error(), "[Lathe uninstall]") {
		t.Error(err)
	}
}

// TestOwnNames checks that exactly the client's own files of docs/ON-DISK.md are outside of sets.
func TestOwnNames(t *testing.T) {
	const probe = ".collet-0123456789abcdef"
	for _, test := range []struct {
		own     fileset.OwnNames
		outside []string
		inside  []string
	}{
		{
			fileset.OwnNames{},
			[]string{".collet", ".collet/journal.0", "Cache", "Cache/hashes", "Recycler/7/a", "ClientRuntimeHost/Lathe.so.path", "~Lathe.so",
				"Resources/~Core.zip", "Resources/~Core.zip.copy", "Lathe.so-staging", "Lathe.so.bak", "Lathe.log", "Lathe.log.old", "Lathe.toml", probe, "Resources/" + probe},
			[]string{"Lathe.so", "Lathe.so.pdb", ".collet-mods", ".colletx/a", "mods/.collet/a", "Resources/Cache/x", "Caches", "saves/a.log", "saves/1.toml", "a.old", "INSTALLED"},
		},
		{
			fileset.OwnNames{Cache: "Data/Cache", Writable: "w"},
			[]string{"Data/Cache/hashes", "w/Data/Cache/hashes", "w/.collet/lock", "w/Recycler/1/x", "w/Lathe.log", "w/ClientRuntimeHost/Lathe.so.path", "w/Resources/~a", ".collet/readers"},
			[]string{"Cache/x", "Data/x", "w/Lathe.so", "w/Resources/a", "w/w/.collet/x", "wide/.collet/x", "w/saves/a.log"},
		},
	} {
		for _, name := range test.outside {
			if !test.own.Outside(name) {
				t.Errorf("%+v: %s is part of a set", test.own, name)
			}
		}
		for _, name := range test.inside {
			if test.own.Outside(name) {
				t.Errorf("%+v: %s is no part of a set", test.own, name)
			}
		}
	}
}
