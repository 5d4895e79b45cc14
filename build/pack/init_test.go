package pack_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"collet/build/pack"
)

var today = time.Date(2026, 11, 22, 17, 30, 0, 0, time.FixedZone("CET", 3600))

// random is always the same.
func random() *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{0xab, 0xcd}, 8)) }

// leftOut is a key that the new description explains and leaves out.
var leftOut = regexp.MustCompile(`(?m)^#([a-zA-Z\[])`)

// TestInitHasAllKeys takes the new description with every key that it leaves out.
func TestInitHasAllKeys(t *testing.T) {
	t.Parallel()
	text, err := pack.Survey{Name: "Lathe"}.Text(random(), today)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "#description = \"\"\"\n#What the game is about.\n#\n#And why it is worth playing.\"\"\"", `description = "What"`)
	text = leftOut.ReplaceAllString(text, "$1")
	var tree map[string]any
	if err := toml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("with all keys it is no TOML: %v", err)
	}
	for _, k := range pack.Keys() {
		if !has(tree, k.Table, k.Name) {
			t.Errorf("%s.%s is not explained in init.toml", k.Table, k.Name)
		}
	}
	_, err = pack.Load(workplace(t, text), env())
	var list pack.Mistakes
	if !errors.As(err, &list) {
		t.Fatalf("it has files that are not there, and %v", err)
	}
	for _, m := range list {
		if strings.Contains(m.What, "is unknown") || strings.HasPrefix(m.What, "is a ") || strings.HasPrefix(m.What, "is text") {
			t.Errorf("a key that it explains is wrong: %s", m)
		}
	}
}

// has looks a key up, in any of the tables where there are several.
func has(tree map[string]any, table, key string) bool {
	name, rest, _ := strings.Cut(table, ".")
	if table == "" {
		_, is := tree[key]
		return is
	}
	switch v := tree[name].(type) {
	case map[string]any:
		return has(v, rest, key)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return has(one.(map[string]any), rest, key) })
	}
	return false
}

// TestInitPasses makes the files that a new description names, and checks it.
func TestInitPasses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "my-lathe 2")
	write(t, dir, map[string]string{"README": ""})
	found, err := pack.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found.Name != "My-lathe2" {
		t.Errorf("the name of %q became %q", filepath.Base(dir), found.Name)
	}
	text, err := found.Text(random(), today)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"collet.toml": text, "icon.png": picture(t, 512, 512),
		"build/linux/collet-client": "h", "build/linux/game.so": moduleFor("Linux-x64"),
		"build/windows/collet-client.exe": "h", "build/windows/game.dll": moduleFor("Windows-win64"), "build/windows/collet-client.pdb": "s", "build/windows/game.pdb": "s",
	})
	p, err := pack.Load(filepath.Join(dir, "collet.toml"), env())
	if err != nil {
		t.Fatal(err)
	}
	product := p.Product()
	if product.UpgradeCode != "ABCDABCD-ABCD-4BCD-ABCD-ABCDABCDABCD" {
		t.Errorf("the upgrade code is %s", product.UpgradeCode)
	}
	if got := product.Time.Format(time.RFC3339); got != "2026-11-22T00:00:00Z" {
		t.Errorf("the time is %s", got)
	}
	if _, err := found.Text(bytes.NewReader(nil), today); err == nil {
		t.Error("a code was made of nothing")
	}
}

// TestLook surveys a folder that has a bit of everything.
func TestLook(t *testing.T) {
	t.Parallel()
	root, err := trustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	dll := pe(0x8664)
	write(t, dir, map[string]string{
		"art/logo.png": picture(t, 300, 300), "art/icon.png": picture(t, 256, 256), "art/wide.png": picture(t, 300, 200), "splash.png": picture(t, 3, 2),
		"other/root.json": "{}", "trust/root.json": root, "server.toml": "",
		"Resources/Core/a.txt": "", "Resources/core.zip": "", "Resources/Maps.zip": emptyZip, "Resources/Core/packs/x/y": "",
		"out/w/client.exe": dll + configArea, "out/w/game.dll": dll + configArea, "out/w/SDL2.dll": dll, "out/w/client.pdb": "", "out/w/game.dll.pdb": "",
		"out/l/client": elf(62) + configArea, "out/l/game.so": elf(62) + configArea, "out/l/libx.so": elf(62), "out/l/collet-server": elf(62),
		"out/a/game.so": elf(183) + configArea, "out/x/lonely": elf(40) + configArea,
		".git/client": elf(62) + configArea, "out/notes.so": "text",
	})
	found, err := pack.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := pack.Survey{
		Name: found.Name, Icon: "art/icon.png", Splash: "splash.png", TrustedRoot: "trust/root.json", ServerSettings: "server.toml",
		Packs: []pack.Pack{{Name: "Core", From: "Resources/Core"}, {Name: "Maps", From: "Resources/Maps.zip"}},
		Targets: []pack.Target{
			{Name: "Linux-arm64", Module: "out/a/game.so"},
			{Name: "Linux-x64", Host: "out/l/client", Module: "out/l/game.so", Companions: []string{"out/l/libx.so"}},
			{Name: "Windows-win64", Host: "out/w/client.exe", Module: "out/w/game.dll", HostPDB: "out/w/client.pdb", ModulePDB: "out/w/game.dll.pdb", Companions: []string{"out/w/SDL2.dll"}},
		},
		Programs: []pack.Program{{Target: "Linux-x64", From: "out/l/collet-server"}},
	}
	if got, want := text(t, found), text(t, want); got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
	written, err := found.Text(random(), today)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"collet.toml": written})
	if _, err := pack.Load(filepath.Join(dir, "collet.toml"), env()); err != nil {
		t.Errorf("what was found is no good description: %v\n%s", err, written)
	}
	found.ServerSettings = ""
	if written, err = found.Text(random(), today); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"collet.toml": written})
	if p, err := pack.Load(filepath.Join(dir, "collet.toml"), env()); err != nil || p.Server.Compatibility == "" {
		t.Errorf("without settings of the server: %v", err)
	}
	if _, err := pack.Look(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := toml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
