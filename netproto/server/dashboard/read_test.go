package dashboard_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestDashboardReads shows everything without a script.
func TestDashboardReads(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 7
		s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Windows-*", MinPatch: 2}, {Logic: 7, Target: "Windows-win64", MinPatch: 1}}
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, BaseURL: "https://next.example/packs"}
		s.StoreURLs = map[string]string{"Android-*": "https://store.example/game"}
		s.Messages = map[string]string{compat.PopupMaintenance: "Back <soon>"}
	})
	for _, logic := range []int32{6, 7, 7} {
		stays(t, h.Expect(t, servertest.VersionHandshake(logic, "Linux-x64"), compat.Accept, compat.RuleAccept))
	}
	h.Expect(t, servertest.VersionHandshake(9, "Linux-x64"), compat.Redirect, compat.RuleRedirect)
	b.get(200, "/admin")
	b.shows("Versions 6 to 7 may connect", "supports 5 to 8", `data-logic="5"`, `data-logic="8"`, "active first", "active last", "no baseline",
		"Older", "below 6", "Can’t be updated", "Sent to the store", "Update in place", "to next.example:4000, once", "redundant: patch_rules[0] asks for as much",
		"no module", "version 7, patch 2", "Connected clients", "Linux-x64", "REDIRECT", "a test", "rev 2", "Android-*",
		"https://store.example/game", `<textarea name="message_P-MAINT"`)
	b.lacks("Back <soon>", "style=", "onclick")
	if !strings.Contains(b.last, "Back &lt;soon&gt;") {
		t.Error("a message is not shown as text")
	}
	if got := b.get(200, "/admin/live"); strings.Contains(got, "<html") || !strings.Contains(got, "Versions 6 to 7") {
		t.Errorf("the live part: %.200s", got)
	}
	b.get(200, "/admin/audit?verify=1")
	b.shows("2 records, all unaltered", "active_min", "Restore this", "in force", "boot")
	b.do(303, "GET", "/admin/", nil)
	b.get(404, "/admin/nothing")
	b.get(400, "/admin/audit?before=x")
	b.do(200, "HEAD", "/admin", nil)
}

// TestDashboardElsewhere is a server without a store, and one without logic versions.
func TestDashboardElsewhere(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	b := browse(t, servertest.ServeMonitor(t, servertest.Start(t, set), set))
	b.get(404, "/admin")
	b.shows("Compat.Store")
	b.get(404, "/administration")

	set = servertest.Settings(t)
	set.Compat.Store = t.TempDir() + "/compat.db"
	h, o := servertest.StartWithToken(t, set)
	h.Expect(t, servertest.Handshake(netproto.C1), compat.Accept, compat.RuleAccept)
	b = browse(t, servertest.ServeMonitor(t, h, set)).enter()
	b.get(200, "/admin")
	b.shows("no logic versions", "Maintenance", "none")
	b.lacks(`id="range"`, `id="patch"`, `id="redirect"`)
	b.send(200, "/admin/review", "section", "maintenance", "enabled", "1")
	b.apply(303)
	if !o.Settings().Maintenance.Enabled {
		t.Error("no maintenance")
	}
}

// TestDashboardShowsTextAsText whatever settings and comments contain.
func TestDashboardShowsTextAsText(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	const evil = `</textarea><script>alert(1)</script><img src=x onerror=f()> "'`
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "developers", "accounts", evil)
	b.lacks("<script>alert", "<img src=x")
	b.apply(303, "comment", evil)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "messages", "message_P-MAINT", evil)
	b.lacks("<script>alert", "<img src=x")
	b.apply(303, "comment", evil)
	b.get(200, "/admin")
	b.send(422, "/admin/review", "section", "stores", "store_target", evil, "store_url", "javascript:alert(1)")
	b.lacks("<script>alert", "<img src=x", `href="javascript`)
	for _, path := range []string{"/admin", "/admin/audit", "/admin/live", "/admin/rollback?to=1"} {
		b.get(200, path)
		b.lacks("<script>alert", "<img src=x")
	}
	if s := o.Settings(); s.Developers[0] != evil || s.Messages["P-MAINT"] != evil {
		t.Errorf("%+v", s)
	}
}

// TestDashboardHistoryPages goes through a log that is longer than a page, to its first record and no further.
func TestDashboardHistoryPages(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	_, o, b := governed(t)
	const changes = 60
	for i := range changes {
		servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.AutoUpgrade = i%2 == 0 })
	}
	seen, path := map[string]bool{}, "/admin/audit"
	pages := 0
	for ; path != ""; pages++ {
		b.get(200, path)
		for _, found := range regexp.MustCompile(`>#(\d+) `).FindAllStringSubmatch(b.last, -1) {
			if seen[found[1]] {
				t.Errorf("record %s is on two pages", found[1])
			}
			seen[found[1]] = true
		}
		next := regexp.MustCompile(`href="(/admin/audit\?before=\d+)"`).FindStringSubmatch(b.last)
		if path = ""; next != nil {
			path = next[1]
		}
	}
	if len(seen) != changes+1 || pages != 3 {
		t.Errorf("%d records on %d pages", len(seen), pages)
	}
}

// TestDashboardShowsNothingOfClients but what it knows itself: names of targets, builds and branches that a client makes up are
// counted as others, and the account that it plays with is text.
func TestDashboardShowsNothingOfClients(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	const evil = `</td><script>alert(1)</script>"'`
	said := func(s *netproto.HelloTags) {
		s.Build.ID, s.Build.Branch, s.Content, s.Account = evil, evil[:32], evil, evil
	}
	m := servertest.VersionHandshake(7, evil, said)
	m.Compatibility = evil
	p, _ := h.Ask(t, m)
	stays(t, p)
	stays(t, h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", said), compat.Accept, compat.RuleAccept))
	for _, path := range []string{"/admin", "/admin/live", "/admin/audit", "/admin/players", "/admin/players?prefix=" + url.QueryEscape(evil), "/admin/player?id=" + url.QueryEscape(evil), "/admin/try"} {
		b.get(200, path)
		b.lacks("<script>alert", "</td><script")
	}
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "8", "active_max", "8")
	b.lacks("<script>alert")
	b.shows("other", "Linux-x64")
	if strings.Count(html.UnescapeString(b.last), evil) != 0 {
		t.Error("the review shows what a client has made up")
	}
	b.get(200, "/admin/players")
	b.shows(evil)
	if floor, err := o.Floors.Get(evil); floor != 7 || err != nil {
		t.Errorf("the account's floor is %d, %v", floor, err)
	}
}
