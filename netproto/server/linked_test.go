package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

func TestLinkedFilesAreServed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	root := servertest.WriteFolder(t, servertest.Files())
	if err := os.Symlink("FoGame.so", filepath.Join(root, "PlatformBinaries", "Linux-x64", "Alias.so")); err != nil {
		t.Fatal(err)
	}
	h := servertest.Start(t, config.ForFolder(root, servertest.Compatibility))
	p := h.Dial(t, netproto.C1)
	_, files := p.Greet(servertest.Handshake(netproto.C1))
	if got := string(p.Fetch(files[3])); files[3].Path != "Alias.so" || got != "module" {
		t.Errorf("%s: %q", files[3].Path, got)
	}
}
