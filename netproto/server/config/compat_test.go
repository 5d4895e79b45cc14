package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// TestCompatSettingsAreRead takes every name of the table from a file, relative to it, and prints it back.
func TestCompatSettingsAreRead(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "server.toml")
	writeFile(t, file, `
[Compat]
Store = "state/compat.db"
Supported = "5-8"
Logic = "7"
Manifest = "manifest.json"
Baselines = "baselines"
Payloads = "payloads"
Build = "b841"
Branch = "main"
Content = "packs-12"
Development = true
Lax = true
FloorsByAPI = true
Hosts = ["play.example:4000"]

[SubConfig.Live.Compat]
Supported = "6-8"
Development = false
`)
	set, from, err := config.LoadWithOrigins(file, "Live")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Compat{
		Store: filepath.Join(folder, "state", "compat.db"), Supported: "6-8", Logic: "7", Manifest: filepath.Join(folder, "manifest.json"),
		Baselines: filepath.Join(folder, "baselines"), Payloads: filepath.Join(folder, "payloads"), Build: "b841", Branch: "main", Content: "packs-12",
		Lax: true, FloorsByAPI: true, Hosts: []string{"play.example:4000"},
	}
	if !reflect.DeepEqual(set.Compat, want) {
		t.Errorf("got  %+v\nwant %+v", set.Compat, want)
	}
	if line := from["Compat.Supported"]; line != file+":18" {
		t.Errorf("Compat.Supported is from %s", line)
	}
	var printed bytes.Buffer
	if err := set.Print(&printed, from); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(folder, "again.toml")
	if err := os.WriteFile(again, printed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if reread, err := config.Load(again, ""); err != nil || !reflect.DeepEqual(reread.Compat, want) {
		t.Errorf("%s\n%v %+v", &printed, err, reread.Compat)
	}
	fields := reflect.TypeFor[config.Compat]().NumField()
	rows := 0
	for _, row := range config.Rows() {
		if strings.HasPrefix(row[0], "Compat.") {
			rows++
		}
	}
	if rows != fields {
		t.Errorf("%d settings are documented, there are %d", rows, fields)
	}
}

// TestDocumentOfSettings holds the operators' document to the table of settings.
func TestDocumentOfSettings(t *testing.T) {
	text, err := os.ReadFile("../../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, row := range config.Rows() {
		line := "| `" + row[0] + "` |"
		switch table, _, _ := strings.Cut(row[0], "."); table {
		case "Limits", "Operations", "SignIn":
			line += " " + strings.Trim(row[1], `"`) + " |"
		case "Compat", "Cluster":
		default:
			continue
		}
		if !strings.Contains(doc, line) {
			t.Errorf("the document lacks %q", line)
		}
	}
}
