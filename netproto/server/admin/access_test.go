package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// asked is a request to the admin API as it arrives.
func asked(from, host string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "http://"+host+"/api/compat", nil)
	r.RemoteAddr = from
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// TestOnlyATokenOpens the admin API and the dashboard over TCP: not the address of this machine, not its name, not headers that are
// missing, which a bare reverse proxy, a forwarder and any local user have, too; also as long as there is no token.
func TestOnlyATokenOpens(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithoutToken(t, set)
	m := servertest.NewMonitor(h)
	if err := m.Configure(set, h.Logger()); err != nil {
		t.Fatal(err)
	}
	ask := func(r *http.Request) (int, string) {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		return w.Code, w.Body.String() + w.Header().Get("Location")
	}
	if got, _ := ask(asked("127.0.0.1:5000", "localhost")); got != http.StatusNotFound {
		t.Errorf("before there is a server: %d", got)
	}
	m.Watch(h.Server)
	here := func() []*http.Request {
		return []*http.Request{
			asked("127.0.0.1:5000", "127.0.0.1:8080"), asked("127.0.0.1:5000", "localhost:8080"), asked("[::1]:5000", "[::1]:8080"),
			asked("[::ffff:127.0.0.1]:5000", "127.0.0.1"), asked("127.0.0.1:5000", "play.example", "X-Forwarded-For", "192.0.2.7"),
			asked("127.0.0.1:5000", "localhost:8080", "Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"),
			asked("192.0.2.7:5000", "play.example:8080"), asked("", "localhost"),
		}
	}
	shut := func(when, says string) {
		t.Helper()
		for _, r := range here() {
			if got, text := ask(r); got != http.StatusUnauthorized || !strings.Contains(text, says) {
				t.Errorf("%s, from %q for %s: %d %s", when, r.RemoteAddr, r.Host, got, text)
			}
			r.URL.Path = "/admin/access"
			if got, text := ask(r); got != http.StatusSeeOther || !strings.HasSuffix(text, "/admin/login") {
				t.Errorf("%s, the dashboard from %q for %s: %d %s", when, r.RemoteAddr, r.Host, got, text)
			}
		}
	}
	shut("without any token", "no token yet")
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		authorization string
		want          int
	}{
		{"Bearer " + secret, 200}, {"Bearer  " + secret + " ", 200}, {"", 401}, {"Bearer ", 401}, {"bearer " + secret, 401}, {"Basic " + secret, 401},
		{"Bearer " + secret + "x", 401}, {"Bearer " + secret[:len(secret)-1], 401},
	} {
		if got, _ := ask(asked("192.0.2.8:5000", "play.example:8080", "Authorization", c.authorization)); got != c.want {
			t.Errorf("%q: %d, want %d", c.authorization, got, c.want)
		}
	}
	if err := o.Tokens.Drop(servertest.Editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	if got, _ := ask(asked("127.9.9.9:5000", "localhost", "Authorization", "Bearer "+secret)); got != http.StatusUnauthorized {
		t.Errorf("when the last token is gone: %d", got)
	}
}
