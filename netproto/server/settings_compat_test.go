package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
)

// TestCompatSettingsAreRead takes every name of the table from a file, relative to it, and prints it back.
func TestCompatSettingsAreRead(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "server.toml")
	put(t, file, `
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
	set, from, err := server.LoadSettingsFrom(file, "Live")
	if err != nil {
		t.Fatal(err)
	}
	want := server.Compat{
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
	if reread, err := server.LoadSettings(again, ""); err != nil || !reflect.DeepEqual(reread.Compat, want) {
		t.Errorf("%s\n%v %+v", &printed, err, reread.Compat)
	}
	fields := reflect.TypeFor[server.Compat]().NumField()
	rows := 0
	for _, row := range server.SettingRows() {
		if strings.HasPrefix(row[0], "Compat.") {
			rows++
		}
	}
	if rows != fields {
		t.Errorf("%d settings are documented, there are %d", rows, fields)
	}
}

// TestDocumentOfCompatSettings holds the operators' document to the table.
func TestDocumentOfCompatSettings(t *testing.T) {
	text, err := os.ReadFile("../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, row := range server.SettingRows() {
		if strings.HasPrefix(row[0], "Compat.") && !strings.Contains(doc, "| `"+row[0]+"` |") {
			t.Errorf("the document lacks %s", row[0])
		}
	}
	for _, metric := range []string{"compat_verdict_total", "compat_settings_revision", "compat_active_logic", "compat_manifest_exchange_total", "compat_settings_applied_total"} {
		if !strings.Contains(doc, "| `"+metric) {
			t.Errorf("the document lacks %s", metric)
		}
	}
	for _, path := range []string{
		"GET /api/compat", "PUT /api/compat", "POST /api/compat/evaluate", "POST /api/compat/rollback", "GET /api/compat/audit", "GET /api/compat/audit/verify",
		"GET /api/compat/manifest", "POST /api/compat/tokens", "DELETE /api/compat/tokens/{name}", "POST /api/players/{id}/floor", "--accept-rollback",
	} {
		if !strings.Contains(doc, "`"+path) {
			t.Errorf("the document lacks %s", path)
		}
	}
}

// TestContentIsCompared tells clients whose packs are others to fetch them first.
func TestContentIsCompared(t *testing.T) {
	set := versioned(t)
	set.Compat.Content = "packs-12"
	h, _ := govern(t, set)
	for content, verdict := range map[string]compat.Verdict{"packs-12": compat.Accept, "packs-11": compat.UpdateResources, "": compat.UpdateResources} {
		p, j := h.ask(t, client(7, "Linux-x64", func(s *netproto.HelloTags) { s.Content = content }))
		if files := next[*netproto.FileList](p).Files; j.Verdict != verdict || !listed(files, "Core.zip", "") {
			t.Errorf("%q: %v, offered %v", content, j.Verdict, files)
		}
	}
}
