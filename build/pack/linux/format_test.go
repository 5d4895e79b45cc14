package linux_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/pack/bundle"
	"collet/build/pack/linux"
	"collet/platform/testlevel"
)

// smallZip is a zip with an empty file.
func smallZip(t *testing.T) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	_, err := w.CreateHeader(&zip.FileHeader{Name: "game.txt"})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// toy is a client without real programs.
func toy(t *testing.T, base string) bundle.Bundle {
	t.Helper()
	tree, err := bundle.NewTree(
		bundle.Entry{Path: base, Mode: bundle.Program, Data: []byte("#!/bin/sh\necho started as $0 with \"$@\"\n")},
		bundle.Entry{Path: base + ".so", Mode: bundle.Plain, Data: bytes.Repeat([]byte("module"), 1<<18)},
		bundle.Entry{Path: "Resources/Core.zip", Mode: bundle.Plain, Data: smallZip(t)},
	)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Bundle{Product: game("1.4.2"), Target: "Linux-x64", Name: base + "-Client-Linux-x64", Base: base, Tree: tree}
}

// unpacked is a .deb's files in a folder.
func unpacked(t *testing.T, deb string) string {
	t.Helper()
	need(t, "dpkg-deb")
	folder := t.TempDir()
	run(t, "dpkg-deb", "-x", deb, folder)
	return folder
}

func made(t *testing.T, make func(context.Context, bundle.Bundle, string) error, b bundle.Bundle, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	if err := make(t.Context(), b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDebFields reads a package with dpkg-deb.
func TestDebFields(t *testing.T) {
	need(t, "dpkg-deb")
	deb := made(t, linux.Deb, toy(t, "Lathe_OpenGL"), "x.deb")
	for field, want := range map[string]string{
		"Package": "lathe-opengl", "Version": "1.4.2", "Architecture": "amd64", "Section": "games", "Maintainer": "Ada Example <ada@example.org>",
		"Homepage": "https://lathe.example.org", "Depends": "", "Installed-Size": "1536",
	} {
		got := strings.TrimSpace(run(t, "dpkg-deb", "-f", deb, field))
		if got != want && field != "Installed-Size" {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	said := run(t, "dpkg-deb", "-f", deb, "Description")
	for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
		if len(line) > 80 || i == 0 && line != "Turn things on a lathe" || i > 0 && !strings.HasPrefix(line, " ") {
			t.Errorf("line %d of the description: %q", i, line)
		}
	}
	if list := run(t, "dpkg-deb", "-c", deb); !strings.Contains(list, "./usr/games/lathe-opengl -> ../lib/games/lathe-opengl/Lathe_OpenGL") || strings.Contains(list, "/home") {
		t.Errorf("files:\n%s", list)
	}
	control := t.TempDir()
	run(t, "dpkg-deb", "-e", deb, control)
	if scripts, err := filepath.Glob(filepath.Join(control, "p*")); err != nil || len(scripts) > 0 {
		t.Errorf("a client's package runs %v", scripts)
	}
}

// TestLintian has Debian's own judge look at a package.
func TestLintian(t *testing.T) {
	testlevel.Lab(t)
	need(t, "lintian", "dpkg-deb")
	client, server := toy(t, "Lathe"), toy(t, "Lathe")
	client.Product.Description = client.Product.Summary
	server.Tree = bundle.Tree{
		{Path: "Resources/Core.zip", Mode: bundle.Plain, Data: smallZip(t)},
		{Path: "collet-server", Mode: bundle.Program, Data: []byte("#!/bin/sh\n")}, {Path: "server.toml", Mode: bundle.Plain, Data: []byte("# nothing\n")},
	}
	for name, deb := range map[string]string{"lathe": made(t, linux.Deb, client, "lathe_1.4.2_amd64.deb"), "server": made(t, linux.ServerDeb, server, "lathe-server_1.4.2_amd64.deb")} {
		said := run(t, "lintian", "--allow-root", "--no-cfg", "--fail-on", "none", "--tag-display-limit", "0", deb)
		for line := range strings.Lines(said) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// TestDesktopFiles has the desktop's own judges look at what they get.
func TestDesktopFiles(t *testing.T) {
	for _, base := range []string{"Lathe", "Lathe_OpenGL"} {
		o := linux.Options{MIMETypes: []string{"application/x-lathe-save"}}
		root := unpacked(t, made(t, o.Deb, toy(t, base), "x.deb"))
		desktops, err := filepath.Glob(filepath.Join(root, "usr/share/applications/*.desktop"))
		if err != nil || len(desktops) != 2 {
			t.Fatalf("%v, %v", desktops, err)
		}
		texts := ""
		for _, name := range desktops {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts += string(text)
		}
		for _, want := range []string{"MimeType=x-scheme-handler/lathe;\n", " -- --DeepLinkUri %u\n", "MimeType=application/x-lathe-save;\n", " -- %f\n", "Exec=/usr/games/" + strings.ReplaceAll(strings.ToLower(base), "_", "-") + " "} {
			if !strings.Contains(texts, want) {
				t.Errorf("no %q in\n%s", want, texts)
			}
		}
		t.Run(base+" desktop-file-validate", func(t *testing.T) {
			testlevel.Lab(t)
			need(t, "desktop-file-validate")
			if said := run(t, "desktop-file-validate", desktops...); said != "" {
				t.Error(said)
			}
		})
		t.Run(base+" appstreamcli", func(t *testing.T) {
			testlevel.Lab(t)
			need(t, "appstreamcli")
			files, err := filepath.Glob(filepath.Join(root, "usr/share/metainfo/*.xml"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
			if said := run(t, "appstreamcli", "validate", "--no-net", files[0]); strings.Contains(said, "E: ") || strings.Contains(said, "W: ") {
				t.Error(said)
			}
		})
	}
}

// TestManual has man read its page.
func TestManual(t *testing.T) {
	testlevel.Lab(t)
	need(t, "man")
	root := unpacked(t, made(t, linux.Deb, toy(t, "Lathe"), "x.deb"))
	said := run(t, "man", "--warnings", "-E", "UTF-8", "-l", filepath.Join(root, "usr/share/man/man6/lathe.6.gz"))
	for _, want := range []string{"lathe - Turn things on a lathe", "A game about turning", "https://lathe.example.org"} {
		if !strings.Contains(strings.ReplaceAll(said, "‐", "-"), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, "warning") {
		t.Error(said)
	}
}

// TestRPMFields reads a package with rpm.
func TestRPMFields(t *testing.T) {
	testlevel.Lab(t)
	need(t, "rpm")
	o := linux.Options{RPMRequires: []string{"libGL.so.1()(64bit)", "hicolor-icon-theme >= 0.17"}}
	file := made(t, o.RPM, toy(t, "Lathe"), "x.rpm")
	if said := run(t, "rpm", "-K", file); !strings.Contains(said, "digests OK") {
		t.Error(said)
	}
	said := run(t, "rpm", "-qp", "--qf", "%{NAME}|%{VERSION}|%{RELEASE}|%{ARCH}|%{SUMMARY}|%{LICENSE}|%{VENDOR}|%{BUILDHOST}|%{PAYLOADCOMPRESSOR}\n", file)
	if want := "lathe|1.4.2|1|x86_64|Turn things on a lathe|LicenseRef-proprietary|Example Games & Sons|localhost|zstd\n"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if said = run(t, "rpm", "-qp", "--requires", file); !strings.Contains(said, "hicolor-icon-theme >= 0.17") || !strings.Contains(said, "libGL.so.1()(64bit)\n") {
		t.Error(said)
	}
	if said = run(t, "rpm", "-qp", "--scripts", file); said != "" {
		t.Errorf("a client's package runs\n%s", said)
	}
}

// TestSameBytes makes each package twice, with everything about the machine changed that can be.
func TestSameBytes(t *testing.T) {
	folder := t.TempDir()
	picture, err := os.ReadFile("testdata/icon.png")
	if err != nil {
		t.Fatal(err)
	}
	build := func(n int) map[string][]byte {
		b := toy(t, "Lathe")
		source := filepath.Join(folder, fmt.Sprint("source", n))
		b.Product.Icon = source + ".png"
		err := errors.Join(os.WriteFile(source, bytes.Repeat([]byte("host"), 1<<20), 0o600), os.WriteFile(b.Product.Icon, picture, 0o600), os.Chtimes(source, time.Time{}, time.Unix(int64(n)*1e8, 0)))
		if err != nil {
			t.Fatal(err)
		}
		b.Tree[0].From, b.Tree[0].Data = source, nil
		all := map[string][]byte{}
		for name, make := range map[string]func(context.Context, bundle.Bundle, string) error{"deb": linux.Deb, "rpm": linux.RPM, "server": linux.ServerDeb} {
			if name == "server" {
				b.Tree = append(slices.Clone(b.Tree), bundle.Entry{Path: "collet-server", Mode: bundle.Program, Data: []byte("x")}, bundle.Entry{Path: "server.toml", Mode: bundle.Plain, Data: []byte("# x\n")})
			}
			out := filepath.Join(folder, fmt.Sprint(name, n))
			if err := make(t.Context(), b, out); err != nil {
				t.Fatal(err)
			}
			if all[name], err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
			b = toy(t, "Lathe")
			b.Product.Icon = source + ".png"
			b.Tree[0].From, b.Tree[0].Data = source, nil
		}
		return all
	}
	first := build(1)
	defer setUmask(setUmask(0o077))
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LANG", "de_DE.UTF-8")
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	t.Setenv("HOSTNAME", "elsewhere")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	second := build(2)
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s: %d and %d bytes, and not the same", name, len(first[name]), len(second[name]))
		}
	}
}

// TestRefuses has nothing written where a package can't be made.
func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*bundle.Bundle)
		want  string
	}{
		"other system": {func(b *bundle.Bundle) { b.Target = "Windows-win64" }, "no Linux"},
		"version":      {func(b *bundle.Bundle) { b.Product.Version = "new" }, "want numbers"},
		"icon":         {func(b *bundle.Bundle) { b.Product.Icon = "none" }, "icon"},
		"marker":       {func(b *bundle.Bundle) { b.Tree = append(b.Tree, bundle.Entry{Path: "INSTALLED", Mode: bundle.Plain}) }, "INSTALLED"},
		"missing file": {func(b *bundle.Bundle) { b.Tree[0].From = "none" }, "none"},
	} {
		for format, make := range map[string]func(context.Context, bundle.Bundle, string) error{"deb": linux.Deb, "rpm": linux.RPM, "AppDir": appDirAlone} {
			b, folder := toy(t, "Lathe"), t.TempDir()
			c.spoil(&b)
			err := make(t.Context(), b, filepath.Join(folder, "out"))
			if err == nil && format == "AppDir" && name == "version" {
				continue // it has none
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v; want %q", name, format, err, c.want)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%s, %s: left %v, %v", name, format, left, err)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := linux.Deb(ended, toy(t, "Lathe"), filepath.Join(t.TempDir(), "out")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func appDirAlone(_ context.Context, b bundle.Bundle, _ string) error {
	_, err := linux.AppDir(b)
	return err
}

// TestTooLarge has files that a format can't hold; they take no room on the disk here.
func TestTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		make func(context.Context, bundle.Bundle, string) error
		size int64
	}{"rpm": {linux.RPM, 2<<30 + 1}, "deb": {linux.Deb, 10_000_000_000}} {
		large := filepath.Join(t.TempDir(), "Levels.zip")
		if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, c.size)); err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		b := toy(t, "Lathe")
		b.Tree = append(b.Tree, bundle.Entry{Path: "Resources/Levels.zip", Mode: bundle.Plain, From: large})
		if err := c.make(t.Context(), b, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "can't hold; deliver packs by the first update") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
