package installers

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/build/pack/bundle"
)

const upgradeCode = "5C7DB1E4-62C5-4B40-9F5C-0D6B1C2A7E11"

// lathe is a bundle with a host made of these bytes, and a module, a pack and a licence.
func lathe(t testing.TB, host []byte, more ...bundle.Entry) bundle.Bundle {
	t.Helper()
	icon := filepath.Join(t.TempDir(), "icon.png")
	if err := os.WriteFile(icon, picture(t), 0o644); err != nil {
		t.Fatal(err)
	}
	text := func(path, data string) bundle.Entry {
		return bundle.Entry{Path: path, Mode: bundle.Plain, Data: []byte(data)}
	}
	tree, err := bundle.NewTree(append([]bundle.Entry{
		{Path: "Lathe.exe", Mode: bundle.Program, Data: host},
		text("Lathe.dll", "the module"), text("Lathe.dll.pdb", "its symbols"), text("EULA.txt", "Be kind.\nБудьте добры.\n"),
		text("Resources/Core.zip", "a pack"), text("Resources/Extra Ж$ {x}'s.zip", "another pack"),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Bundle{
		Product: bundle.Product{
			Name: "Lathe", NiceName: `The "Лэйс" & $Co`, ID: "org.example.lathe", Version: "1.4.2", Publisher: "Example ${NAME} Games",
			Summary: "Turns things", Homepage: "https://example.org/?a=b&c=$d", Icon: icon, URIScheme: "lathe", UpgradeCode: upgradeCode,
			Time: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		},
		Target: "Windows-win64", Name: "Lathe-Client-Windows-win64", Base: "Lathe", Tree: tree,
	}
}

// picture is an icon: a ring on nothing.
func picture(t testing.TB) []byte {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	for y := range 256 {
		for x := range 256 {
			if d := (x-128)*(x-128) + (y-128)*(y-128); d < 120*120 && d > 50*50 {
				p.Set(x, y, color.NRGBA{uint8(x), 160, uint8(y), 255})
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
