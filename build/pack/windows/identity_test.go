package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/pack/bundle"
)

// TestDerived uses the vector of RFC 9562, appendix A.4.
func TestDerived(t *testing.T) {
	if got, want := derived("6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "www.example.com"), "2ED6657D-E927-568B-95E1-2665A8AEA6A2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestIdentity(t *testing.T) {
	b := lathe(t, []byte("MZ"))
	plain, err := identify(b)
	if err != nil {
		t.Fatal(err)
	}
	if plain.upgrade != upgradeCode || plain.key != "org.example.lathe" || plain.program != "Lathe.exe" || plain.link != "The Лэйс & $Co" {
		t.Errorf("%+v", plain)
	}
	b.Base = "Lathe_OpenGL_Steam"
	b.Tree, err = b.Tree.With(bundle.Entry{Path: "Lathe_OpenGL_Steam.exe", Mode: bundle.Program})
	if err != nil {
		t.Fatal(err)
	}
	variant, err := identify(b)
	if err != nil {
		t.Fatal(err)
	}
	if variant.upgrade == plain.upgrade || variant.key == plain.key || variant.link == plain.link ||
		!strings.HasSuffix(variant.display, " (OpenGL Steam)") || !guidForm.MatchString(variant.upgrade) {
		t.Errorf("a variant is %+v", variant)
	}
	if got, want := SetupName(b), "Lathe_OpenGL_Steam-1.4.2-64-setup.exe"; got != want {
		t.Errorf("setup %s, want %s", got, want)
	}
	if got, want := MSIName(b), "Lathe_OpenGL_Steam-1.4.2-64.msi"; got != want {
		t.Errorf("MSI %s, want %s", got, want)
	}
}

// TestRefusals: both makers say what is wrong before any tool runs, and leave no file.
func TestRefusals(t *testing.T) {
	text := func(path, data string) bundle.Entry {
		return bundle.Entry{Path: path, Mode: bundle.Plain, Data: []byte(data)}
	}
	for _, c := range []struct {
		name   string
		change func(*bundle.Bundle, *Installer)
		want   string
	}{
		{"no upgrade code", func(b *bundle.Bundle, _ *Installer) { b.Product.UpgradeCode = "" }, "the same for all versions"},
		{"lower case", func(b *bundle.Bundle, _ *Installer) { b.Product.UpgradeCode = strings.ToLower(upgradeCode) }, "upper case"},
		{"id with a path", func(b *bundle.Bundle, _ *Installer) { b.Product.ID = `a\b` }, "registry"},
		{"scope", func(_ *bundle.Bundle, i *Installer) { i.Scope = "all" }, `"all"`},
		{"version", func(b *bundle.Bundle, _ *Installer) { b.Product.Version = "1.x" }, "65535"},
		{"no host", func(b *bundle.Bundle, _ *Installer) { b.Base = "Other" }, "no Other.exe"},
		{"other system", func(b *bundle.Bundle, _ *Installer) { b.Target = "Linux-x64" }, "Windows-win64"},
		{"marker", func(b *bundle.Bundle, _ *Installer) { b.Tree = with(t, b.Tree, text("installed", "")) }, "same file"},
		{"our name", func(b *bundle.Bundle, _ *Installer) { b.Tree = with(t, b.Tree, text("Uninstall.exe", "")) }, "call yours otherwise"},
		{"link", func(b *bundle.Bundle, _ *Installer) {
			b.Tree = with(t, b.Tree, bundle.Entry{Path: "l", Link: "Lathe.dll"})
		}, "is a link"},
		{"gone", func(b *bundle.Bundle, _ *Installer) {
			b.Tree = with(t, b.Tree, bundle.Entry{Path: "g", Mode: bundle.Plain, From: "/nowhere/at/all"})
		}, "no such file"},
		{"no icon", func(b *bundle.Bundle, _ *Installer) { b.Product.Icon = filepath.Join(t.TempDir(), "none.png") }, "icon"},
		{"too large", func(b *bundle.Bundle, _ *Installer) {
			b.Tree = with(t, b.Tree, bundle.Entry{Path: "large", Mode: bundle.Plain, From: sparse(t, maxContent)})
		}, "offer a zip"},
	} {
		b, i := lathe(t, []byte("MZ")), Installer{}
		c.change(&b, &i)
		for _, m := range makers(i) {
			out := filepath.Join(t.TempDir(), "out")
			if err := m.make(t.Context(), b, out); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", c.name, m.name, err, c.want)
			}
			if left, _ := filepath.Glob(out + "*"); left != nil {
				t.Errorf("%s, %s: %q is left", c.name, m.name, left)
			}
		}
	}
}

func with(t *testing.T, tree bundle.Tree, e bundle.Entry) bundle.Tree {
	t.Helper()
	tree, err := tree.With(e)
	if err != nil {
		// The marker's own check comes later, with another tree.
		t.Fatal(err)
	}
	return tree
}

// sparse is a file of this size that takes no room.
func sparse(t *testing.T, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMSIVersion(t *testing.T) {
	for text, want := range map[string]string{"1.4": "1.4.0", "1.4.2": "1.4.2", "255.255.65535.9": "255.255.65535"} {
		if got, err := msiVersion(text); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"256.0", "1.256", "1", "1.2.65536", ""} {
		if got, err := msiVersion(text); err == nil {
			t.Errorf("%q was taken as %s", text, got)
		}
	}
}

// TestLicense: which file is shown, and how its bytes become those of the page.
func TestLicense(t *testing.T) {
	entry := func(path, data string) bundle.Entry {
		return bundle.Entry{Path: path, Mode: bundle.Plain, Data: []byte(data)}
	}
	if e, found := license(bundle.Tree{entry("LICENSE", ""), entry("eula.TXT", "x"), entry("docs/EULA", "")}); !found || e.Path != "eula.TXT" {
		t.Errorf("%v %v", e, found)
	}
	if e, found := license(bundle.Tree{entry("docs/EULA.txt", "")}); found {
		t.Errorf("%v", e)
	}
	for text, want := range map[string]string{"a\nb": "\ufeffa\r\nb", "\ufeffa\r\n": "\ufeffa\r\n", "": "\ufeff"} {
		if got, err := licenseText(entry("EULA", text)); string(got) != want || err != nil {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"\xff\xfe", strings.Repeat("x", maxLicense+1)} {
		if _, err := licenseText(entry("EULA", text)); err == nil {
			t.Errorf("%d bytes were taken", len(text))
		}
	}
}

// TestDigestIsOfPathsAndBytes: nothing moves from a path into bytes or into another file unnoticed.
func TestDigestIsOfPathsAndBytes(t *testing.T) {
	e := func(path, data string) bundle.Entry { return bundle.Entry{Path: path, Data: []byte(data)} }
	seen := map[string]bool{}
	for _, tree := range []bundle.Tree{nil, {e("a", "bc")}, {e("ab", "c")}, {e("a", "b"), e("c", "")}, {e("a", ""), e("b", "c")}} {
		sum, err := digest(tree)
		if err != nil || seen[sum] {
			t.Errorf("%v: %s, %v", tree, sum, err)
		}
		seen[sum] = true
	}
}
