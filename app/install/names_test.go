package install

import (
	"testing"

	"collet/netproto/release"
)

func TestBinaryNames(t *testing.T) {
	lathe := Names{Runtime: "Lathe", Ext: ".so"}
	windows := Names{Runtime: "Lathe", Ext: ".dll"}
	alt := Names{Runtime: "MyAlt", Server: "Lathe", Ext: ".so"}
	dots := Names{Runtime: "game-1.2", Ext: ".so"}
	dotsAlt := Names{Runtime: "My.Alt.2", Server: "game-1.2", Ext: ".dylib"}
	longer := Names{Runtime: "Lathe_OpenGL", Ext: ".dll"}
	tests := []struct {
		names Names
		path  string
		kind  Kind   // empty: rejected
		live  string // its live name
	}{
		{lathe, "Lathe.so", Module, "Lathe.so"},
		{lathe, "Lathe.so.pdb", Companion, "Lathe.so.pdb"},
		{lathe, "Lathe.so.debug", Companion, "Lathe.so.debug"},
		{lathe, "Lathe.pdb", Companion, "Lathe.pdb"},
		{windows, "Lathe.dll", Module, "Lathe.dll"},
		{windows, "Lathe.dll.pdb", Companion, "Lathe.dll.pdb"},
		{windows, "Lathe.pdb", Companion, "Lathe.pdb"},
		{alt, "Lathe.so", Module, "MyAlt.so"},
		{alt, "Lathe.so.pdb", Companion, "MyAlt.so.pdb"},
		{alt, "Lathe.pdb", Companion, "MyAlt.pdb"},
		{dots, "game-1.2.so", Module, "game-1.2.so"},
		{dots, "game-1.2.so.pdb", Companion, "game-1.2.so.pdb"},
		{dotsAlt, "game-1.2.dylib", Module, "My.Alt.2.dylib"},
		{longer, "Lathe_OpenGL.dll", Module, "Lathe_OpenGL.dll"},

		// The host, its settings, its log, and other files that a server must not replace.
		{lathe, "Lathe", "", ""},
		{windows, "Lathe.exe", "", ""},
		{lathe, "Lathe.toml", "", ""},
		{lathe, "Lathe.log", "", ""},
		{lathe, "Lathe.desktop", "", ""},
		{alt, "MyAlt", "", ""},
		{lathe, "other.txt", "", ""},
		{lathe, "", "", ""},

		// Names reserved by this package, in any case.
		{lathe, "Lathe.so.bak", "", ""},
		{lathe, "Lathe.so.BAK", "", ""},
		{lathe, "Lathe.so-staging", "", ""},
		{lathe, "Lathe.so.pdb-staging", "", ""},
		{lathe, "Lathe.so.pdb-Staging", "", ""},
		{lathe, "Lathe.so.pdb.bak", "", ""},

		// Other runtimes, other systems, other folders.
		{lathe, "Lathe_OpenGL.so", "", ""},
		{longer, "Lathe.dll", "", ""},
		{alt, "MyAlt.so", "", ""},
		{lathe, "lathe.so", "", ""},
		{lathe, "Lathe.dll", "", ""},
		{windows, "Lathe.DLL", "", ""},
		{lathe, "Lathe.sox", "", ""},
		{dots, "game-1.so", "", ""},
		{dots, "game-1.2", "", ""},
		{lathe, "bin/Lathe.so", "", ""},
		{lathe, "Lathe.so/x", "", ""},
		{lathe, "Lathe.so./x.pdb", "", ""},
		{lathe, "Lathe/../Lathe.so", "", ""},
	}
	for _, test := range tests {
		file := release.File{Path: test.path, Size: 5, Digest: wantedDigest, Role: release.Binary}
		got, ok := test.names.binaryEntry(file)
		want := entry{}
		if test.kind != "" {
			want = entry{Kind: test.kind, Live: test.live, Size: 5, Digest: wantedDigest}
		}
		if got != want || ok != (test.kind != "") {
			t.Errorf("%s on %s: %+v %v, want %+v", test.path, test.names.Library(), got, ok, want)
		}
	}
}

func TestPackNames(t *testing.T) {
	n := Names{Runtime: "Lathe", Ext: ".so", Resources: "Data/Packs"}
	got := n.packEntry(release.File{Path: "maps/a.zip", Size: 5, Digest: wantedDigest})
	if want := (entry{Kind: Pack, Live: "Data/Packs/maps/a.zip", Size: 5, Digest: wantedDigest}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestNamesOfAnEntry(t *testing.T) {
	for _, test := range []struct {
		entry                       entry
		part, staged, backup, ready string
	}{
		{entry{Kind: Pack, Live: "R/a/b.zip"}, "R/a/~b.zip", "R/a/b.zip-staging", ".collet/previous/R/a/b.zip", "R/a/~b.zip"},
		{entry{Kind: Pack, Live: "R/a/b.zip", Aside: true}, ".collet/parts/R/a/b.zip", "R/a/b.zip-staging", ".collet/previous/R/a/b.zip", ".collet/parts/R/a/b.zip"},
		{entry{Kind: Module, Live: "L.so"}, "~L.so", "L.so-staging", "L.so.bak", "L.so-staging"},
		{entry{Kind: Companion, Live: "L.so.pdb"}, "~L.so.pdb", "L.so.pdb-staging", ".collet/previous/L.so.pdb", "L.so.pdb-staging"},
	} {
		e := test.entry
		if e.part() != test.part || e.staged() != test.staged || e.backup() != test.backup || e.ready() != test.ready {
			t.Errorf("%+v: %s %s %s %s", e, e.part(), e.staged(), e.backup(), e.ready())
		}
		if release.CheckPath(e.part()) == nil && !e.Aside {
			t.Errorf("a server could name %s", e.part())
		}
	}
}

func TestBelongs(t *testing.T) {
	for _, test := range []struct {
		kind          Kind
		live, library string
		want          bool
	}{
		{Pack, "Resources/a.zip", "Lathe.so", true},
		{Module, "Lathe.so", "Lathe.so", true},
		{Module, "MyAlt.so", "Lathe.so", false},
		{Companion, "Lathe.so.pdb", "Lathe.so", true},
		{Companion, "Lathe.pdb", "Lathe.so", true},
		{Companion, "Lathe_OpenGL.so.pdb", "Lathe.so", false},
		{Companion, "MyAlt.pdb", "Lathe.so", false},
	} {
		if got := belongs(test.kind, test.live, test.library); got != test.want {
			t.Errorf("%s %s of %s: %v", test.kind, test.live, test.library, got)
		}
	}
}

// TestCopiesAreOurs checks that the names of copies are used by no server and no player.
func TestCopiesAreOurs(t *testing.T) {
	for name, want := range map[string]string{"a.zip": "~a.zip.copy", "R/b/a.zip": "R/b/~a.zip.copy"} {
		if got := copyOf(name); got != want || release.CheckPath(got) == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
