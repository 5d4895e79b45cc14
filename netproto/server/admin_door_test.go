package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform/testlevel"
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
	set := versioned(t)
	h, o := unsecured(t, set)
	m := administered(h)
	if err := m.Configure(set, h.logger()); err != nil {
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
	secret, err := o.Tokens.Create(editor(), "ops", operator.RoleEdit)
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
	if err := o.Tokens.Drop(editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	if got, _ := ask(asked("127.9.9.9:5000", "localhost", "Authorization", "Bearer "+secret)); got != http.StatusUnauthorized {
		t.Errorf("when the last token is gone: %d", got)
	}
}

// TestBehindABareProxy: a reverse proxy that adds no header, and a forwarder for a Host of this machine, get strangers nothing.
func TestBehindABareProxy(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, _ := unsecured(t, set)
	m := administered(h)
	if err := m.Configure(set, h.logger()); err != nil {
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
	answer, text := call(t, "POST", proxy.URL+"/api/compat/tokens", `{"name": "eve", "role": "edit"}`, "Authorization", "")
	if e := reads[admin.APIError](t, answer, text, http.StatusUnauthorized); !strings.Contains(e.Error, "--control") {
		t.Errorf("a stranger is told %+v", e)
	}
}

// TestLoginTellsHowToGetAToken, and that the server has no token yet.
func TestLoginTellsHowToGetAToken(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := unsecured(t, set)
	m := administered(h)
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
	if _, err := o.Tokens.Create(editor(), "ops", operator.RoleEdit); err != nil {
		t.Fatal(err)
	}
	if text := page(); !strings.Contains(text, how) || strings.Contains(text, none) {
		t.Errorf("with a token: %s", text)
	}
}

// TestTokensAreBounded in number and in what they may be called, and their secrets in no answer but the first.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	_, o := unsecured(t, versioned(t))
	if _, err := o.Tokens.Create(operator.Actor{Name: "eve", Role: operator.RoleView}, "mine", operator.RoleEdit); err == nil {
		t.Error("a viewer made a token")
	}
	secrets := map[string]bool{}
	for i := range operator.MaxTokens {
		secret, err := o.Tokens.Create(editor(), fmt.Sprint("token-", i), operator.RoleEdit)
		if err != nil || secrets[secret] || len(secret) < 40 {
			t.Fatalf("token %d is %q, %v", i, secret, err)
		}
		secrets[secret] = true
	}
	for _, name := range []string{"one-more", "token-1", "", "a b", strings.Repeat("x", 65)} {
		if _, err := o.Tokens.Create(editor(), name, operator.RoleView); err == nil {
			t.Errorf("%q became a token", name)
		}
	}
	for secret := range secrets {
		if by, known := o.Tokens.Authenticate(secret); !known || by.Role != operator.RoleEdit || by.Source != compat.SourceAPI {
			t.Errorf("%q is %+v, %t", secret, by, known)
		}
		break
	}
	if _, known := o.Tokens.Authenticate(""); known {
		t.Error("nobody is somebody")
	}
	for _, token := range o.Tokens.List() {
		if token.Sum != "" || token.Created.IsZero() {
			t.Errorf("%+v", token)
		}
	}
}

// TestTokensOutliveTheServer, and their secrets with them.
func TestTokensOutliveTheServer(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := unsecured(t, set)
	secret, err := o.Tokens.Create(editor(), "ops", operator.RoleEdit)
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.done
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if image, err := os.ReadFile(set.Compat.Store); err != nil || strings.Contains(string(image), secret) {
		t.Errorf("the secret itself is on disk: %v", err)
	}
	_, o = govern(t, set)
	if by, known := o.Tokens.Authenticate(secret); !known || by.Name != "ops" || !o.Tokens.Exist() {
		t.Errorf("%+v, %t", by, known)
	}
}

// TestEverythingAtOnce changes, reloads, asks, pins and connects at the same time. Every handshake is judged by one set of settings,
// and the log of all changes is whole.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	set := versioned(t)
	set.Limits.ConnectionsPerSecond = 100_000
	h, o := unsecured(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	var all sync.WaitGroup
	const rounds = 25
	all.Go(func() {
		for i := range rounds {
			s := o.Settings()
			s.ActiveMin, s.ActiveMax = 6+int32(i%2), 7+int32(i%2) // 6-7 or 7-8: 7 always plays
			if _, err := o.Change(t.Context(), editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "x", Confirm: true}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for range rounds {
			if err := h.Reload(t.Context(), set); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for i := range rounds {
			if _, err := o.Floors.Set(editor(), fmt.Sprint("account-", i), 7, "", false); err != nil {
				t.Error(err)
			}
			o.Show()
			if _, err := o.DryRun(o.Settings()); err != nil {
				t.Error(err)
			}
			if _, err := o.Audit.Verify(); err != nil {
				t.Error(err)
			}
		}
	})
	for worker := range 4 {
		all.Go(func() {
			for i := range rounds {
				p, j := h.ask(t, client(7, "Linux-x64", account(fmt.Sprint("account-", worker, "-", i))))
				if !j.Plays() {
					t.Errorf("7 is judged %+v", j)
				}
				p.raw.Close()
				p, j = h.ask(t, client(5, "Linux-x64"))
				if j.Verdict != compat.UpdateBinaries || j.Rule != compat.RuleTooOld {
					t.Errorf("5 is judged %+v", j)
				}
				p.raw.Close()
			}
		})
	}
	all.Wait()
	if n, err := o.Audit.Verify(); n != int(o.Settings().Revision)+rounds || err != nil {
		t.Errorf("%d records of %d revisions and %d floors, %v", n, o.Settings().Revision, rounds, err)
	}
	floors := 0
	for _, f := range o.Show().Floors {
		floors += f.Count
	}
	if want := rounds + 4*rounds; floors != want {
		t.Errorf("%d floors, want %d", floors, want)
	}
}
