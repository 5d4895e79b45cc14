package macos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/pack/bundle"
	"collet/build/pack/macos"
	"collet/platform/testlevel"
)

// picture is an icon of so many pixels.
func picture(t *testing.T, side int) string {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewNRGBA(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "icon.png")
	if err := os.WriteFile(name, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// lathe is a client with the base name, and files beside the usual ones.
func lathe(t *testing.T, base string, more ...bundle.Entry) bundle.Bundle {
	t.Helper()
	tree, err := bundle.NewTree(append(more,
		bundle.Entry{Path: base, Mode: bundle.Program, Data: []byte("host")},
		bundle.Entry{Path: base + ".dylib", Mode: bundle.Plain, Data: []byte("module")},
		bundle.Entry{Path: "Resources/Core.zip", Mode: bundle.Plain, Data: []byte("pack")},
	)...)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Bundle{
		Product: bundle.Product{
			Name: "Lathe", NiceName: "The <Lathe> & more", ID: "org.example.lathe", Version: "1.4.2.7", Publisher: "Example Games",
			Icon: picture(t, 512), URIScheme: "lathe", Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		},
		Target: "macOS-arm64", Name: base + "-Client-macOS-arm64", Base: base, Tree: tree,
	}
}

func paths(tree bundle.Tree) string {
	var all []string
	for _, e := range tree {
		all = append(all, e.Path)
	}
	return strings.Join(all, " ")
}

func data(t *testing.T, tree bundle.Tree, path string) []byte {
	t.Helper()
	for _, e := range tree {
		if e.Path == path {
			return e.Data
		}
	}
	t.Fatalf("no %s in %s", path, paths(tree))
	return nil
}

func TestLayout(t *testing.T) {
	b := lathe(t, "Lathe")
	b.Product.NiceName = "The Lathe"
	tree, err := macos.App(b)
	if err != nil {
		t.Fatal(err)
	}
	in := "The Lathe.app/Contents/"
	want := strings.Join([]string{in + "INSTALLED", in + "Info.plist", in + "Lathe.dylib", in + "MacOS/Lathe", in + "PkgInfo", in + "Resources/Core.zip", in + "Resources/Lathe.icns"}, " ")
	if got := paths(tree); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, e := range tree {
		if (e.Mode == bundle.Program) != strings.HasSuffix(e.Path, "MacOS/Lathe") {
			t.Errorf("%s has mode %v", e.Path, e.Mode)
		}
	}
	if got := string(data(t, tree, in+"PkgInfo")); got != "APPL????" {
		t.Errorf("PkgInfo %q", got)
	}
}

func TestFolderNames(t *testing.T) {
	for _, c := range []struct{ base, nice, want string }{
		{"Lathe", "The Lathe", "The Lathe.app"},
		{"Lathe_OpenGL_Steam", "The Lathe", "The Lathe (OpenGL, Steam).app"},
		{"Lathe", "Lathe: Return", "Lathe.app"},
		{"Lathe", "Lathe/Turn", "Lathe.app"},
	} {
		b := lathe(t, c.base)
		b.Product.NiceName = c.nice
		if got := macos.Folder(b); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.base, c.nice, got, c.want)
		}
	}
}

// TestInfoPlist has Python read what was written, as an independent reader of the format.
func TestInfoPlist(t *testing.T) {
	testlevel.Slow(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: no python3 to read property lists with")
	}
	tree, err := macos.App(lathe(t, "Lathe_OpenGL"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", "import json, plistlib, sys; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)")
	cmd.Stdin = bytes.NewReader(data(t, tree, "Lathe_OpenGL.app/Contents/Info.plist"))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	types := got["CFBundleURLTypes"].([]any)[0].(map[string]any)
	if types["CFBundleURLName"] != "org.example.lathe.OpenGL" || types["CFBundleURLSchemes"].([]any)[0] != "lathe" {
		t.Errorf("links %v", types)
	}
	for key, want := range map[string]any{
		"CFBundleExecutable": "Lathe_OpenGL", "CFBundleIdentifier": "org.example.lathe.OpenGL", "CFBundleName": "The <Lathe> & more (OpenGL)",
		"CFBundleVersion": "1.4.2.7", "CFBundleShortVersionString": "1.4.2", "CFBundlePackageType": "APPL",
		"CFBundleIconFile": "Lathe_OpenGL.icns", "NSHighResolutionCapable": true, "NSHumanReadableCopyright": "© 2026 Example Games",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// TestIcons has another program read the icon file.
func TestIcons(t *testing.T) {
	tree, err := macos.App(lathe(t, "Lathe"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "lathe.icns")
	if err := os.WriteFile(name, data(t, tree, "Lathe.app/Contents/Resources/Lathe.icns"), 0o600); err != nil {
		t.Fatal(err)
	}
	testlevel.Slow(t)
	reader, err := exec.LookPath("icns2png")
	if err != nil {
		t.Skip("NOT TESTED: no icns2png (Debian: icnsutils) to read icons with")
	}
	text, err := exec.CommandContext(t.Context(), reader, "--list", name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, kind := range []string{"ic07", "ic08", "ic09", "ic11", "ic12", "ic13", "ic14"} {
		if !strings.Contains(string(text), kind) {
			t.Errorf("no %s in\n%s", kind, text)
		}
	}
	if strings.Contains(string(text), "ic10") {
		t.Errorf("a picture of 512 pixels was enlarged:\n%s", text)
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*bundle.Bundle)
		want  string
	}{
		"other system": {func(b *bundle.Bundle) { b.Target = "Linux-x64" }, "no macOS"},
		"no host":      {func(b *bundle.Bundle) { b.Tree = b.Tree[1:] }, "no host"},
		"signature": {func(b *bundle.Bundle) {
			*b = lathe(t, "Lathe", bundle.Entry{Path: "_CodeSignature/x", Mode: bundle.Plain})
		}, "not for files of a game"},
		"code":          {func(b *bundle.Bundle) { *b = lathe(t, "Lathe", bundle.Entry{Path: "macos/x", Mode: bundle.Plain}) }, "not for files of a game"},
		"own plist":     {func(b *bundle.Bundle) { *b = lathe(t, "Lathe", bundle.Entry{Path: "info.plist", Mode: bundle.Plain}) }, "Info.plist"},
		"no icon":       {func(b *bundle.Bundle) { b.Product.Icon = "none" }, "icon"},
		"no identifier": {func(b *bundle.Bundle) { b.Product.ID = "lathe game" }, "identifier"},
		"no version":    {func(b *bundle.Bundle) { b.Product.Version = "new" }, "version"},
	} {
		b := lathe(t, "Lathe")
		c.spoil(&b)
		if _, err := macos.App(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// TestApplyHook signs as codesign would: the host changes, and files come.
func TestApplyHook(t *testing.T) {
	app, err := macos.App(lathe(t, "Lathe", bundle.Entry{Path: "latest", Link: "Resources/Core.zip"}))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(_ context.Context, app string) error {
		seal := filepath.Join(app, "Contents", "_CodeSignature")
		return errors.Join(os.Mkdir(seal, 0o700), os.WriteFile(filepath.Join(seal, "CodeResources"), []byte("seal"), 0o600),
			os.WriteFile(filepath.Join(app, "Contents", "MacOS", "Lathe"), []byte("host, signed"), 0o755))
	}
	signed, err := macos.ApplyHook(t.Context(), app, t.TempDir(), sign)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := paths(signed), strings.Replace(paths(app), "latest", "_CodeSignature/CodeResources Lathe.app/Contents/latest", 1); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, e := range signed {
		if host := strings.HasSuffix(e.Path, "MacOS/Lathe"); e.Link == "" && host != (e.Mode == bundle.Program) {
			t.Errorf("%s has mode %v", e.Path, e.Mode)
		}
		if strings.HasSuffix(e.Path, "latest") && e.Link != "Resources/Core.zip" {
			t.Errorf("link leads to %q", e.Link)
		}
	}
	refusal := errors.New("no identity")
	for _, hook := range []func(context.Context, string) error{func(context.Context, string) error { return refusal }} {
		if _, err := macos.ApplyHook(t.Context(), app, t.TempDir(), hook); !errors.Is(err, refusal) {
			t.Errorf("got %v", err)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := macos.ApplyHook(t.Context(), app, full, sign); err == nil || !strings.Contains(err.Error(), "empty folder") {
		t.Errorf("got %v", err)
	}
}
