package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestBehindABareProxy: a reverse proxy that adds no header, and a forwarder for a Host of this machine, get strangers nothing.
func TestBehindABareProxy(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, _ := servertest.StartWithoutToken(t, set)
	m := servertest.NewMonitor(h)
	if err := m.Configure(set, h.Logger()); err != nil {
		t.Fatal(err)
	}
	m.Watch(h.Server)
	origin := httptest.NewServer(m)
	defer origin.Close()
	target := mustURL(t, origin.URL)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = target.Host
	}})
	defer proxy.Close()
	for path, want := range map[string]int{"/api/compat": 401, "/api/compat/tokens": 401, "/api/players/ann/floor": 401, "/admin": 303, "/admin/access": 303, "/metrics": 404} {
		b := browse(t, proxy.URL)
		b.get(want, path)
		b.lacks("active_max", "collet_connections", "compat_settings")
	}
	answer, text := servertest.CallAPI(t, "POST", proxy.URL+"/api/compat/tokens", `{"name": "eve", "role": "edit"}`, "Authorization", "")
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusUnauthorized); !strings.Contains(e.Error, "--control") {
		t.Errorf("a stranger is told %+v", e)
	}
}

// TestLoginTellsHowToGetAToken, and that the server has no token yet.
func TestLoginTellsHowToGetAToken(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithoutToken(t, set)
	m := servertest.NewMonitor(h)
	m.Watch(h.Server)
	page := func() string {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/admin/login", nil))
		return w.Body.String()
	}
	const how, none = "collet compat token NAME --control SOCKET", "has no token yet"
	if text := page(); !strings.Contains(text, how) || !strings.Contains(text, none) {
		t.Errorf("without a token: %s", text)
	}
	if _, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if text := page(); !strings.Contains(text, how) || strings.Contains(text, none) {
		t.Errorf("with a token: %s", text)
	}
}
