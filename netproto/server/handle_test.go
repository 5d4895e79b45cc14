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
	set := settings(t)
	root := filepath.Dir(set.Baking.ClientResources)
	h := start(t, set)
	all := len(opened(t, root))
	if want := len(fixture()) - 1; all != want { // readme.txt is not offered
		t.Fatalf("%d files are open, want %d", all, want)
	}
	p := h.dial(t, netproto.C1)
	_, files := p.greet(hello(netproto.C1))
	for range 3 {
		p.take(files[1])
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
	p.raw.Close()
	h.gone(t)
	if n := len(opened(t, root)); n != all {
		t.Errorf("%d files are open after the old client, want %d", n, all)
	}
	h.stop()
	<-h.done
	h.Close()
	if names := opened(t, root); len(names) != 0 {
		t.Errorf("after the end %q are open", names)
	}
}

// gone waits until no client is connected.
func (h *house) gone(t testing.TB) {
	t.Helper()
	h.stopped(t, func() bool { return h.Connections() == 0 })
}

func TestFailedOpenLeavesNoFileOpen(t *testing.T) {
	set := settings(t)
	root := filepath.Dir(set.Baking.ClientResources)
	put(t, filepath.Join(root, "PlatformBinaries", "Linux-x64", "fogame.so"), "differs by case only") // found after hashing
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
		set := settings(t)
		h := start(t, set)
		old := h.dial(t, g)
		_, files := old.greet(hello(g))
		textures := files[1]
		if got := old.portion(1, 0); len(got) != 1000 {
			t.Fatalf("%d bytes", len(got))
		}
		path := filepath.Join(set.Baking.ClientResources, "Textures.zip")
		put(t, path+".new", "the next release")
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		// Between the rename and the end of the reload, too; and a client that comes then gets what its list says.
		between := h.dial(t, g)
		between.greet(hello(g))
		for _, p := range []*peer{old, between} {
			if got := string(p.take(textures)); got != content("", textures) {
				t.Errorf("%v: before the reload a client got %d bytes: %.20q", g, len(got), got)
			}
		}
		if err := h.Reload(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if got := string(old.take(textures)); got != content("", textures) {
			t.Errorf("%v: an old client got %d bytes: %.20q", g, len(got), got)
		}
		fresh := h.dial(t, g)
		_, files = fresh.greet(hello(g))
		if got := string(fresh.take(files[1])); got != "the next release" {
			t.Errorf("%v: a new client got %q", g, got)
		}
		// What is rewritten in place is lost for the old one, and it is not given anything else.
		put(t, filepath.Join(set.Baking.ClientResources, "Core.zip"), strings.Repeat("cOre", 70))
		if err := h.Reload(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if g.Engine() {
			old.send(&netproto.GetUpdateFile{Index: 0})
		} else {
			old.send(&netproto.GetRange{Request: 9, Index: 0, Length: 10})
		}
		old.refused(g, netproto.RefuseChanged, 9)
		h.log.has(t, "warn", "changed on disk since startup", "Core.zip")
	}
}

func TestTooFewDescriptorsAreToldOf(t *testing.T) {
	h := open(t, settings(t))
	defer h.Close()
	for _, enough := range []uint64{0, 8192 + 256 + 2*8 + 64} {
		h.WarnOf(enough)
	}
	if strings.Contains(h.log.String(), "fewer open files") {
		t.Errorf("warned without need: %s", h.log)
	}
	h.WarnOf(8192)
	h.log.has(t, "warn", "raise it (LimitNOFILE, ulimit -n)", `"allowed":8192,"needed":8528`)
}
