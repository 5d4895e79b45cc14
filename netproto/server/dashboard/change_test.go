package dashboard_test

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestDashboardChanges goes through each form: review, apply, and what is in force then.
func TestDashboardChanges(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	stays(t, h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Accept, compat.RuleAccept))
	for _, c := range []struct {
		section string
		fields  []string
		reviews []string
		holds   func(compat.Settings) bool
	}{
		{"range", []string{"active_min", "6", "active_max", "8", "auto_upgrade", "1"}, []string{"active_min", "auto_upgrade", "UPDATE_BINARIES", "1 client could not reconnect", "<td>5</td><td>Linux-x64</td>"},
			func(s compat.Settings) bool { return s.ActiveMin == 6 && s.ActiveMax == 8 && s.AutoUpgrade }},
		{"patch", []string{"rule_logic", "7", "rule_target", "Windows-*", "rule_patch", "2", "rule_logic", "", "rule_target", "", "rule_patch", "", "rule_logic", "6", "rule_target", "", "rule_patch", "0"},
			[]string{"7 on Windows-* ≥ 2, 6 on * ≥ 0", "redundant: every client has patch 0 or more"}, func(s compat.Settings) bool { return len(s.PatchRules) == 2 && s.PatchRules[0].MinPatch == 2 }},
		{"redirect", []string{"enabled", "1", "host", "next.example", "port", "4000", "tls", "1", "base_url", "https://next.example/p"}, []string{"redirect.host", "next.example"},
			func(s compat.Settings) bool {
				return s.Redirect == compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, TLS: true, BaseURL: "https://next.example/p"}
			}},
		{"maintenance", []string{"enabled", "1", "until", "2031-02-03T04:05", "targets", "Linux-*\r\n\r\nWindows-* "}, []string{"2031-02-03T04:05:00Z", "Linux-*, Windows-*"},
			func(s compat.Settings) bool {
				m := s.Maintenance
				return m.Enabled && !m.AllowDownload && len(m.Targets) == 2 && m.Until.Equal(time.Date(2031, 2, 3, 4, 5, 0, 0, time.UTC))
			}},
		{"policy", []string{"components", "enforce", "manifest", "hashes"}, []string{"hashes"}, func(s compat.Settings) bool { return s.Manifest == compat.ManifestHashes }},
		{"stores", []string{"store_target", "Android-*", "store_url", "https://store.example/a"}, []string{"store_urls.Android-*"},
			func(s compat.Settings) bool { return s.StoreURLs["Android-*"] == "https://store.example/a" }},
		{"messages", []string{"message_P-MAINT", "Back at\r\nfour"}, []string{"messages.P-MAINT"}, func(s compat.Settings) bool { return s.Messages["P-MAINT"] == "Back at\nfour" }},
		{"developers", []string{"accounts", "ann\nbob\n"}, []string{"ann, bob"}, func(s compat.Settings) bool { return len(s.Developers) == 2 && s.Developers[1] == "bob" }},
	} {
		before := o.Settings().Revision
		b.get(200, "/admin")
		b.send(200, "/admin/review", append([]string{"section", c.section}, c.fields...)...)
		b.shows(c.reviews...)
		if o.Settings().Revision != before {
			t.Fatalf("%s: looking changed something", c.section)
		}
		b.apply(303, "comment", "about "+c.section)
		if s := o.Settings(); s.Revision != before+1 || !c.holds(s) || b.head.Get("Location") != fmt.Sprintf("/admin?saved=%d", s.Revision) {
			t.Errorf("%s: %+v, %s", c.section, s, b.head.Get("Location"))
		}
	}
	b.get(200, b.head.Get("Location"))
	b.shows("Saved as revision 9", "Maintenance is on", "Linux-*, Windows-*")
	records, err := o.Audit.Records(0, 1)
	if err != nil || records[0].Source != compat.SourceDashboard || records[0].Actor != "local" || records[0].Remote != "127.0.0.1" || records[0].Comment != "about developers" {
		t.Errorf("the log: %+v, %v", records, err)
	}
}

// TestDashboardLowering needs a comment and a confirmation, and says whom it shuts out.
func TestDashboardLowering(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	stays(t, h.Expect(t, servertest.VersionHandshake(8, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept))
	lower := []string{"section", "range", "active_min", "5", "active_max", "7"}
	b.get(200, "/admin")
	b.send(200, "/admin/review", lower...)
	b.shows("This lowers the active range", "1 connected client", "1 player", "lowers", `name="confirm" value="1" required`, `<textarea name="comment" rows="2" maxlength="1000" required`, "CLIENT_TOO_NEW")
	b.apply(422)
	b.shows("a confirmation and a comment", "This lowers")
	b.apply(422, "comment", "8 loses items")
	b.shows("a confirmation", "8 loses items</textarea>")
	b.apply(422, "confirm", "1")
	if o.Settings().ActiveMax != 8 {
		t.Fatal("lowered without a message")
	}
	b.apply(303, "comment", "8 loses items", "confirm", "1", "kick", "900")
	if s := o.Settings(); s.ActiveMax != 7 || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
	h.Expect(t, servertest.VersionHandshake(8, "Linux-x64"), compat.ClientTooNew, compat.RuleTooNew)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "8")
	b.lacks("This lowers")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "7")
	b.shows("This lowers the active range", "Clients of older versions may connect again", `name="confirm" value="1" required`)
	b.lacks("Players who have played a newer version can’t")
}

// TestDashboardStale shows what has changed since the page was loaded, and changes nothing before it was seen.
func TestDashboardStale(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "policy", "components", "enforce", "manifest", "full")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	b.apply(409, "comment", "mine")
	b.shows("The settings have changed meanwhile", "revision 1; the current one is 2", "a test", "active_min", "mine</textarea>")
	if o.Settings().Manifest != compat.ManifestNone {
		t.Fatal("applied on top of an unseen change")
	}
	b.apply(303, "comment", "mine")
	if s := o.Settings(); s.Revision != 3 || s.ActiveMin != 6 || s.Manifest != compat.ManifestFull {
		t.Errorf("%+v", s)
	}
	b.get(200, "/admin")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin = 7 })
	b.send(409, "/admin/review", "section", "policy", "components", "enforce", "manifest", "none")
	b.shows("The settings have changed meanwhile", "revision 3; the current one is 4")
	b.apply(303)
}

// TestDashboardKeepsBothChanges: a form reverts no other change in the same part of the settings.
func TestDashboardKeepsBothChanges(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.AutoUpgrade, s.ActiveMin = true, 6 })
	b.send(409, "/admin/review", "section", "range", "active_min", "5", "active_max", "7")
	b.shows("<dt>active_max</dt>")
	if changes := b.last[strings.Index(b.last, "changes big"):]; strings.Contains(changes, "auto_upgrade") || strings.Contains(changes, "active_min") {
		t.Error("it would take back what the other has changed")
	}
	b.apply(303, "comment", "both", "confirm", "1")
	if s := o.Settings(); !s.AutoUpgrade || s.ActiveMin != 6 || s.ActiveMax != 7 {
		t.Errorf("%+v", s)
	}
}

// TestDashboardMistakes shows each one at its form, with what was typed.
func TestDashboardMistakes(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	for _, c := range []struct {
		fields []string
		shows  []string
	}{
		{[]string{"section", "range", "active_min", "8", "active_max", "6"}, []string{"8 is above active_max 6", `name="active_min" value="8"`}},
		{[]string{"section", "range", "active_min", "many", "active_max", "6"}, []string{`"many" is no valid number`}},
		{[]string{"section", "range", "active_min", "1", "active_max", "99"}, []string{"99 is not in the supported range"}},
		{[]string{"section", "patch", "rule_logic", "7", "rule_target", "[", "rule_patch", "-1"}, []string{"is no pattern", "is no valid number"}},
		{[]string{"section", "redirect", "enabled", "1", "host", "", "port", "70000"}, []string{"redirect.host", "it is empty", "redirect.port"}},
		{[]string{"section", "maintenance", "until", "tomorrow"}, []string{"is no date and time"}},
		{[]string{"section", "policy", "components", "off", "manifest", "some"}, []string{"only a developer's server", "none of none, hashes and full"}},
		{[]string{"section", "stores", "store_target", "A", "store_url", "javascript:1", "store_target", "A", "store_url", "javascript:alert(1)"}, []string{"it is there twice", "is no link"}},
		{[]string{"section", "developers", "accounts", "ann\nann"}, []string{"is there twice"}},
	} {
		b.get(200, "/admin")
		b.send(422, "/admin/review", c.fields...)
		b.shows(c.shows...)
	}
	b.get(200, "/admin")
	b.send(400, "/admin/review", "section", "nothing")
	b.get(200, "/admin")
	b.send(400, "/admin/review", "section", "policy", "revision", "x")
	b.get(200, "/admin")
	b.send(400, "/admin/apply", "document", `{"active": 1}`)
	b.get(200, "/admin")
	b.send(400, "/admin/apply", "document", `{"active_min": 6}`, "kick", "soon")
	b.get(200, "/admin")
	b.send(422, "/admin/apply", "section", "range", "document", `{"active_min": 99}`)
	b.shows("99 is above active_max 8")
	b.get(200, "/admin")
	b.send(422, "/admin/apply", "section", "range", "document", `{"active_min": 6}`, "kick", "99999")
	b.shows("countdown")
	if s := o.Settings(); s.Revision != 1 {
		t.Errorf("changed: %+v", s)
	}
}

// TestDashboardTriesWhileTyping answers the script with a part of a page.
func TestDashboardTriesWhileTyping(t *testing.T) {
	t.Parallel()
	h, _, b := governed(t)
	stays(t, h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Accept, compat.RuleAccept))
	b.get(200, "/admin")
	seal := b.seal()
	form := func(min string) url.Values {
		return url.Values{"csrf": {seal}, "revision": {"1"}, "section": {"range"}, "active_min": {min}, "active_max": {"8"}}
	}
	b.do(200, "POST", "/admin/review", form("6"), "Collet-Fragment", "1")
	b.shows("UPDATE_BINARIES", "1 client could not reconnect")
	b.lacks("<html", "<form")
	b.do(200, "POST", "/admin/review", form("9"), "Collet-Fragment", "1")
	b.shows("These settings are not valid", "9 is above active_max")
}

// TestDashboardRollback goes back to an earlier revision with a comment.
func TestDashboardRollback(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 7, 7 })
	b.get(200, "/admin/rollback?to=1")
	b.shows("Go back to revision 1", "This lowers the active range", "active_max", "(required)")
	b.send(422, "/admin/rollback", "to", "1", "confirm", "1")
	b.shows("a comment")
	b.send(303, "/admin/rollback", "to", "1", "confirm", "1", "comment", "too early")
	if s := o.Settings(); s.Revision != 3 || s.ActiveMin != 5 || s.ActiveMax != 8 {
		t.Errorf("%+v", s)
	}
	b.get(200, "/admin/rollback?to=2")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.AutoUpgrade = true })
	b.send(409, "/admin/rollback", "to", "2", "confirm", "1", "comment", "again")
	b.shows("changed meanwhile")
	b.get(404, "/admin/rollback?to=77")
	b.get(400, "/admin/rollback?to=x")
	b.get(200, "/admin")
	b.send(404, "/admin/rollback", "to", "77", "comment", "x")
}

// TestDashboardAtOnce is read and changed by many; every change that is told to be saved is in the log.
func TestDashboardAtOnce(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	const people = 8
	var saved atomic.Int32
	var all sync.WaitGroup
	for i := range people {
		mine := browse(t, b.at).enter()
		all.Go(func() {
			page, err := mine.http.Get(mine.at + "/admin")
			if err != nil {
				t.Error(err)
				return
			}
			text, _ := io.ReadAll(page.Body) // what is missing is missed below
			page.Body.Close()
			seal := regexp.MustCompile(`name="csrf" value="([^"]*)"`).FindSubmatch(text)
			if seal == nil {
				t.Error("no form")
				return
			}
			form := url.Values{"csrf": {string(seal[1])}, "revision": {"1"}, "section": {"developers"}, "document": {fmt.Sprintf(`{"developers": ["dev-%d"]}`, i)}}
			answer, err := mine.http.PostForm(mine.at+"/admin/apply", form)
			if err != nil {
				t.Error(err)
				return
			}
			answer.Body.Close()
			switch answer.StatusCode {
			case 303:
				saved.Add(1)
			case 409:
			default:
				t.Error(answer.Status)
			}
		})
	}
	all.Wait()
	if s := o.Settings(); saved.Load() != 1 || s.Revision != 2 || len(s.Developers) != 1 {
		t.Errorf("%d saved, %+v", saved.Load(), s)
	}
}

// TestDashboardNothingToDo leaves no record of a form that says what is in force already.
func TestDashboardNothingToDo(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "8")
	b.shows("No changes: these settings are in force")
	b.lacks("/admin/apply")
	b.get(200, "/admin")
	b.send(303, "/admin/apply", "section", "range", "document", `{"active_min": 5}`)
	if records, err := o.Audit.Records(0, 9); err != nil || len(records) != 1 || o.Settings().Revision != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestDashboardLongForms are refused before they are read.
func TestDashboardLongForms(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	seal := b.seal()
	b.do(403, "POST", "/admin/review", url.Values{"csrf": {seal}, "accounts": {strings.Repeat("x", 1<<20)}})
	b.shows("too large")
	b.get(200, "/admin")
	b.send(422, "/admin/review", "section", "developers", "accounts", strings.Repeat("somebody\n", 2000))
	b.shows("at most 1000 are possible")
	b.get(200, "/admin")
	b.send(422, "/admin/apply", "section", "range", "document", `{"active_min": 6}`, "comment", strings.Repeat("x", operator.MaxComment+1))
	b.shows("at most 2000 are kept")
	if o.Settings().Revision != 1 {
		t.Error("something changed")
	}
}

// TestDashboardEndsSessions after the countdown that was chosen, and no others.
func TestDashboardEndsSessions(t *testing.T) {
	t.Parallel()
	h, _, b := governed(t)
	old := h.Expect(t, servertest.VersionHandshake(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	fine := h.Expect(t, servertest.VersionHandshake(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "6", "active_max", "8")
	b.shows("End sessions that could not reconnect, at once", `value="3600"`)
	b.apply(422, "kick", "0") // versions that end want a reason
	b.shows("a comment is missing")
	b.apply(303, "kick", "0", "comment", "5 is old")
	old.ReadToEnd()
	fine.Send(&netproto.Ping{})
	servertest.Next[*netproto.FileList](fine)
}
