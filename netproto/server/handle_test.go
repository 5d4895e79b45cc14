package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/servertest"
)

// opened lists the files below a folder that this process has open.
func opened(t *testing.T, folder string) (names []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc to see open files")
	}
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		path, err := os.Readlink("/proc/self/fd/" + link.Name())
		if err == nil && strings.HasPrefix(path, folder) {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

func TestFilesAreOpenAsLongAsACatalogueIsUsed(t *testing.T) {
	set := servertest.Settings(t)
	root := filepath.Dir(set.Baking.ClientResources)
	h := servertest.Start(t, set)
	all := len(opened(t, root))
	if want := len(servertest.Files()) - 1; all != want { // readme.txt is not offered
		t.Fatalf("%d files are open, want %d", all, want)
	}
	p := h.Dial(t, netproto.C1)
	_, files := p.Greet(servertest.Handshake(netproto.C1))
	for range 3 {
		p.Fetch(files[1])
	}
	if n := len(opened(t, root)); n != all {
		t.Errorf("%d files are open after portions, want %d", n, all)
	}
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if n := len(opened(t, root)); n != 2*all {
		t.Errorf("%d files are open while an old client is connected, want %d", n, 2*all)
	}
	p.Raw.Close()
	h.WaitForNoClients(t)
	if n := len(opened(t, root)); n != all {
		t.Errorf("%d files are open after the old client, want %d", n, all)
	}
	h.Stop()
	<-h.Done
	h.Close()
	if names := opened(t, root); len(names) != 0 {
		t.Errorf("after the end %q are open", names)
	}
}

func TestFailedOpenLeavesNoFileOpen(t *testing.T) {
	set := servertest.Settings(t)
	root := filepath.Dir(set.Baking.ClientResources)
	servertest.WriteFile(t, filepath.Join(root, "PlatformBinaries", "Linux-x64", "fogame.so"), "differs by case only") // found after hashing
	if c, err := catalogue.Open(t.Context(), set, zerolog.Nop()); err == nil {
		c.Close()
		t.Fatal("accepted")
	}
	if names := opened(t, root); len(names) != 0 {
		t.Errorf("%q are open", names)
	}
}

// TestPublishingKeepsOldClients replaces files by renaming, as publishing does, and then reloads: who was told the old list
// gets the old bytes, before the reload and after it, who comes later the new ones.
func TestPublishingKeepsOldClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files can't be replaced")
	}
	for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
		set := servertest.Settings(t)
		h := servertest.Start(t, set)
		old := h.Dial(t, g)
		_, files := old.Greet(servertest.Handshake(g))
		textures := files[1]
		if got := old.FetchPortion(1, 0); len(got) != 1000 {
			t.Fatalf("%d bytes", len(got))
		}
		path := filepath.Join(set.Baking.ClientResources, "Textures.zip")
		servertest.WriteFile(t, path+".new", "the next release")
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		// Between the rename and the end of the reload, too; and a client that comes then gets what its list says.
		between := h.Dial(t, g)
		between.Greet(servertest.Handshake(g))
		for _, p := range []*servertest.Peer{old, between} {
			if got := string(p.Fetch(textures)); got != content("", textures) {
				t.Errorf("%v: before the reload a client got %d bytes: %.20q", g, len(got), got)
			}
		}
		if err := h.Reload(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if got := string(old.Fetch(textures)); got != content("", textures) {
			t.Errorf("%v: an old client got %d bytes: %.20q", g, len(got), got)
		}
		fresh := h.Dial(t, g)
		_, files = fresh.Greet(servertest.Handshake(g))
		if got := string(fresh.Fetch(files[1])); got != "the next release" {
			t.Errorf("%v: a new client got %q", g, got)
		}
		// What is rewritten in place is lost for the old one, and it is not given anything else.
		servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "Core.zip"), strings.Repeat("cOre", 70))
		if err := h.Reload(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if g.Engine() {
			old.Send(&netproto.GetUpdateFile{Index: 0})
		} else {
			old.Send(&netproto.GetRange{Request: 9, Index: 0, Length: 10})
		}
		expectRefusal(old, g, netproto.RefuseChanged, 9)
		h.Log.Has(t, "warn", "changed on disk since startup", "Core.zip")
	}
}

func TestTooFewDescriptorsAreToldOf(t *testing.T) {
	h := servertest.Open(t, servertest.Settings(t))
	defer h.Close()
	for _, enough := range []uint64{0, 8192 + 256 + 2*8 + 64} {
		h.WarnOf(enough)
	}
	if strings.Contains(h.Log.String(), "fewer open files") {
		t.Errorf("warned without need: %s", h.Log)
	}
	h.WarnOf(8192)
	h.Log.Has(t, "warn", "raise it (LimitNOFILE, ulimit -n)", `"allowed":8192,"needed":8528`)
}
