package remote_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"collet/build/remote"
)

const goodGame = `<?xml version="1.0"?><degame><identifier>x</identifier><pathConfig>a</pathConfig><pathCapture>b</pathCapture></degame>`

// A default description has everything that the engine's own editor writes.
func TestDefaultGame(t *testing.T) {
	root := filepath.Join(t.TempDir(), "Ember & Reach <2>")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	text, from, err := remote.GameConfig(root, "")
	if err != nil || from != "" {
		t.Fatalf("from %q, %v", from, err)
	}
	var game struct {
		XMLName         xml.Name `xml:"degame"`
		Identifier      string   `xml:"identifier"`
		Title           string   `xml:"title"`
		ScriptDirectory string   `xml:"scriptDirectory"`
		GameObject      string   `xml:"gameObject"`
		PathConfig      string   `xml:"pathConfig"`
		PathCapture     string   `xml:"pathCapture"`
		ScriptModule    struct {
			Version string `xml:"version,attr"`
			Name    string `xml:",chardata"`
		} `xml:"scriptModule"`
	}
	if err := xml.Unmarshal([]byte(text), &game); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(game.Identifier) {
		t.Errorf("identifier %q", game.Identifier)
	}
	if game.Title != "Ember & Reach <2>" || game.ScriptDirectory == "" || game.GameObject == "" || game.ScriptModule.Version == "" ||
		!strings.Contains(game.PathConfig, game.Identifier) || !strings.Contains(game.PathCapture, game.Identifier) {
		t.Errorf("got %+v", game)
	}
	if again, _, _ := remote.GameConfig(root, ""); again != text {
		t.Error("the second time it is another one")
	}
	for _, member := range []string{"description", "creator", "homepage", "windowSize"} {
		if !strings.Contains(text, "<"+member) {
			t.Errorf("no %s in\n%s", member, text)
		}
	}
}

func TestGameOfTheWorkingCopy(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(root, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := put("Ember.degame", goodGame)
	if text, from, err := remote.GameConfig(root, ""); err != nil || text != goodGame || from != first {
		t.Errorf("got %q from %q, %v", text, from, err)
	}
	second := put("other.DEGAME", goodGame+"\n")
	if _, _, err := remote.GameConfig(root, ""); err == nil || !strings.Contains(err.Error(), "Ember.degame, other.DEGAME; say which one with --game") {
		t.Errorf("two of them: %v", err)
	}
	if text, _, err := remote.GameConfig(root, second); err != nil || text != goodGame+"\n" {
		t.Errorf("the named one: %q, %v", text, err)
	}
}

func TestGamesThatNoLauncherStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.degame")
	for text, want := range map[string]string{
		"":                                    "lacks identifier and pathConfig and pathCapture",
		"<degame><pathConfig/></degame>":      "lacks identifier and pathCapture",
		"<game/>":                             `root is "game"; want degame`,
		"<degame>":                            "no XML",
		"<degame>\xff</degame>":               "not UTF-8",
		goodGame + strings.Repeat(" ", 1<<16): "longer than the 65535 bytes",
		"<degame><a><identifier/><pathConfig/><pathCapture/></a></degame>": "lacks identifier",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := remote.GameConfig("", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := remote.GameConfig("", filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}
