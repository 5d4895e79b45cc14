package netproto_test

import (
	"testing"

	"collet/netproto"
)

// TestHostOf: host and module have one base name; what is no module has no host.
func TestHostOf(t *testing.T) {
	for _, test := range []struct {
		target netproto.Target
		module string
		want   string
		ok     bool
	}{
		{"Windows-win64", "Lathe.dll", "Lathe.exe", true}, {"Linux-x64", "Lathe.so", "Lathe", true}, {"macOS-arm64", "Lathe.dylib", "Lathe", true},
		{"Linux-x64", "game-1.2.so", "game-1.2", true}, {"Windows-win64", "Lathe_OpenGL.dll", "Lathe_OpenGL.exe", true},
		{"Windows-win64", "Lathe.dll.pdb", "", false}, {"Linux-x64", ".so", "", false}, {"Linux-x64", "Lathe", "", false}, {"Windows-win64", "Lathe.so", "", false},
	} {
		if got, ok := test.target.HostOf(test.module); ok != test.ok || ok && got != test.want {
			t.Errorf("%s, %s: %q, %v", test.target, test.module, got, ok)
		}
	}
}
