package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestChangedFilesAreRefused changes a file behind the back of a server that reads it for each portion. One that was replaced
// or removed is served on as it was, where an open file allows that.
func TestChangedFilesAreRefused(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	same := strings.Repeat("X", 2400) // as long as Textures.zip
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
		line   string // empty: the file is served
	}{
		{"rewritten in place, equal size", func(t *testing.T, path string) { servertest.WriteFile(t, path, same) }, "changed on disk since startup"},
		{"replaced, equal size and time", func(t *testing.T, path string) {
			info := stat(t, path)
			servertest.WriteFile(t, path+".new", same)
			touch(t, path+".new", info.ModTime())
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"cut", func(t *testing.T, path string) { servertest.WriteFile(t, path, "short") }, "changed on disk since startup"},
		{"grown", func(t *testing.T, path string) { servertest.WriteFile(t, path, same+"more") }, "changed on disk since startup"},
		{"touched", func(t *testing.T, path string) { touch(t, path, time.Unix(1_000_000_000, 0)) }, "changed on disk since startup"},
		{"removed", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, map[bool]string{true: "Can't read update file"}[runtime.GOOS == "windows"]},
		{"linked by a backup", func(t *testing.T, path string) {
			if err := os.Link(path, path+".backup"); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"other permissions", func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
	}
	for _, test := range tests {
		for _, g := range []netproto.Generation{netproto.G1, netproto.C1} {
			t.Run(test.name+", "+g.String(), func(t *testing.T) {
				if runtime.GOOS == "windows" && strings.HasPrefix(test.name, "replaced") {
					t.Skip("no inode to tell two files of equal size and time apart")
				}
				set := servertest.Settings(t)
				path := filepath.Join(set.Baking.ClientResources, "Textures.zip")
				touch(t, path, time.Unix(1_500_000_000, 0)) // so that rewriting shows however coarse the clock
				h := servertest.Start(t, set)
				p := h.Dial(t, g)
				_, files := p.Greet(servertest.Handshake(g))
				if got := p.FetchPortion(1, 0); string(got) != content("", files[1])[:1000] {
					t.Fatalf("before the change: %d bytes", len(got))
				}
				test.change(t, path)
				if test.line == "" {
					if got := string(p.Fetch(files[1])); got != content("", files[1]) {
						t.Errorf("got %d bytes", len(got))
					}
					return
				}
				if g.Engine() {
					p.Send(&netproto.GetUpdateFile{Index: 1, Offset: 1000})
				} else {
					p.Send(&netproto.GetRange{Request: 5, Index: 1, Offset: 1000, Length: 1000})
				}
				expectRefusal(p, g, netproto.RefuseChanged, 5)
				h.Log.Has(t, "warn", test.line, "Textures.zip", "file index 1, client host '127.0.0.1'")
			})
		}
	}
}

func stat(t testing.TB, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func touch(t testing.TB, path string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryModeNeedsNoDisk(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.ServerNetwork.UpdateFilesInMemory = true
	h := servertest.Start(t, set)
	if err := os.RemoveAll(filepath.Dir(set.Baking.ClientResources)); err != nil {
		t.Fatal(err)
	}
	p := h.Dial(t, netproto.G1)
	_, files := p.Greet(servertest.Handshake(netproto.G1))
	for _, f := range files {
		if got := string(p.Fetch(f)); got != content("Linux-x64", f) {
			t.Errorf("%s: %d bytes", f.Path, len(got))
		}
	}
	if h.Catalogue().Storage() != "memory" {
		t.Errorf("storage %q", h.Catalogue().Storage())
	}
	h.Log.Has(t, "info", "updater backend with client resources using memory")
}

func TestStartUpLines(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, servertest.Settings(t))
	p := h.Dial(t, netproto.G1)
	p.Greet(servertest.Handshake(netproto.G1))
	for _, line := range []string{
		"Updater version: 1", "Compatibility version: compat-A", "updater backend with client resources using disk",
		h.Addr, "Listening",
	} {
		h.Log.Has(t, "info", line)
	}
}

func TestReloadOffersToNewConnectionsOnly(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.ServerNetwork.UpdateFilesInMemory = true
	h := servertest.Start(t, set)
	old := h.Dial(t, netproto.C1)
	_, before := old.Greet(servertest.Handshake(netproto.C1))

	servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "Added.zip"), "added") // sorts first and moves every index
	servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "Core.zip"), "new core")
	set.CompatibilityVersion = "compat-B"
	set.Network.ServerPort++
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	h.Log.Has(t, "warn", "Settings of the network changed")
	h.Log.Has(t, "info", "Compatibility version: compat-B")
	for _, f := range before {
		if got := string(old.Fetch(f)); got != content("Linux-x64", f) {
			t.Errorf("old connection, %s: %d bytes", f.Path, len(got))
		}
	}
	fresh := h.Dial(t, netproto.C1)
	m := servertest.Handshake(netproto.C1)
	m.Compatibility = "compat-B"
	answer, after := fresh.Greet(m)
	if answer.Compatibility != "compat-B" || len(after) != len(before)+1 || after[0].Path != "Added.zip" {
		t.Fatalf("got %+v with %d files", answer, len(after))
	}
	if got := string(fresh.Fetch(after[1])); got != "new core" {
		t.Errorf("new connection got %q", got)
	}
}

func TestReloadThatFailsLeavesTheOldCatalogue(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	h := servertest.Start(t, set)
	before := h.Catalogue()
	set.Baking.ClientResourceEntries = []string{"Core", "Missing"}
	if err := h.Reload(t.Context(), set); err == nil || !strings.Contains(err.Error(), "Missing.zip") {
		t.Errorf("got %v", err)
	}
	if h.Catalogue() != before {
		t.Error("the catalogue was replaced")
	}
	p := h.Dial(t, netproto.G1)
	if _, files := p.Greet(servertest.Handshake(netproto.G1)); len(files) != 5 {
		t.Errorf("%d files", len(files))
	}
}

func TestReloadMendsWhatChangedOnDisk(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	h := servertest.Start(t, set)
	servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "Core.zip"), "published anew")
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	p := h.Dial(t, netproto.G1)
	_, files := p.Greet(servertest.Handshake(netproto.G1))
	if got := string(p.Fetch(files[0])); got != "published anew" {
		t.Errorf("got %q", got)
	}
}
