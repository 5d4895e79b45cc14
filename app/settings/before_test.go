package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"collet/app/settings"
)

// TestEarlierFile reads a settings file of an earlier version: every setting of that time has its value still. testdata/before.json is what
// that version (commit 086cdaac3afe) made of the file.
func TestEarlierFile(t *testing.T) {
	text, err := os.ReadFile("testdata/before.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Parse("Lathe.toml", string(text))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/before.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if got = append(got, '\n'); !bytes.Equal(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, name := range []string{"ForceOpenGL", "LogicVersion", "GAME_QUALITY", "OfflineAfter"} {
		if !strings.Contains(string(want), name) {
			t.Errorf("testdata/before.json lacks %s", name)
		}
	}
}
