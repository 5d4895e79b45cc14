package linux

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"collet/build/pack/bundle"
)

func TestSettled(t *testing.T) {
	const home = "/usr/lib/lathe-server"
	standard := "Baking.ClientResources = \"/usr/lib/lathe-server/Resources\"\nBaking.PlatformBinaries = \"/usr/lib/lathe-server/PlatformBinaries\"\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing said": {"# settings\nCompatibilityVersion = \"1.4\"\n[Network]\nServerPort = 4000\n", standard + "# settings\nCompatibilityVersion = \"1.4\"\n[Network]\nServerPort = 4000\n"},
		"a table": {"CompatibilityVersion = \"1.4\"\n[Baking] # files\nClientResourceEntries = [\"Core\"]\n",
			"CompatibilityVersion = \"1.4\"\n[Baking] # files\nClientResources = \"/usr/lib/lathe-server/Resources\"\nPlatformBinaries = \"/usr/lib/lathe-server/PlatformBinaries\"\nClientResourceEntries = [\"Core\"]\n"},
		"said in a table": {"[Baking]\nClientResources = 'Packs' # ours\nPlatformBinaries = \"Bin\"\n",
			"[Baking]\nClientResources = \"/usr/lib/lathe-server/Packs\" # ours\nPlatformBinaries = \"/usr/lib/lathe-server/Bin\"\n"},
		"said with dots": {"Baking.ClientResources = \"Packs\"\n", "Baking.PlatformBinaries = \"/usr/lib/lathe-server/PlatformBinaries\"\nBaking.ClientResources = \"/usr/lib/lathe-server/Packs\"\n"},
		"absolute":       {"[Baking]\nClientResources = \"/srv/packs\"\nPlatformBinaries = \"/srv/bin\"\n", "[Baking]\nClientResources = \"/srv/packs\"\nPlatformBinaries = \"/srv/bin\"\n"},
		"releases":       {"[Release]\nFolder = \"release\"\n", standard + "[Release]\nFolder = \"/usr/lib/lathe-server/release\"\n"},
		"empty":          {"", standard},
	} {
		got, err := settled(bundle.Entry{Path: "server.toml", Data: []byte(c.text)}, home)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(got) != c.want && !sameLines(string(got), c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
		if again, err := settled(bundle.Entry{Data: got}, "/elsewhere"); err != nil || string(again) != string(got) {
			t.Errorf("%s: moved twice: %s, %v", name, again, err)
		}
	}
}

// sameLines compares texts whose added lines come in either order.
func sameLines(a, b string) bool {
	count := map[string]int{}
	for line := range strings.Lines(a) {
		count[line]++
	}
	for line := range strings.Lines(b) {
		count[line]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestSettledRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"Baking = 1":                    "Baking is no table",
		"[Baking]\nClientResources = 1": "is no text",
		"[Baking":                       "expected",
		"Baking = { ClientResources = \"Packs\" }":          "relative to this file",
		"[Baking]\n\"ClientResources\" = \"Packs\"":         "set it to \"/usr/lib/x/Packs\"",
		"[Baking]\nClientResources = \"\"\"Packs\"\"\"":     "relative to this file",
		strings.Repeat("#", maxSettings+1):                  "want at most",
		"[Network]\nServerPort = 1\n[Network]\nTlsPort = 2": "",
	} {
		_, err := settled(bundle.Entry{Path: "server.toml", Data: []byte(text)}, "/usr/lib/x")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; want %q", text, err, want)
		}
	}
}

// FuzzSettled holds a moved file to the same settings but for the folders.
func FuzzSettled(f *testing.F) {
	f.Add("CompatibilityVersion = \"1.4\"\n[Baking]\nClientResources = \"Packs\"\n")
	f.Add("Baking.PlatformBinaries = 'x'\n[Release]\nFolder = \"r\"\n")
	f.Add("a = \"\"\"\n[Baking]\nClientResources = \"Packs\"\n\"\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		moved, err := settled(bundle.Entry{Data: []byte(text)}, "/usr/lib/x")
		if err != nil {
			return
		}
		var before, after map[string]any
		if err := toml.Unmarshal(moved, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, moved, err)
		}
		if err := toml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatalf("%q was taken: %v", text, err)
		}
		for key := range before {
			if _, there := after[key]; !there {
				t.Fatalf("%q lost %q: %q", text, key, moved)
			}
		}
	})
}
