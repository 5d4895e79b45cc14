package catalogue_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// pack lays out a package folder: path → content. It returns the folder.
func pack(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		put(t, filepath.Join(root, filepath.FromSlash(name)), content)
	}
	return root
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fixture is the package of the recorded exchanges in small: four packs, two targets, an empty file and one that is
// larger than a portion.
func fixture() map[string]string {
	return map[string]string{
		"Resources/Core.zip":                            strings.Repeat("core", 70),
		"Resources/Textures.zip":                        strings.Repeat("0123456789abcdef", 150),
		"Resources/Tiny.zip":                            "tiny",
		"Resources/readme.txt":                          "not a pack",
		"PlatformBinaries/Linux-x64/FoGame.so":          "module",
		"PlatformBinaries/Linux-x64/FoGame.so.pdb":      "",
		"PlatformBinaries/Windows-win64/FoGame.dll":     "windows module",
		"PlatformBinaries/Android-arm64/libmain.so":     "store only",
		"PlatformBinaries/macOS-arm64/FoGame.debuginfo": "no module",
	}
}

const compatibility = "compat-A"

// logBook is where a catalogue under test logs.
type logBook struct{ bytes.Buffer }

// has fails the test unless a line of the given level holds every text.
func (b *logBook) has(t testing.TB, level string, texts ...string) {
	t.Helper()
	for line := range strings.Lines(b.String()) {
		found := strings.Contains(line, fmt.Sprintf("%q:%q", "level", level))
		for _, text := range texts {
			found = found && strings.Contains(line, text)
		}
		if found {
			return
		}
	}
	t.Errorf("no %s line with %q in\n%s", level, texts, b)
}

// settings serves the fixture in portions of 1000 bytes, as the recordings do.
func settings(t testing.TB) config.Settings {
	t.Helper()
	set := config.ForFolder(pack(t, fixture()), compatibility)
	set.Network.UpdateFileMaxPortionSize = 1000
	return set
}
