package pack_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/build/pack"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// everyVariant is a description that packs all variants there are for three systems.
func everyVariant(t *testing.T) *pack.Project {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"icon.png": picture(t, 256, 256), "host": "h", "game.dll": moduleFor("Windows-win64"), "game.so": moduleFor("Linux-x64"), "game.dylib": moduleFor("macOS-arm64"), "game.pdb": "s"})
	var b strings.Builder
	head, _, _ := strings.Cut(good, "[client]")
	head = strings.NewReplacer("art/icon.png", "icon.png", `splash = "art/splash.png"`, "").Replace(head)
	b.WriteString(head + "[client]\nserver = \"tls://x:1\"\n[windows]\nformats = [\"zip\"]\n")
	modules := map[product.Target]string{"Windows-win64": "module = \"game.dll\"\nmodule-pdb = \"game.pdb\"", "Linux-x64": "module = \"game.so\"", "macOS-arm64": "module = \"game.dylib\""}
	targets := []product.Target{"Linux-x64", "Windows-win64", "macOS-arm64"}
	for _, target := range targets {
		fmt.Fprintf(&b, "[[target]]\nname = %q\nhost = \"host\"\n%s\n", target, modules[target])
	}
	for i := 1; i < 3*12; i++ { // 0 is the plain one
		v := product.Variant{
			Headless: i&1 != 0, OpenGL: i&2 != 0, Postfix: []string{"", "Steam", "Epic"}[i/12],
			Profiling: []product.Profiling{product.NoProfiling, product.TotalProfiling, product.OnDemandProfiling}[i/4%3],
		}
		fmt.Fprintf(&b, "[[variant]]\nheadless = %t\nprofiling = %q\nopengl = %t\npostfix = %q\n", v.Headless, v.Profiling, v.OpenGL, v.Postfix)
		for _, target := range targets {
			if v.On(target) == nil {
				fmt.Fprintf(&b, "[[variant.build]]\nname = %q\n%s\n", target, modules[target])
			}
		}
	}
	write(t, dir, map[string]string{"collet.toml": b.String()})
	p, err := pack.Load(filepath.Join(dir, "collet.toml"), env())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAllAgreeOnVariants packs every variant of every system, has the server read what it would be given, and asks the client of
// each of them which files are its own.
func TestAllAgreeOnVariants(t *testing.T) {
	t.Parallel()
	p, dir := everyVariant(t), t.TempDir()
	built := map[string][]product.Variant{}
	write(t, dir, map[string]string{"Resources/Core.zip": "PK"})
	for i, b := range p.Builds() {
		built[string(b.Target)] = append(built[string(b.Target)], b.Variant)
		names := []string{b.ModuleName(), b.HostPDBName(), b.ModulePDBName()}
		for _, name := range names[:len(names)-2*btoi(b.ModulePDB == "")] {
			write(t, dir, map[string]string{path.Join("PlatformBinaries", string(b.Target), name): fmt.Sprint(i, name)})
		}
	}
	c, err := catalogue.Open(t.Context(), config.ForFolder(dir, "1"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Game() != p.Game.Name {
		t.Errorf("the server takes the game for %q", c.Game())
	}
	for target, variants := range built {
		if want := map[string]int{"Windows-win64": 36, "Linux-x64": 18, "macOS-arm64": 18}[target]; len(variants) != want {
			t.Errorf("%s has %d builds, want %d", target, len(variants), want)
		}
		if got := c.Variants(target); !same(got, variants) {
			t.Errorf("%s: the server offers %v, packed are %v", target, got, variants)
		}
	}
	for _, b := range p.Builds() {
		agreeOn(t, p, c, b)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// same compares without order.
func same(a, b []product.Variant) bool {
	key := func(x, y product.Variant) int { return strings.Compare(x.Base(""), y.Base("")) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), key), slices.SortedFunc(slices.Values(b), key))
}

// agreeOn asks the client of a build.
func agreeOn(t *testing.T, p *pack.Project, c *catalogue.Catalogue, b pack.Build) {
	t.Helper()
	base := product.RuntimeBase(filepath.Join("C:", "Games", b.HostName()))
	if v, is := product.ParseVariant(p.Game.Name, base); !is || v != b.Variant {
		t.Errorf("%s takes itself for %v, %t; it was packed as %v", b.HostName(), v, is, b.Variant)
	}
	if !strings.Contains(b.Config, "Client.GameName = '"+p.Game.Name+"'") {
		t.Errorf("%s is not told of which game it is: %s", b.Base, b.Config)
	}
	if got := strings.Contains(b.Config, "ForceOpenGL = 1\n"); got != b.Variant.OpenGL {
		t.Errorf("%s is told to draw with OpenGL: %t", b.Base, got)
	}
	names := install.Names{Runtime: base, Ext: b.Target.LibraryExt(), Resources: "Resources", Cache: "Cache"}
	var taken []string
	for e := range c.Entries() {
		if e.Role == release.Binary && e.Target == string(b.Target) && names.Takes(e.File) {
			taken = append(taken, e.Path)
		}
	}
	want := []string{b.ModuleName()}
	if b.ModulePDB != "" {
		want = append(want, b.ModulePDBName(), b.HostPDBName())
	}
	slices.Sort(taken)
	slices.Sort(want)
	if !slices.Equal(taken, want) {
		t.Errorf("%s of %s takes %q, want %q", b.Base, b.Target, taken, want)
	}
	if _, err := os.Stat(b.Module); err != nil {
		t.Error(err)
	}
}
