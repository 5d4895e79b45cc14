package linux_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/build/qa/process"
)

// service is a server's folder with a release of the sample game.
func (w workshop) service(t *testing.T, version string, release int) bundle.Bundle {
	t.Helper()
	from := filepath.Join(w.releases, fmt.Sprintf("release-%d", release))
	packs, err := bundle.Gather(filepath.Join(from, "Resources"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range packs {
		packs[i].Mode = bundle.Plain
	}
	tree, err := packs.Below("Resources").With(
		bundle.Entry{Path: "collet-server", Mode: bundle.Program, From: w.server},
		bundle.Entry{Path: "collet-server.toml", Mode: bundle.Plain, Data: fmt.Appendf(nil, "# What is served.\nCompatibilityVersion = %q\n", compatibility(release))},
		bundle.Entry{Path: "PlatformBinaries/" + string(here()) + "/Lathe.so", Mode: bundle.Plain, From: filepath.Join(from, "Lathe.so")},
	)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Bundle{Product: game(version), Target: here(), Name: "Lathe-Server", Base: "collet-server", Tree: tree}
}

// serve runs the installed server as its unit does, but on a free port, and gives its address.
func serve(t *testing.T, root string) (*process.Process, string) {
	t.Helper()
	// Folders are those of the root; a real system would have none before them.
	settings := filepath.Join(root, "etc/collet/server.toml")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(t.TempDir(), "server.toml")
	if err := os.WriteFile(local, bytes.ReplaceAll(text, []byte(`"/usr/lib/`), []byte(`"`+root+`/usr/lib/`)), 0o600); err != nil {
		t.Fatal(err)
	}
	server, address, err := process.StartServer(t.Context(), filepath.Join(root, "usr/bin/collet-server"), local, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(5 * time.Second) })
	return server, address
}

// TestServerLifecycle plays what an operator does: install, serve, change the settings, install a newer one, remove, purge.
func TestServerLifecycle(t *testing.T) {
	w := open(t)
	needRoot(t)
	need(t, "dpkg", "deb-systemd-helper")
	root := t.TempDir()
	prepareDpkg(t, root)
	install := func(version string, release int) string {
		b := w.service(t, version, release)
		name, err := linux.ServerDebName(b)
		if err != nil {
			t.Fatal(err)
		}
		// A failed script is an error of dpkg's.
		return dpkg(t, root, "--force-confold", "-i", made(t, linux.ServerDeb, b, name))
	}
	install("1.0", 1)
	enabled := filepath.Join(root, "etc/systemd/system/multi-user.target.wants/collet-server.service")
	if to, err := os.Readlink(enabled); err != nil || !strings.HasSuffix(to, "/systemd/system/collet-server.service") {
		t.Errorf("the service is not enabled: %q, %v", to, err)
	}
	if _, err := os.Lstat(filepath.Join(root, "etc/systemd/system/sockets.target.wants/collet-server-tls.socket")); err == nil {
		t.Error("a port without a certificate is enabled")
	}
	server, address := serve(t, root)
	ada := newPlayer(t, portable(t, w.game(t, "1.0", 1)))
	ada.start("--server", address)
	server.Stop(5 * time.Second)

	settings := filepath.Join(root, "etc/collet/server.toml")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), compatibility(1), compatibility(2)) + "# The operator was here.\n"
	if err := os.WriteFile(settings, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(enabled); err != nil {
		t.Fatal(err)
	}
	install("1.10", 2)
	if text, err := os.ReadFile(settings); err != nil || string(text) != changed {
		t.Errorf("the operator's settings became %q, %v", text, err)
	}
	if _, err := os.Lstat(enabled); err == nil {
		t.Error("a newer package enabled what the operator had disabled")
	}
	server, address = serve(t, root)
	if said := ada.start("--server", address); !strings.Contains(said, "outcome ResourcesReady (exit 0)") {
		t.Errorf("the update said:\n%s", said)
	}
	server.Stop(5 * time.Second)

	kept := filepath.Join(root, "var/lib/private/collet-server")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	dpkg(t, root, "-r", "lathe-server")
	if text, err := os.ReadFile(settings); err != nil || string(text) != changed {
		t.Errorf("after the removal the settings are %q, %v", text, err)
	}
	noFiles(t, listing(t, root), "usr/")
	dpkg(t, root, "--purge", "lathe-server")
	left := listing(t, root)
	only(t, "after purging", left, "var/lib/dpkg/", "var/log/", "var/lib/systemd/", "etc/systemd/", "var/lib/private/", "var/cache/")
	for _, folder := range []string{"usr/", "etc/", "var/lib/private/", "var/lib/systemd/"} {
		noFiles(t, left, folder)
	}
	if _, err := os.Lstat(kept); err == nil {
		t.Error("what the service kept is still there")
	}
}

// portable lays a client out as an archive does, and gives its program.
func portable(t *testing.T, b bundle.Bundle) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), b.Base)
	if err := b.Tree.Lay(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, b.Base)
}

func TestServerDebRefuses(t *testing.T) {
	settings := bundle.Entry{Path: "server.toml", Mode: bundle.Plain, Data: []byte("# nothing\n")}
	program := bundle.Entry{Path: "collet-server", Mode: bundle.Program, Data: []byte("program")}
	for name, c := range map[string]struct {
		entries []bundle.Entry
		want    string
	}{
		"no program":  {[]bundle.Entry{settings}, "want a program collet-server"},
		"no settings": {[]bundle.Entry{program}, "one settings file"},
		"two":         {[]bundle.Entry{program, settings, {Path: "other.toml", Mode: bundle.Plain}}, "etc/collet/server.toml"},
		"broken":      {[]bundle.Entry{program, {Path: "server.toml", Mode: bundle.Plain, Data: []byte("[")}}, "server.toml"},
	} {
		b := bundle.Bundle{Product: game("1.0"), Target: "Linux-x64", Tree: c.entries}
		if err := linux.ServerDeb(t.Context(), b, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// TestServerPorts: sockets go before settings, so they have to say the same.
func TestServerPorts(t *testing.T) {
	settings := "[Network]\nServerPort = 4711\nWebSocketPort = 8001\n"
	b := bundle.Bundle{Product: game("1.0"), Target: "Linux-x64", Tree: bundle.Tree{
		{Path: "collet-server", Mode: bundle.Program, Data: []byte("program")}, {Path: "server.toml", Mode: bundle.Plain, Data: []byte(settings)},
	}}
	units := filepath.Join(unpacked(t, made(t, linux.ServerDeb, b, "x.deb")), "usr/lib/systemd/system")
	for name, want := range map[string]string{"collet-server.socket": "4711", "collet-server-tls.socket": "4443", "collet-server-ws.socket": "8001", "collet-server-wss.socket": "8001"} {
		text, err := os.ReadFile(filepath.Join(units, name))
		if err != nil || strings.Count(string(text), "ListenStream=") != 1 || !strings.Contains(string(text), "\nListenStream="+want+"\n") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	b.Tree[1].Data = []byte("[Network]\nServerPort = \"4711\"\n")
	if err := linux.ServerDeb(t.Context(), b, filepath.Join(t.TempDir(), "x.deb")); err == nil || !strings.Contains(err.Error(), "ServerPort is no whole number") {
		t.Errorf("got %v", err)
	}
}
