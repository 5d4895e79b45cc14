package linux_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"collet/build/pack/bundle"
	"collet/build/pack/linux"
)

// packager is how a format of packages is made, installed into a folder, and removed from it.
type packager struct {
	tools           []string
	make            func(ctx context.Context, b bundle.Bundle, out string) error
	name            func(b bundle.Bundle) (string, error)
	prepare         func(t *testing.T, root string)
	install, remove func(t *testing.T, root, file string)
	program         string   // of the package, in the root
	own             []string // folders that the package manager keeps for itself
}

var packagers = map[string]packager{
	"deb": {
		tools: []string{"dpkg", "dpkg-deb"}, make: linux.Deb, name: linux.DebName, prepare: prepareDpkg,
		install: func(t *testing.T, root, file string) { dpkg(t, root, "-i", file) },
		remove:  func(t *testing.T, root, _ string) { dpkg(t, root, "--purge", "lathe") },
		program: "usr/games/lathe", own: []string{"var/lib/dpkg/", "var/log/"},
	},
	"rpm": {
		tools: []string{"rpm"}, make: linux.RPM, name: linux.RPMName, prepare: func(*testing.T, string) {},
		install: func(t *testing.T, root, file string) {
			run(t, "rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "-U", file)
		},
		remove: func(t *testing.T, root, _ string) {
			run(t, "rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-e", "lathe")
		},
		program: "usr/bin/lathe", own: []string{"var/lib/rpm/", "usr/"},
	},
}

// prepareDpkg lays out what dpkg looks for.
func prepareDpkg(t *testing.T, root string) {
	t.Helper()
	admin := filepath.Join(root, "var", "lib", "dpkg")
	err := errors.Join(os.MkdirAll(filepath.Join(admin, "info"), 0o755), os.MkdirAll(filepath.Join(admin, "updates"), 0o755),
		os.WriteFile(filepath.Join(admin, "status"), nil, 0o644), os.WriteFile(filepath.Join(admin, "available"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// dpkg works in a root folder. Nothing that a package depends on is there.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	return run(t, "dpkg", append([]string{"--root=" + root, "--force-depends", "--force-script-chrootless", "--log=" + filepath.Join(root, "var/lib/dpkg/log")}, args...)...)
}

// TestLifecycle plays what a player does with a package: install, start, update, install a newer one, remove.
func TestLifecycle(t *testing.T) {
	w := open(t)
	needRoot(t)
	second, third := w.offer(t, 2), w.offer(t, 3)
	for name, p := range packagers {
		t.Run(name, func(t *testing.T) {
			need(t, p.tools...)
			root := t.TempDir()
			p.prepare(t, root)
			p.install(t, root, w.pack(t, p, "1.0", 1))
			installed := listing(t, filepath.Join(root, "usr"))

			ada := newPlayer(t, filepath.Join(root, p.program))
			ada.start("--offline")
			ada.ran(1)
			if said := ada.start("--server", second); !strings.Contains(said, "outcome ResourcesReady (exit 0)") {
				t.Errorf("the update said:\n%s", said)
			}
			ada.ran(2)
			ada.keepsake()
			same(t, "installed files", listing(t, filepath.Join(root, "usr")), installed)
			if _, err := os.Stat(ada.data("Lathe.so")); err != nil {
				t.Errorf("no module in the player's folder: %v", err)
			}
			bob := newPlayer(t, ada.game)
			bob.start("--offline")
			bob.ran(1)

			// A package that is newer than what the player has counts: nothing is fetched, the older files go.
			p.install(t, root, w.pack(t, p, "1.10", 3))
			ada.start("--server", third)
			ada.ran(3)
			if _, err := os.Stat(ada.data("Lathe.so")); err == nil {
				t.Error("the player's older module still lies in front of the package's")
			}

			// Removing leaves what is the players', and nothing else.
			adas, bobs := listing(t, ada.home), listing(t, bob.home)
			p.remove(t, root, "")
			same(t, "ada's files", listing(t, ada.home), adas)
			same(t, "bob's files", listing(t, bob.home), bobs)
			if adas[".local/share/Lathe/Resources/MyMod.zip"] == "" {
				t.Error("the player's own file is gone")
			}
			left := listing(t, root)
			only(t, "after the removal", left, p.own...)
			noFiles(t, left, "usr/")
		})
	}
}

// noFiles fails where files are left below a folder. Folders that packages share, such as usr/bin, are their distribution's.
func noFiles(t *testing.T, left map[string]string, folder string) {
	t.Helper()
	for name := range maps.Keys(left) {
		if strings.HasPrefix(name, folder) && (!strings.HasSuffix(name, "/") || strings.Contains(name, "lathe")) {
			t.Errorf("%s is left", name)
		}
	}
}

// packed are the packages that were made, by their names and releases: making one takes seconds.
var packed = map[string]bool{}

// pack makes a package of a version with a release of the sample game, under its conventional name.
func (w workshop) pack(t *testing.T, p packager, version string, release int) string {
	t.Helper()
	b := w.game(t, version, release)
	name, err := p.name(b)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(w.dir, "packed", strconv.Itoa(release))
	out := filepath.Join(folder, name)
	if packed[out] {
		return out
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), p.make(t.Context(), b, out)); err != nil {
		t.Fatal(err)
	}
	packed[out] = true
	return out
}

// TestPlayerAhead has a player whose update is newer than the next package: what is newer stays and runs.
func TestPlayerAhead(t *testing.T) {
	w := open(t)
	needRoot(t)
	need(t, "dpkg")
	p, root, third := packagers["deb"], t.TempDir(), w.offer(t, 3)
	p.prepare(t, root)
	p.install(t, root, w.pack(t, p, "1.0", 1))
	ada := newPlayer(t, filepath.Join(root, p.program))
	ada.start("--server", third)
	ada.ran(3)
	p.install(t, root, w.pack(t, p, "1.2", 2))
	for _, args := range [][]string{{"--offline"}, {"--server", third}} {
		ada.start(args...)
		ada.ran(3)
	}
	if _, err := os.Stat(ada.data("Lathe.so")); err != nil {
		t.Errorf("the player's newer module: %v", err)
	}
}
