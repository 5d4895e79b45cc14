package server_test

import (
	"crypto/tls"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server"
)

// browser keeps cookies and follows no redirects.
type browser struct {
	t    testing.TB
	at   string
	http http.Client
	last string // the page
	code int
	head http.Header
}

func browse(t testing.TB, at string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, at: at, http: http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do asks for a page and wants a status. Headers are pairs.
func (b *browser) do(status int, method, path string, form url.Values, headers ...string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last, b.code, b.head = string(text), answer.StatusCode, answer.Header
	if b.code != status {
		b.t.Fatalf("%s %s: got %s, want %d\n%.3000s", method, path, answer.Status, status, text)
	}
	return b.last
}

func (b *browser) get(status int, path string) string {
	b.t.Helper()
	return b.do(status, "GET", path, nil)
}

// seal is what the forms of the page carry.
func (b *browser) seal() string { b.t.Helper(); return b.hidden("csrf") }

// hidden is a hidden field of the page.
func (b *browser) hidden(name string) string {
	b.t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(b.last)
	if found == nil {
		b.t.Fatalf("the page has no %s:\n%.2000s", name, b.last)
	}
	return html.UnescapeString(found[1])
}

// send sends a form of the page that is shown, with more than is hidden in it. Fields are pairs.
func (b *browser) send(status int, path string, fields ...string) string {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	for _, name := range []string{"csrf", "revision"} {
		if !form.Has(name) && strings.Contains(b.last, `name="`+name+`"`) {
			form.Set(name, b.hidden(name))
		}
	}
	return b.do(status, "POST", path, form)
}

// apply sends the review that is shown.
func (b *browser) apply(status int, fields ...string) string {
	b.t.Helper()
	fields = append(fields, "section", b.hidden("section"), "document", b.hidden("document"))
	return b.send(status, "/admin/apply", fields...)
}

// shows wants texts in the page.
func (b *browser) shows(texts ...string) {
	b.t.Helper()
	page := html.UnescapeString(b.last)
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("the page lacks %q:\n%.6000s", text, page)
		}
	}
}

// lacks wants texts not to be in the page.
func (b *browser) lacks(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if strings.Contains(b.last, text) {
			b.t.Errorf("the page has %q", text)
		}
	}
}

// governed is a server with a dashboard, and a browser in front of it.
func governed(t testing.TB) (*house, *server.Operator, *browser) {
	t.Helper()
	set := versioned(t)
	h, o := govern(t, set)
	return h, o, browse(t, monitored(t, h, set))
}

// stays keeps a connection open to the end of the test: one that nobody holds is closed by the garbage collector.
func stays(t testing.TB, p *peer) { t.Cleanup(func() { runtime.KeepAlive(p) }) }

// TestDashboardReads shows everything without a script.
func TestDashboardReads(t *testing.T) {
	h, o, b := governed(t)
	change(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 7
		s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Windows-*", MinPatch: 2}, {Logic: 7, Target: "Windows-win64", MinPatch: 1}}
		s.Redirect = compat.RedirectSettings{Enabled: true, Host: "next.example", Port: 4000, BaseURL: "https://next.example/packs"}
		s.StoreURLs = map[string]string{"Android-*": "https://store.example/game"}
		s.Messages = map[string]string{compat.PopupMaintenance: "Back <soon>"}
	})
	for _, logic := range []int32{6, 7, 7} {
		stays(t, h.expect(t, client(logic, "Linux-x64"), compat.Accept, compat.RuleAccept))
	}
	h.expect(t, client(9, "Linux-x64"), compat.Redirect, compat.RuleRedirect)
	b.get(200, "/admin")
	b.shows("Versions 6 to 7 may connect", "supports 5 to 8", `data-logic="5"`, `data-logic="8"`, "active first", "active last", "no baseline",
		"Older", "below 6", "Can’t be helped", "Sent to the store", "Update in place", "to next.example:4000, once", "redundant: patch_rules[0] asks for as much",
		"no module", "version <strong>7</strong> patch 2", "Who is connected", "Linux-x64", "REDIRECT", "a test", "rev 2", "only this machine may ask", "Android-*",
		"https://store.example/game", `<textarea name="message_P-MAINT"`)
	b.lacks("Back <soon>", "Log out", "style=", "onclick")
	if !strings.Contains(b.last, "Back &lt;soon&gt;") {
		t.Error("a message is not shown as text")
	}
	if got := b.get(200, "/admin/live"); strings.Contains(got, "<html") || !strings.Contains(got, "Versions 6 to 7") {
		t.Errorf("the live part: %.200s", got)
	}
	b.get(200, "/admin/audit?verify=1")
	b.shows("All 2 records are as they were written", "active_min", "Go back to this", "in force", "boot")
	b.do(303, "GET", "/admin/", nil)
	b.get(404, "/admin/nothing")
	b.get(400, "/admin/audit?before=x")
	b.do(200, "HEAD", "/admin", nil)
}

// TestDashboardHeaders keeps a browser from anything that the page did not bring.
func TestDashboardHeaders(t *testing.T) {
	_, _, b := governed(t)
	for path, kind := range map[string]string{"/admin": "text/html; charset=utf-8", "/admin/style.css": "text/css; charset=utf-8", "/admin/script.js": "text/javascript; charset=utf-8"} {
		b.get(200, path)
		policy := b.head.Get("Content-Security-Policy")
		if b.head.Get("Content-Type") != kind || b.head.Get("X-Content-Type-Options") != "nosniff" || b.head.Get("Cache-Control") != "no-store" ||
			!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %v", path, b.head)
		}
	}
	b = browse(t, b.at)
	b.get(200, "/admin")
	cookie := b.head.Get("Set-Cookie")
	for _, want := range []string{"collet_admin=", "Path=/admin", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("cookie %q lacks %s", cookie, want)
		}
	}
	if strings.Contains(cookie, "Secure") {
		t.Error("a cookie in the clear is for TLS alone, and never comes back")
	}
	b = browse(t, b.at)
	b.do(403, "GET", "/admin", nil, "X-Forwarded-For", "192.0.2.1")
	b.do(403, "GET", "/admin", nil, "Sec-Fetch-Site", "cross-site")
}

// TestDashboardChanges goes through each form: review, apply, and what is in force then.
func TestDashboardChanges(t *testing.T) {
	h, o, b := governed(t)
	stays(t, h.expect(t, client(5, "Linux-x64"), compat.Accept, compat.RuleAccept))
	for _, c := range []struct {
		section string
		fields  []string
		reviews []string
		holds   func(compat.Settings) bool
	}{
		{"range", []string{"active_min", "6", "active_max", "8", "auto_upgrade", "1"}, []string{"active_min", "auto_upgrade", "UPDATE_BINARIES", "1 client could not come back", "of version 5 on Linux-x64"},
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
	records, err := o.Audit(0, 1)
	if err != nil || records[0].Source != compat.SourceDashboard || records[0].Actor != "local" || records[0].Remote != "127.0.0.1" || records[0].Comment != "about developers" {
		t.Errorf("the log: %+v, %v", records, err)
	}
}

// TestDashboardLowering needs a comment and a confirmation, and says whom it shuts out.
func TestDashboardLowering(t *testing.T) {
	h, o, b := governed(t)
	stays(t, h.expect(t, client(8, "Linux-x64", account("ann")), compat.Accept, compat.RuleAccept))
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
		t.Fatal("lowered without a word")
	}
	b.apply(303, "comment", "8 loses items", "confirm", "1", "kick", "900")
	if s := o.Settings(); s.ActiveMax != 7 || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
	h.expect(t, client(8, "Linux-x64"), compat.ClientTooNew, compat.RuleTooNew)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "8")
	b.lacks("This lowers")
}

// TestDashboardStale shows what has changed since somebody looked, and changes nothing before it was seen.
func TestDashboardStale(t *testing.T) {
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "policy", "components", "enforce", "manifest", "full")
	change(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
	b.apply(409, "comment", "mine")
	b.shows("The settings have changed meanwhile", "revision 1; it is 2", "a test", "active_min", "mine</textarea>")
	if o.Settings().Manifest != compat.ManifestNone {
		t.Fatal("applied on top of what nobody saw")
	}
	b.apply(303, "comment", "mine")
	if s := o.Settings(); s.Revision != 3 || s.ActiveMin != 6 || s.Manifest != compat.ManifestFull {
		t.Errorf("%+v", s)
	}
	b.get(200, "/admin")
	change(t, o, func(s *compat.Settings) { s.ActiveMin = 7 })
	b.send(409, "/admin/review", "section", "policy", "components", "enforce", "manifest", "none")
	b.shows("The settings have changed meanwhile", "revision 3; it is 4")
	b.apply(303)
}

// TestDashboardMistakes shows each one at its form, with what was typed.
func TestDashboardMistakes(t *testing.T) {
	_, o, b := governed(t)
	for _, c := range []struct {
		fields []string
		shows  []string
	}{
		{[]string{"section", "range", "active_min", "8", "active_max", "6"}, []string{"8 is above active_max 6", `name="active_min" value="8"`}},
		{[]string{"section", "range", "active_min", "many", "active_max", "6"}, []string{`"many" is no number`}},
		{[]string{"section", "range", "active_min", "1", "active_max", "99"}, []string{"99 is not in the supported range"}},
		{[]string{"section", "patch", "rule_logic", "7", "rule_target", "[", "rule_patch", "-1"}, []string{"is no pattern", "is no number"}},
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
	h, _, b := governed(t)
	stays(t, h.expect(t, client(5, "Linux-x64"), compat.Accept, compat.RuleAccept))
	b.get(200, "/admin")
	seal := b.seal()
	form := func(min string) url.Values {
		return url.Values{"csrf": {seal}, "revision": {"1"}, "section": {"range"}, "active_min": {min}, "active_max": {"8"}}
	}
	b.do(200, "POST", "/admin/review", form("6"), "Collet-Fragment", "1")
	b.shows("UPDATE_BINARIES", "1 client could not come back")
	b.lacks("<html", "<form")
	b.do(200, "POST", "/admin/review", form("9"), "Collet-Fragment", "1")
	b.shows("These settings are not valid", "9 is above active_max")
}

// TestDashboardRollback goes back to an earlier revision with a comment.
func TestDashboardRollback(t *testing.T) {
	_, o, b := governed(t)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 7, 7 })
	b.get(200, "/admin/rollback?to=1")
	b.shows("Go back to revision 1", "This lowers the active range", "active_max", "(needed)")
	b.send(422, "/admin/rollback", "to", "1", "confirm", "1")
	b.shows("a comment")
	b.send(303, "/admin/rollback", "to", "1", "confirm", "1", "comment", "too early")
	if s := o.Settings(); s.Revision != 3 || s.ActiveMin != 5 || s.ActiveMax != 8 {
		t.Errorf("%+v", s)
	}
	b.get(200, "/admin/rollback?to=2")
	change(t, o, func(s *compat.Settings) { s.AutoUpgrade = true })
	b.send(409, "/admin/rollback", "to", "2", "confirm", "1", "comment", "again")
	b.shows("changed meanwhile")
	b.get(404, "/admin/rollback?to=77")
	b.get(400, "/admin/rollback?to=x")
	b.get(200, "/admin")
	b.send(404, "/admin/rollback", "to", "77", "comment", "x")
}

// TestDashboardForms refuses what this browser was not given.
func TestDashboardForms(t *testing.T) {
	_, o, b := governed(t)
	b.get(200, "/admin")
	good := b.seal()
	form := url.Values{"revision": {"1"}, "document": {`{"active_min": 6}`}, "section": {"range"}}
	for _, seal := range []string{"", "00", good[:len(good)-1] + "x"} {
		form.Set("csrf", seal)
		b.do(403, "POST", "/admin/apply", form)
	}
	form.Set("csrf", good)
	b.do(403, "POST", "/admin/apply", form, "Origin", "https://evil.example")
	b.do(403, "POST", "/admin/apply", form, "Sec-Fetch-Site", "cross-site")
	other := browse(t, b.at)
	other.get(200, "/admin")
	other.do(403, "POST", "/admin/apply", form)
	b.do(404, "PUT", "/admin/apply", form)
	if o.Settings().Revision != 1 {
		t.Fatal("a form of nobody changed something")
	}
	b.do(303, "POST", "/admin/apply", form, "Origin", b.at, "Sec-Fetch-Site", "same-origin")
}

// TestDashboardLogin is about who may come in, with which role, and for how long.
func TestDashboardLogin(t *testing.T) {
	h, o, b := governed(t)
	b.get(200, "/admin/access")
	b.send(422, "/admin/access", "name", "a b", "role", "edit")
	b.shows("ASCII letters")
	b.send(422, "/admin/access", "name", "ops", "role", "view")
	b.get(200, "/admin/access")
	b.send(201, "/admin/access", "name", "ops", "role", "edit")
	edit := regexp.MustCompile(`collet_[A-Za-z0-9_-]{43}`).FindString(b.last)
	if edit == "" {
		t.Fatal("the secret is not shown")
	}
	b.get(200, "/admin/access") // with the first token this browser is logged in
	b.lacks(edit)
	b.send(201, "/admin/access", "name", "board", "role", "view")
	view := regexp.MustCompile(`collet_[A-Za-z0-9_-]{43}`).FindString(b.last)

	stranger := browse(t, b.at)
	for _, path := range []string{"/admin", "/admin/live", "/admin/audit", "/admin/access", "/admin/rollback?to=1"} {
		stranger.get(303, path)
		if stranger.head.Get("Location") != "/admin/login" {
			t.Errorf("%s: a stranger is sent to %q", path, stranger.head.Get("Location"))
		}
	}
	stranger.get(200, "/admin/login")
	stranger.send(303, "/admin/apply", "document", `{"active_min": 6}`, "revision", "1")
	stranger.get(200, "/admin/login")
	before := stranger.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0].Value
	stranger.send(401, "/admin/login", "token", "collet_wrong")
	stranger.shows("not known")
	stranger.send(303, "/admin/login", "token", view)
	if after := stranger.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0].Value; after == before {
		t.Error("a cookie from before the login is good after it")
	}
	stranger.get(200, "/admin")
	stranger.shows("view only", "board", "Log out")
	stranger.send(200, "/admin/review", "section", "policy", "components", "enforce", "manifest", "full")
	stranger.shows("Changing needs the role")
	stranger.lacks("/admin/apply")
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/apply", "section", "policy", "document", `{"manifest": "full"}`)
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/access", "name", "x", "role", "edit")
	stranger.get(200, "/admin/access")
	stranger.lacks("Make token", "Take away</button>")
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/access/drop", "name", "ops")
	b.get(200, "/admin/access")
	b.send(303, "/admin/access/drop", "name", "board")
	stranger.get(303, "/admin")
	b.get(200, "/admin/access")
	b.send(201, "/admin/access", "name", "other", "role", "view")
	b.send(422, "/admin/access/drop", "name", "ops")
	b.shows("the last one with the role")
	b.get(404, "/admin/nothing")
	b.get(200, "/admin")
	b.send(303, "/admin/logout")
	b.get(303, "/admin")
	if o.Settings().Revision != 1 {
		t.Error("somebody changed something")
	}
	h.log.has(t, "info", "Logged in to the dashboard")
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestDashboardGuesses slows down who tries tokens, and still lets those in who have one.
func TestDashboardGuesses(t *testing.T) {
	_, o, b := governed(t)
	secret, err := o.NewToken(editor(), "ops", server.RoleEdit)
	if err != nil {
		t.Fatal(err)
	}
	b.get(200, "/admin/login")
	seal, wrong, slowed := b.seal(), 0, 0
	for range 40 {
		form := url.Values{"csrf": {seal}, "token": {"collet_guess"}}
		answer, err := b.http.PostForm(b.at+"/admin/login", form)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		switch answer.StatusCode {
		case 401:
			wrong++
		case 429:
			slowed++
		default:
			t.Fatal(answer.Status)
		}
	}
	if wrong == 0 || wrong > 20 || slowed == 0 {
		t.Errorf("%d guesses, %d slowed down", wrong, slowed)
	}
	b.send(303, "/admin/login", "token", " "+secret+" ")
	b.get(200, "/admin")
	b.get(303, "/admin/login")
}

// TestDashboardElsewhere is a server without a store, and one without logic versions.
func TestDashboardElsewhere(t *testing.T) {
	set := settings(t)
	b := browse(t, monitored(t, start(t, set), set))
	b.get(404, "/admin")
	b.shows("Compat.Store")
	b.get(404, "/administration")

	set = settings(t)
	set.Compat.Store = t.TempDir() + "/compat.db"
	h, o := govern(t, set)
	h.expect(t, hello(netproto.C1), compat.Accept, compat.RuleAccept)
	b = browse(t, monitored(t, h, set))
	b.get(200, "/admin")
	b.shows("no logic versions", "Maintenance", "none")
	b.lacks(`id="range"`, `id="patch"`, `id="redirect"`)
	b.send(200, "/admin/review", "section", "maintenance", "enabled", "1")
	b.apply(303)
	if !o.Settings().Maintenance.Enabled {
		t.Error("no maintenance")
	}
}

// TestDashboardCookieOverTLS keeps the cookie to TLS where the page came by it, and warns where a token would travel in the clear.
func TestDashboardCookieOverTLS(t *testing.T) {
	h, o, _ := governed(t)
	if _, err := o.NewToken(editor(), "ops", server.RoleEdit); err != nil {
		t.Fatal(err)
	}
	m := &server.Monitor{}
	m.Watch(h.Server)
	const warning = "came without TLS"
	for _, c := range []struct {
		host, proto   string
		tls           bool
		secure, warns bool
	}{
		{"game.example:8080", "", true, true, false},
		{"game.example", "https", false, true, false},
		{"game.example:8080", "", false, false, true},
		{"203.0.113.1:8080", "http", false, false, true},
		{"127.0.0.1:8080", "", false, false, false},
		{"localhost:8080", "", false, false, false},
		{"[::1]:8080", "", false, false, false},
		{"[::1]", "", false, false, false},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+"/admin/login", nil)
		if r.TLS = nil; c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		r.Header.Set("X-Forwarded-Proto", c.proto)
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		if w.Code != 200 || strings.Contains(w.Header().Get("Set-Cookie"), "; Secure") != c.secure || strings.Contains(w.Body.String(), warning) != c.warns {
			t.Errorf("%+v: %d, %s, warns: %v", c, w.Code, w.Header().Get("Set-Cookie"), strings.Contains(w.Body.String(), warning))
		}
	}
}

// TestDashboardAndAPI have a door each: neither's key opens the other.
func TestDashboardAndAPI(t *testing.T) {
	_, o, b := governed(t)
	secret, err := o.NewToken(editor(), "ops", server.RoleEdit)
	if err != nil {
		t.Fatal(err)
	}
	b.do(303, "GET", "/admin", nil, "Authorization", "Bearer "+secret)
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", secret)
	cookie := b.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0]
	b.do(401, "GET", "/api/compat", nil, "Cookie", cookie.String())
	other := browse(t, b.at)
	other.do(303, "GET", "/admin", nil, "Cookie", "collet_admin=short")
	if !strings.HasPrefix(other.head.Get("Set-Cookie"), "collet_admin=") {
		t.Error("a cookie that is none of ours stays")
	}
}

// TestDashboardAtOnce is read and changed by many; every change that is told to be saved is in the log.
func TestDashboardAtOnce(t *testing.T) {
	_, o, b := governed(t)
	const people = 8
	var saved atomic.Int32
	var all sync.WaitGroup
	for i := range people {
		mine := browse(t, b.at)
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

// TestDashboardShowsTextAsText whatever somebody has written into settings and comments.
func TestDashboardShowsTextAsText(t *testing.T) {
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
	_, o, b := governed(t)
	const changes = 60
	for i := range changes {
		change(t, o, func(s *compat.Settings) { s.AutoUpgrade = i%2 == 0 })
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

// TestDashboardNothingToDo leaves no record of a form that says what is in force already.
func TestDashboardNothingToDo(t *testing.T) {
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "8")
	b.shows("Nothing: this is what is in force")
	b.lacks("/admin/apply")
	b.get(200, "/admin")
	b.send(303, "/admin/apply", "section", "range", "document", `{"active_min": 5}`)
	if records, err := o.Audit(0, 9); err != nil || len(records) != 1 || o.Settings().Revision != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestDashboardLongForms are refused before they are read.
func TestDashboardLongForms(t *testing.T) {
	_, o, b := governed(t)
	b.get(200, "/admin")
	seal := b.seal()
	b.do(403, "POST", "/admin/review", url.Values{"csrf": {seal}, "accounts": {strings.Repeat("x", 1<<20)}})
	b.shows("too large")
	b.get(200, "/admin")
	b.send(422, "/admin/review", "section", "developers", "accounts", strings.Repeat("somebody\n", 2000))
	b.shows("at most 1000 are possible")
	b.get(200, "/admin")
	b.send(422, "/admin/apply", "section", "range", "document", `{"active_min": 6}`, "comment", strings.Repeat("x", server.MaxComment+1))
	b.shows("at most 2000 are kept")
	if o.Settings().Revision != 1 {
		t.Error("something changed")
	}
}

// TestDashboardEndsSessions after the countdown that was chosen, and no others.
func TestDashboardEndsSessions(t *testing.T) {
	h, _, b := governed(t)
	old := h.expect(t, client(5, "Linux-x64"), compat.Accept, compat.RuleAccept)
	fine := h.expect(t, client(7, "Linux-x64"), compat.Accept, compat.RuleAccept)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "6", "active_max", "8")
	b.shows("End those that would not be let in again at once", `value="3600"`)
	b.apply(303, "kick", "0")
	old.gone()
	fine.send(&netproto.Ping{})
	next[*netproto.FileList](fine)
}
