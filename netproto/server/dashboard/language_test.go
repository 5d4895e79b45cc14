package dashboard_test

import (
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/servertest"
)

// TestDashboardSpeaksRussian to a browser that asks for it, and what is refused too.
func TestDashboardSpeaksRussian(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.do(200, "GET", "/admin", nil, "Accept-Language", "ru-RU,ru;q=0.9")
	b.shows(`lang="ru"`, "Подключаются версии с 5 по 8", "Активный диапазон")
	b.lacks("Active range", "This build supports")
	if b.head.Get("Content-Language") != "ru" || !strings.Contains(b.head.Get("Vary"), "Accept-Language") {
		t.Error(b.head)
	}
	b.send(303, "/admin/language", "language", "ru", "back", "/admin/audit?verify=1")
	if where := b.head.Get("Location"); where != "/admin/audit?verify=1" {
		t.Error(where)
	}
	b.get(200, "/admin/audit?verify=1")
	b.shows("Единственная из 1 записи цела", "История")
	b.get(200, "/admin")
	b.send(422, "/admin/review", "section", "range", "active_min", "8", "active_max", "6")
	b.shows("8 больше active_max 6")
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "7")
	b.shows("Это понижает активный диапазон", "Комментарий (обязательно)")
	b.lacks(`name="language"`) // a form would be lost
	b.apply(422)
	b.shows("нет подтверждения и комментария")
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
