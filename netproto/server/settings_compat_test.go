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

// TestContentOfPacks compares clients with what the packs on offer are by themselves, before and after a publication.
func TestContentOfPacks(t *testing.T) {
	set := versioned(t)
	set.Compat.Content = server.ContentOfPacks
	core := filepath.Join(set.Baking.ClientResources, "Core.zip")
	h, o := govern(t, set)
	judged := func(content string, verdict compat.Verdict) string {
		t.Helper()
		p := h.dial(t, netproto.C1)
		p.send(client(7, "Linux-x64", func(s *netproto.HelloTags) { s.Content = content }))
		answer := nextAnswer(p)
		if answer.Verdict != verdict {
			t.Errorf("%q: %v", content, answer.Verdict)
		}
		var packs []compat.Pack
		for _, f := range next[*netproto.FileList](p).Files {
			if f.Role == 0 {
				packs = append(packs, compat.Pack{Path: f.Path, Size: int64(f.Size), Sum: f.SHA256})
			}
		}
		told := answer.Told().Content
		if len(packs) == 0 || told != compat.DerivedContent(packs) || told != o.Snapshot().ContentFor("Linux-x64") {
			t.Errorf("it tells %q of %v", told, packs)
		}
		return told
	}
	before := judged("", compat.UpdateResources)
	judged(before, compat.Accept)
	put(t, core+".new", "another pack")
	if err := os.Rename(core+".new", core); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	after := judged(before, compat.UpdateResources)
	if judged(after, compat.Accept); after == before {
		t.Error("another pack, and the same identity")
	}
}

// TestContentWithoutLogicVersions is compared, too, and told; who says nothing of itself is let alone.
func TestContentWithoutLogicVersions(t *testing.T) {
	set := settings(t)
	set.Compat.Content = "packs-12"
	h := start(t, set)
	for content, verdict := range map[string]compat.Verdict{"packs-12": compat.Accept, "packs-11": compat.UpdateResources} {
		m := hello(netproto.C1)
		if err := m.Say(netproto.HelloTags{Build: compat.Build{Logic: 1}, Content: content}); err != nil {
			t.Fatal(err)
		}
		p := h.dial(t, netproto.C1)
		p.send(m)
		if answer := nextAnswer(p); answer.Verdict != verdict || answer.Told().Content != "packs-12" {
			t.Errorf("%q: %v, %+v", content, answer.Verdict, answer.Told())
		}
	}
	p := h.dial(t, netproto.C1)
	p.send(hello(netproto.C1))
	if answer := nextAnswer(p); answer.Verdict != compat.Accept {
		t.Errorf("nothing said: %v", answer.Verdict)
	}
}

// TestContentThatCantBe warns of an identity that the packs on offer don't have, and of no other.
func TestContentThatCantBe(t *testing.T) {
	for content, warned := range map[string]bool{compat.DerivedContent(nil): true, "packs-12": false, server.ContentOfPacks: false, "": false} {
		set := versioned(t)
		set.Compat.Content = content
		h, o := govern(t, set)
		if got := strings.Contains(h.log.String(), "the packs on offer are others"); got != warned {
			t.Errorf("%q: warned %t", content, got)
		}
		if content == server.ContentOfPacks {
			set := versioned(t)
			set.Compat.Content = o.Snapshot().Content // of the same packs
			h, _ := govern(t, set)
			if strings.Contains(h.log.String(), "the packs on offer are others") {
				t.Error("warned of what is right")
			}
		}
	}
}
