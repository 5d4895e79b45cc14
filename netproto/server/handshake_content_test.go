package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// TestDocumentOfCompatibility holds the operators' document to the names of metrics and of the API.
func TestDocumentOfCompatibility(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
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
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Content = "packs-12"
	h, _ := servertest.StartWithToken(t, set)
	for content, verdict := range map[string]compat.Verdict{"packs-12": compat.Accept, "packs-11": compat.UpdateResources, "": compat.UpdateResources} {
		p, j := h.Ask(t, servertest.VersionHandshake(7, "Linux-x64", func(s *netproto.HelloTags) { s.Content = content }))
		if files := servertest.Next[*netproto.FileList](p).Files; j.Verdict != verdict || !servertest.IsListed(files, "Core.zip", "") {
			t.Errorf("%q: %v, offered %v", content, j.Verdict, files)
		}
	}
}

// TestContentOfPacks compares clients with what the packs on offer are by themselves, before and after a publication.
func TestContentOfPacks(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	set.Compat.Content = config.ContentOfPacks
	core := filepath.Join(set.Baking.ClientResources, "Core.zip")
	h, o := servertest.StartWithToken(t, set)
	judged := func(content string, verdict compat.Verdict) string {
		t.Helper()
		p := h.Dial(t, netproto.C1)
		p.Send(servertest.VersionHandshake(7, "Linux-x64", func(s *netproto.HelloTags) { s.Content = content }))
		answer := nextAnswer(p)
		if answer.Verdict != verdict {
			t.Errorf("%q: %v", content, answer.Verdict)
		}
		var packs []compat.Pack
		for _, f := range servertest.Next[*netproto.FileList](p).Files {
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
	servertest.WriteFile(t, core+".new", "another pack")
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
	t.Parallel()
	set := servertest.Settings(t)
	set.Compat.Content = "packs-12"
	h := servertest.Start(t, set)
	for content, verdict := range map[string]compat.Verdict{"packs-12": compat.Accept, "packs-11": compat.UpdateResources} {
		m := servertest.Handshake(netproto.C1)
		if err := m.Say(netproto.HelloTags{Build: compat.Build{Logic: 1}, Content: content}); err != nil {
			t.Fatal(err)
		}
		p := h.Dial(t, netproto.C1)
		p.Send(m)
		if answer := nextAnswer(p); answer.Verdict != verdict || answer.Told().Content != "packs-12" {
			t.Errorf("%q: %v, %+v", content, answer.Verdict, answer.Told())
		}
	}
	p := h.Dial(t, netproto.C1)
	p.Send(servertest.Handshake(netproto.C1))
	if answer := nextAnswer(p); answer.Verdict != compat.Accept {
		t.Errorf("nothing said: %v", answer.Verdict)
	}
}

// TestContentThatCantBe warns of an identity that the packs on offer don't have, and of no other.
func TestContentThatCantBe(t *testing.T) {
	t.Parallel()
	for content, warned := range map[string]bool{compat.DerivedContent(nil): true, "packs-12": false, config.ContentOfPacks: false, "": false} {
		set := servertest.VersionedSettings(t)
		set.Compat.Content = content
		h, o := servertest.StartWithToken(t, set)
		if got := strings.Contains(h.Log.String(), "the packs on offer are others"); got != warned {
			t.Errorf("%q: warned %t", content, got)
		}
		if content == config.ContentOfPacks {
			set := servertest.VersionedSettings(t)
			set.Compat.Content = o.Snapshot().Content // of the same packs
			h, _ := servertest.StartWithToken(t, set)
			if strings.Contains(h.Log.String(), "the packs on offer are others") {
				t.Error("warned of what is right")
			}
		}
	}
}
