package server_test

import (
	"slices"
	"testing"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// TestHostsAreForThoseWhoKnowThem: an engine's client would replace its own program by a file that begins with its module's name
// and a dot; it is told of modules and companions only.
func TestHostsAreForThoseWhoKnowThem(t *testing.T) {
	t.Parallel()
	root := servertest.WriteFolder(t, map[string]string{
		"Resources/Core.zip": "core", "Resources/Lathe.zip": "a pack",
		"PlatformBinaries/Windows-win64/Lathe.dll": "module", "PlatformBinaries/Windows-win64/Lathe.exe": "host",
		"PlatformBinaries/Windows-win64/Lathe.dll.pdb": "symbols", "PlatformBinaries/Windows-win64/Lathe_OpenGL.dll": "another",
		"PlatformBinaries/Windows-win64/Lathe_OpenGL.exe": "its host", "PlatformBinaries/Windows-win64/tool.exe": "no host",
	})
	h := servertest.Start(t, config.ForFolder(root, servertest.Compatibility))
	for generation, hosts := range map[netproto.Generation]bool{netproto.C1: true, netproto.G1: false} {
		p := h.Dial(t, generation)
		m := servertest.Handshake(generation)
		m.Target = "Windows-win64"
		_, files := p.Greet(m)
		var names []string
		for _, f := range files {
			names = append(names, f.Path)
		}
		for _, name := range []string{"Lathe.exe", "Lathe_OpenGL.exe"} {
			if slices.Contains(names, name) != hosts {
				t.Errorf("%v: %q", generation, names)
			}
		}
		for _, name := range []string{"Core.zip", "Lathe.zip", "Lathe.dll", "Lathe.dll.pdb", "Lathe_OpenGL.dll", "tool.exe"} {
			if !slices.Contains(names, name) {
				t.Errorf("%v: no %s in %q", generation, name, names)
			}
		}
	}
}
