package dashboard_test

import (
	"html"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"collet/assets"
	"collet/netproto/compat"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestDashboardSpeaksEveryLanguage to a browser that asks for it, and what is refused too. make test has every third.
func TestDashboardSpeaksEveryLanguage(t *testing.T) {
	t.Parallel()
	stride := testlevel.Stride(3, 3)
	for i, folder := range assets.Languages() {
		if i%stride != 0 {
			continue
		}
		_, _, b := governed(t)
		tag, words := language.MustParse(folder).String(), assets.Dashboard(folder)
		text := func(key string, pairs ...string) string {
			return html.EscapeString(strings.NewReplacer(pairs...).Replace(words[key]))
		}
		b.do(200, "GET", "/admin", nil, "Accept-Language", tag+";q=0.9")
		b.shows(`lang="`+tag+`"`, text("hero.range", "{min}", "5", "{max}", "8"), text("form.range"))
		if b.head.Get("Content-Language") != tag || !strings.Contains(b.head.Get("Vary"), "Accept-Language") {
			t.Error(b.head)
		}
		b.send(303, "/admin/language", "language", tag, "back", "/admin/audit?verify=1")
		if where := b.head.Get("Location"); where != "/admin/audit?verify=1" {
			t.Error(where)
		}
		b.get(200, "/admin/audit?verify=1")
		b.shows(text("nav.audit"))
		b.get(200, "/admin")
		b.send(422, "/admin/review", "section", "range", "active_min", "8", "active_max", "6")
		b.shows(text("why: %d is above active_max %d", "$1", "8", "$2", "6"))
		b.get(200, "/admin")
		b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "7")
		b.shows(text("lowers"), text("comment.needed"))
		b.lacks(`name="language"`) // a form would be lost
		b.apply(422)
		b.shows(text("fault.both"))
		b.get(200, "/admin")
	}
}

// TestDashboardRefusesOtherLanguages, and leads nowhere else.
func TestDashboardRefusesOtherLanguages(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	b.send(400, "/admin/language", "language", "xx")
	b.get(200, "/admin")
	b.send(303, "/admin/language", "language", "en", "back", "https://evil.example/")
	if where := b.head.Get("Location"); where != "/admin" {
		t.Errorf("sent to %s", where)
	}
	b.get(200, "/admin")
	b.shows("Versions 5 to 8 may connect")
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMax = 5 })
	b.get(200, "/admin")
	b.shows("Version 5 may connect")
}
