package installers

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/build/demo"
	"collet/build/lab/wine"
	"collet/build/pack/bundle"
	"collet/build/pack/pe"
	"collet/build/pack/windows"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/runtime/sample"
)

// game is the sample game in two releases, and the client's own program with the game's icon.
type game struct {
	t        *testing.T
	host     []byte
	old, new edition
}

type edition struct {
	compatibility string
	module        []byte
	packs         map[string][]byte
}

func newGame(t *testing.T) game {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "collet-client.exe")
	if err := wine.BuildClient(t.Context(), ".", exe); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	host, err := pe.SetResources(image, pe.Resources{File: "Lathe.exe", Name: "The Lathe", Version: "1.4.2", Publisher: "Example Games", Icon: picture(t)})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := demo.BuildPacks(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := game{t: t, host: host, old: edition{"demo-1", nil, map[string][]byte{}}, new: edition{"demo-2", nil, map[string][]byte{}}}
	for i, e := range []*edition{&g.old, &g.new} {
		module := filepath.Join(dir, "module.dll")
		if err := sample.Build(t.Context(), sample.Options{Release: i + 1, Compatibility: e.compatibility, BuildHash: e.compatibility,
			Output: module, Compiler: wine.Compiler}); err != nil {
			t.Fatal(err)
		}
		if e.module, err = os.ReadFile(module); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths[i*len(paths)/2 : (i+1)*len(paths)/2] {
			if e.packs[filepath.Base(path)], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return g
}

// bundle is a package of the old release.
func (g game) bundle() bundle.Bundle {
	b := lathe(g.t, g.host)
	entries := []bundle.Entry{
		{Path: "Lathe.exe", Mode: bundle.Program, Data: g.host},
		{Path: "Lathe.dll", Mode: bundle.Plain, Data: g.old.module},
	}
	for name, data := range g.old.packs {
		entries = append(entries, bundle.Entry{Path: "Resources/" + name, Mode: bundle.Plain, Data: data})
	}
	tree, err := bundle.NewTree(entries...)
	if err != nil {
		g.t.Fatal(err)
	}
	b.Tree = tree
	return b
}

// serve offers a release on loopback.
func (g game) serve(e edition) (address string) {
	g.t.Helper()
	root := g.t.TempDir()
	files := map[string][]byte{"PlatformBinaries/Windows-win64/Lathe.dll": e.module}
	for name, data := range e.packs {
		files["Resources/"+name] = data
	}
	for name, data := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			g.t.Fatal(err)
		}
	}
	set := config.ForFolder(root, e.compatibility)
	catalogue, err := catalogue.Open(g.t.Context(), set, zerolog.Nop())
	if err != nil {
		g.t.Fatal(err)
	}
	listener, err := server.Listen(g.t.Context(), "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.New(catalogue, set, zerolog.Nop()).Serve(ctx, listener) }()
	g.t.Cleanup(func() { stop(); <-served })
	return listener.Addr().String()
}

// TestUpdateOnWindows: the client of an installed game takes an update into the player's folder, runs it, and the game is told the link
// that it was started by. What was installed stays as it was, and removing it leaves the player's folder.
func TestUpdateOnWindows(t *testing.T) {
	computers(t, "makensis", "wixl", "msibuild", "msiinfo")
	g := newGame(t)
	for _, c := range []*computer{{kind: "nsis", scope: windows.Machine}, {kind: "msi", scope: windows.User}} {
		t.Run(c.kind+" for "+string(c.scope), func(t *testing.T) {
			c.t = t
			c.new = c.pack(g.bundle())
			c.Prefix = wine.For(t, wine.Options{})
			if code := c.install(c.new); code != 0 {
				t.Fatalf("code %d", code)
			}
			before := c.within()
			const link = "lathe://join/7"
			exe := filepath.Join(c.folder(), "Lathe.exe")
			said, err := c.Run(t.Context(), exe, "--headless", "--run", "--trust", "sha256", "--server", g.serve(g.new), "--", "--headless", "--DeepLinkUri", link)
			if err != nil || !strings.Contains(said, "outcome ResourcesReady") {
				t.Fatalf("%v\n%s", err, said)
			}
			if got := c.within(); !same(got, before) {
				t.Errorf("the installed files were %q and are %q", before, got)
			}
			data := filepath.Join(c.local(), "Lathe")
			if module, err := os.ReadFile(filepath.Join(data, "Lathe.dll")); !bytes.Equal(module, g.new.module) {
				t.Errorf("the module in the player's folder is not the new one (%v)", err)
			}
			if log, err := os.ReadFile(filepath.Join(data, "Lathe.log")); !strings.Contains(string(log), "opened by "+link) {
				t.Errorf("the game was not told the link (%v):\n%s", err, log)
			}
			c.remove()
			c.wantGone(c.folder())
			if !exists(filepath.Join(data, "Lathe.dll")) {
				t.Error("the player's folder was touched")
			}
		})
	}
}

// pack makes an installer of a bundle.
func (c *computer) pack(b bundle.Bundle) string {
	c.t.Helper()
	i := windows.Installer{Scope: c.scope, DesktopShortcut: true}
	if c.kind == "nsis" {
		i.Scope = windows.Ask // one setup for both
	}
	out, makeIt := filepath.Join(c.t.TempDir(), windows.SetupName(b)), i.NSIS
	if c.kind == "msi" {
		out, makeIt = filepath.Join(c.t.TempDir(), windows.MSIName(b)), i.MSI
	}
	if err := makeIt(c.t.Context(), b, out); err != nil {
		c.t.Fatal(err)
	}
	if c.kind == "msi" {
		c.product = productCode(c.t, out)
	}
	return out
}

// productCode is by what Windows Installer knows a version of a game, without braces.
func productCode(t *testing.T, msi string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "msiinfo", "export", msi, "Property").CombinedOutput()
	code := regexp.MustCompile(`(?m)^ProductCode\t\{([0-9A-F-]{36})\}`).FindSubmatch(said)
	if err != nil || code == nil {
		t.Fatalf("msiinfo: %v\n%s", err, said)
	}
	return string(code[1])
}
