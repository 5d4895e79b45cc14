package linux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"collet/build/demo"
	"collet/build/pack/bundle"
	"collet/build/qa/process"
	"collet/build/testprograms"
	"collet/netproto/product"
	"collet/platform/testlevel"
	"collet/runtime/sample"
)

// workshop is what tests of whole packages are made of: the real programs, and three releases of the sample game. It is made
// once, by the first test that asks, and in make test-all only.
type workshop struct {
	dir            string
	client, server string
	releases       string // release-1, release-2 and release-3: a module and packs in each
}

var shop = sync.OnceValues(openWorkshop)

// shopDir is removed when all tests have run.
var shopDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if shopDir != "" {
		os.RemoveAll(shopDir)
	}
	os.Exit(code)
}

func openWorkshop() (w workshop, err error) {
	if w.dir, err = os.MkdirTemp("", "collet-packages-"); err != nil {
		return w, err
	}
	shopDir = w.dir
	w.releases = filepath.Join(w.dir, "modules")
	ctx := context.Background()
	if _, err := demo.BuildModules(ctx, w.releases, demo.OwnTarget()); err != nil {
		return w, err
	}
	if _, err := demo.BuildPacks(w.releases); err != nil {
		return w, err
	}
	third := filepath.Join(w.releases, "release-3")
	return w, errors.Join(os.CopyFS(third, os.DirFS(filepath.Join(w.releases, "release-2"))), os.Remove(filepath.Join(third, "Lathe.so")),
		sample.Build(ctx, sample.Options{Release: 3, Compatibility: compatibility(3), BuildHash: "demo-3", Output: filepath.Join(third, "Lathe.so")}))
}

// compatibility is what the sample game's releases say.
func compatibility(release int) string { return fmt.Sprintf("lathe-2026.%d", release) }

// open is the workshop, or a loud skip where programs can't be built.
func open(t *testing.T) workshop {
	t.Helper()
	testlevel.Lab(t)
	if product.TargetFor("linux", "amd64") != here() && product.TargetFor("linux", "arm64") != here() {
		t.Skip("NOT TESTED: packages of Linux are installed on Linux")
	}
	w, err := shop()
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.client, w.server = testprograms.Client(t), testprograms.Server(t)
	return w
}

// need skips where a tool is missing, and says what was not tested.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: %s is not installed", tool)
		}
	}
}

// needRoot skips where packages can't be unpacked as they are.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can install packages, into a folder too")
	}
}

// game is the product of all tests.
func game(version string) bundle.Product {
	return bundle.Product{
		Name: "Lathe", NiceName: "The Lathe", ID: "org.example.lathe", Version: version, Publisher: "Example Games & Sons",
		Maintainer: "Ada Example <ada@example.org>", Summary: "Turn things on a lathe.",
		Description: "A game about turning, in which many things are turned, and most of them come out round.\n\nThere are lathes in it, and collets to hold what is turned on them, in a line that is long enough to be wrapped.",
		Homepage:    "https://lathe.example.org", License: "LicenseRef-proprietary", Icon: "testdata/icon.png",
		URIScheme: "lathe", Categories: []string{"Game", "ArcadeGame"}, Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
	}
}

// game is a client with a release of the sample game.
func (w workshop) game(t *testing.T, version string, release int) bundle.Bundle {
	t.Helper()
	from := filepath.Join(w.releases, fmt.Sprintf("release-%d", release))
	tree, err := bundle.Gather(from)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tree {
		tree[i].Mode = bundle.Plain
	}
	if tree, err = tree.With(bundle.Entry{Path: "Lathe", Mode: bundle.Program, From: w.client}); err != nil {
		t.Fatal(err)
	}
	return bundle.Bundle{Product: game(version), Target: here(), Name: "Lathe-Client", Base: "Lathe", Tree: tree}
}

// offer starts a server with a release and gives its address.
func (w workshop) offer(t *testing.T, release int) string {
	t.Helper()
	root := t.TempDir()
	from := filepath.Join(w.releases, fmt.Sprintf("release-%d", release))
	modules := filepath.Join(root, "PlatformBinaries", string(here()))
	settings := filepath.Join(root, "server.toml")
	err := errors.Join(os.CopyFS(filepath.Join(root, "Resources"), os.DirFS(filepath.Join(from, "Resources"))), os.MkdirAll(modules, 0o755))
	if err == nil {
		err = errors.Join(os.Link(filepath.Join(from, "Lathe.so"), filepath.Join(modules, "Lathe.so")),
			os.WriteFile(settings, fmt.Appendf(nil, "CompatibilityVersion = %q\n", compatibility(release)), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	server, address, err := process.StartServer(t.Context(), w.server, settings, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(5 * time.Second) })
	return address
}
