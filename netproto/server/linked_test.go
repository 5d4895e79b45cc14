package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"collet/netproto"
	"collet/netproto/server/config"
)

func TestLinkedFilesAreServed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	root := pack(t, fixture())
	if err := os.Symlink("FoGame.so", filepath.Join(root, "PlatformBinaries", "Linux-x64", "Alias.so")); err != nil {
		t.Fatal(err)
	}
	h := start(t, config.ForFolder(root, compatibility))
	p := h.dial(t, netproto.C1)
	_, files := p.greet(hello(netproto.C1))
	if got := string(p.take(files[3])); files[3].Path != "Alias.so" || got != "module" {
		t.Errorf("%s: %q", files[3].Path, got)
	}
}
