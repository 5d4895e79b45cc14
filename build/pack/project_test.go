package pack_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/build/pack"
	"collet/netproto/releasetest"
)

// game is how descriptions of these tests begin.
const game = `
[game]
name = "Lathe"
nice-name = "The Lathe"
id = "org.example.lathe"
version = "1.4.2"
publisher = "Example Games"
maintainer = "Example Games <games@example.org>"
summary = "Turning wood among the stars"
homepage = "https://lathe.example.org"
`

// good is a description without mistakes that uses much of what there is.
const good = game + `icon = "art/icon.png"
splash = "art/splash.png"
uri-scheme = "lathe"
categories = ["Game", "Simulation"]
time = 2026-11-22T12:00:00Z

[client]
server = "update.example.org:4000"
urls = ["https://cdn.example.org/lathe"]
trusted-root = "root.json"
channel = "stable"
[client.settings]
Client.OfflineAfter = "3s"

[[resources.pack]]
name = "Core"
from = "packs/core"
[[resources.pack]]
name = "Brain"
from = "packs/brain.zip"
server-only = true

[[target]]
name = "Linux-x64"
host = "out/linux/client"
module = "out/linux/game.so"
companions = ["out/linux/libextra.so"]

[[target]]
name = "Windows-win64"
host = "out/windows/client.exe"
module = "out/windows/game.dll"
host-pdb = "out/windows/client.pdb"
module-pdb = "out/windows/game.pdb"

[[variant]]
opengl = true

[[variant]]
postfix = "Steam"
targets = ["Windows-win64"]
settings = { "Client.StoreUrl" = "steam://run/1" }

[[variant]]
profiling = "total"
targets = ["Linux-x64"]
[[variant.build]]
name = "Linux-x64"
module = "out/linux/game-profiling.so"

[server]
formats = ["tar.gz", "deb"]
settings = "server.toml"
[[server.program]]
target = "Linux-x64"
from = "out/linux/collet-server"

[windows]
formats = ["zip", "nsis", "msi"]
upgrade-code = "9b1f1d32-5c0f-4a83-9a53-0f6f6a6e6a01"

[linux]
formats = ["tar.zst", "deb"]

[signing.windows]
pkcs12-env = "LATHE_P12"
password-env = "LATHE_P12_PASSWORD"
`

// drawnPictures are those that were drawn already, by size.
var drawnPictures sync.Map

// picture is a PNG of a size.
func picture(t testing.TB, width, height int) string {
	t.Helper()
	size := image.Pt(width, height)
	if drawn, is := drawnPictures.Load(size); is {
		return drawn.(string)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	drawnPictures.Store(size, b.String())
	return b.String()
}

// trustedRoot is a root of signed releases; making one takes keys, so there is one for all tests.
var trustedRoot = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "root")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	folder, err := releasetest.New(dir)
	if err != nil {
		return "", err
	}
	return string(folder.Repo.Root()), nil
})

// workplace makes a folder with everything that good names, and gives the path of its description.
func workplace(t testing.TB, text string) string {
	t.Helper()
	root, err := trustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"collet.toml": text, "root.json": root, "server.toml": "",
		"art/icon.png": picture(t, 256, 256), "art/splash.png": picture(t, 640, 360), "art/wide.png": picture(t, 512, 256),
		"art/small.png": picture(t, 128, 128), "art/huge.png": picture(t, 2561, 1), "out/arm64": elf(183), "art/icon.jpg": "\xff\xd8",
		"packs/core/maps/a.map": "a", "packs/brain.zip": emptyZip,
		"out/linux/client": "host", "out/linux/game.so": elf(62), "out/linux/game-arm64.so": elf(183), "out/linux/game-profiling.so": elf(62), "out/linux/libextra.so": "x",
		"out/linux/collet-server": "server", "out/windows/client.exe": "host", "out/windows/game.dll": pe(0x8664), "out/windows/game-arm64.dll": pe(0xaa64),
		"out/windows/client.pdb": "p", "out/windows/game.pdb": "p", "out/windows/GAME.dll.pdb": "p",
	})
	return filepath.Join(dir, "collet.toml")
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// env is an environment.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, is := strings.CutPrefix(p, name+"="); is {
				return value
			}
		}
		return ""
	}
}

// mistakes loads a description and gives what is wrong with it, without the folder of the file.
func mistakes(t testing.TB, text string) []string {
	t.Helper()
	file := workplace(t, text)
	_, err := pack.Load(file, env())
	var list pack.Mistakes
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("no list of mistakes: %v", err)
	}
	var lines []string
	for _, m := range list {
		m.File = filepath.Base(m.File)
		lines = append(lines, m.String())
	}
	return lines
}

func TestLoadGood(t *testing.T) {
	t.Parallel()
	file := workplace(t, good)
	p, err := pack.Load(file, env())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Product().Time.Format("2006-01-02 15:04:05 MST"), "2026-11-22 12:00:00 UTC"; got != want {
		t.Errorf("the time is %s, want %s", got, want)
	}
	product := p.Product()
	if product.License != "LicenseRef-proprietary" || product.UpgradeCode != "9B1F1D32-5C0F-4A83-9A53-0F6F6A6E6A01" ||
		product.Description != product.Summary || !filepath.IsAbs(product.Icon) {
		t.Errorf("the product is %+v", product)
	}
	var names []string
	for _, b := range p.Builds() {
		names = append(names, string(b.Target)+"/"+b.HostName()+" "+b.ModuleName())
	}
	want := []string{
		"Linux-x64/Lathe Lathe.so", "Linux-x64/Lathe_Profiling Lathe_Profiling.so",
		"Windows-win64/Lathe.exe Lathe.dll", "Windows-win64/Lathe_OpenGL.exe Lathe_OpenGL.dll", "Windows-win64/Lathe_Steam.exe Lathe_Steam.dll",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the builds are\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	b, ok := p.Build("Linux-x64", "Lathe_Profiling")
	if !ok || filepath.Base(b.Module) != "game-profiling.so" || filepath.Base(b.Host) != "client" || len(b.Companions) != 1 {
		t.Errorf("the profiling build is %+v", b)
	}
}
