package dashboard_test

import (
	"crypto/tls"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestDashboardHeaders keeps a browser from anything that the page did not bring.
func TestDashboardHeaders(t *testing.T) {
	t.Parallel()
	_, _, b := governed(t)
	for path, kind := range map[string]string{"/admin": "text/html; charset=utf-8", "/admin/style.css": "text/css; charset=utf-8", "/admin/script.js": "text/javascript; charset=utf-8", "/admin/icon.svg": "image/svg+xml", "/admin/login": "text/html; charset=utf-8", "/admin/nothing": "text/html; charset=utf-8"} {
		status := map[string]int{"/admin/login": 303, "/admin/nothing": 404}[path]
		b.get(max(status, 200), path)
		policy := b.head.Get("Content-Security-Policy")
		if b.head.Get("Content-Type") != kind || b.head.Get("X-Content-Type-Options") != "nosniff" || b.head.Get("Cache-Control") != "no-store" ||
			!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || b.head.Get("X-Frame-Options") != "DENY" ||
			b.head.Get("Cross-Origin-Resource-Policy") != "same-origin" || b.head.Get("Cross-Origin-Opener-Policy") != "same-origin" || b.head.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, b.head)
		}
	}
	b = browse(t, b.at)
	b.get(200, "/admin/login")
	cookie := b.head.Get("Set-Cookie")
	for _, want := range []string{"collet_admin=", "Path=/admin", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("cookie %q lacks %s", cookie, want)
		}
	}
	if strings.Contains(cookie, "Secure") {
		t.Error("a cookie in the clear is for TLS alone, and never comes back")
	}
}

// TestDashboardForms refuses what this browser was not given.
func TestDashboardForms(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin")
	good := b.seal()
	form := url.Values{"revision": {"1"}, "document": {`{"active_min": 6}`}, "section": {"range"}, "comment": {"5 is old"}}
	for _, seal := range []string{"", "00", good[:len(good)-1] + "x"} {
		form.Set("csrf", seal)
		b.do(403, "POST", "/admin/apply", form)
	}
	form.Set("csrf", good)
	b.do(403, "POST", "/admin/apply", form, "Origin", "https://evil.example")
	b.do(403, "POST", "/admin/apply", form, "Sec-Fetch-Site", "cross-site")
	other := browse(t, b.at)
	other.get(200, "/admin/login")
	other.do(403, "POST", "/admin/apply", form)
	b.do(404, "PUT", "/admin/apply", form)
	if o.Settings().Revision != 1 {
		t.Fatal("a form without a login changed something")
	}
	b.do(303, "POST", "/admin/apply", form, "Origin", b.at, "Sec-Fetch-Site", "same-origin")
}

// TestDashboardLogin checks which tokens may log in, with which role, and for how long.
func TestDashboardLogin(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	b.get(200, "/admin/access")
	b.send(422, "/admin/access", "name", "a b", "role", "edit")
	b.shows("ASCII letters")
	b.send(422, "/admin/access", "name", "local", "role", "view")
	b.get(200, "/admin/access")
	b.send(201, "/admin/access", "name", "ops", "role", "edit")
	edit := regexp.MustCompile(`collet_[A-Za-z0-9_-]{43}`).FindString(b.last)
	if edit == "" {
		t.Fatal("the secret is not shown")
	}
	b.get(200, "/admin/access")
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
	stranger.send(401, "/admin/apply", "document", `{"active_min": 6}`, "revision", "1")
	stranger.shows("Your session has ended")
	stranger.send(303, "/admin/access", "name", "x", "role", "edit")
	stranger.get(200, "/admin/login")
	stranger.get(200, "/admin/login")
	before := stranger.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0].Value
	stranger.send(401, "/admin/login", "token", "collet_wrong")
	stranger.shows("Unknown token")
	stranger.send(303, "/admin/login", "token", view)
	if after := stranger.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0].Value; after == before {
		t.Error("a cookie from before the login is good after it")
	}
	stranger.get(200, "/admin")
	stranger.shows(`<span class="pill">view</span>`, "board", "Log out")
	stranger.send(200, "/admin/review", "section", "policy", "components", "enforce", "manifest", "full")
	stranger.shows("Changes here need the role")
	stranger.lacks("/admin/apply")
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/apply", "section", "policy", "document", `{"manifest": "full"}`)
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/access", "name", "x", "role", "edit")
	stranger.get(200, "/admin/access")
	stranger.lacks("Create token", "Remove</button>")
	stranger.get(200, "/admin")
	stranger.send(403, "/admin/access/drop", "name", "ops")
	b.get(200, "/admin/access")
	b.send(303, "/admin/access/drop", "name", "board")
	stranger.get(303, "/admin")
	b.get(200, "/admin/access")
	b.send(201, "/admin/access", "name", "other", "role", "view")
	b.send(303, "/admin/access/drop", "name", "local")
	b = browse(t, b.at)
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", edit)
	b.get(200, "/admin/access")
	b.send(422, "/admin/access/drop", "name", "ops")
	b.shows("the last one with the role")
	b.get(404, "/admin/nothing")
	b.get(200, "/admin")
	b.send(303, "/admin/logout")
	b.get(303, "/admin")
	if o.Settings().Revision != 1 {
		t.Error("an anonymous request changed something")
	}
	h.Log.Has(t, "info", "Logged in to the dashboard")
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestDashboardGuesses limits wrong tokens of an address, and still accepts valid ones.
func TestDashboardGuesses(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b = browse(t, b.at)
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
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

// TestDashboardCookieOverTLS keeps the cookie to TLS where the page came by it, and warns where a token would travel in the clear.
func TestDashboardCookieOverTLS(t *testing.T) {
	t.Parallel()
	h, o, _ := governed(t)
	if _, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	m := servertest.NewMonitor(h)
	m.Watch(h.Server)
	const warning = "loaded without TLS"
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
	t.Parallel()
	_, o, b := governed(t)
	b = browse(t, b.at)
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
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
