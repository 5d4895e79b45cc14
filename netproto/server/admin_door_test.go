package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server"
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

// TestForeign tells this machine's own from those that only look so.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		r    *http.Request
		says string // empty: it is from here
	}{
		{asked("127.0.0.1:5000", "127.0.0.1:8080"), ""},
		{asked("127.0.0.1:5000", "localhost:8080"), ""},
		{asked("127.9.9.9:5000", "LOCALHOST"), ""},
		{asked("[::1]:5000", "[::1]:8080"), ""},
		{asked("[::ffff:127.0.0.1]:5000", "127.0.0.1"), ""},
		{asked("127.0.0.1:5000", "localhost:8080", "Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"), ""},
		{asked("127.0.0.1:5000", "localhost:8080", "Sec-Fetch-Site", "none"), ""},
		{asked("192.0.2.7:5000", "127.0.0.1:8080"), "another machine"},
		{asked("10.0.0.1:5000", "localhost"), "another machine"},
		{asked("[2001:db8::1]:5000", "[::1]"), "another machine"},
		{asked("", "localhost"), "another machine"},
		{asked("127.0.0.1:5000", "localhost", "X-Forwarded-For", "127.0.0.1"), "proxy"},
		{asked("127.0.0.1:5000", "localhost", "X-Real-Ip", "127.0.0.1"), "proxy"},
		{asked("127.0.0.1:5000", "localhost", "Forwarded", "for=127.0.0.1"), "proxy"},
		{asked("127.0.0.1:5000", "localhost", "Via", "1.1 x"), "proxy"},
		{asked("127.0.0.1:5000", "rebound.example"), "host"},
		{asked("127.0.0.1:5000", "127.0.0.1.example"), "host"},
		{asked("127.0.0.1:5000", "0.0.0.0"), "host"},
		{asked("127.0.0.1:5000", "localhost", "Origin", "http://localhost:9999"), "another site"},
		{asked("127.0.0.1:5000", "localhost", "Origin", "null"), "another site"},
		{asked("127.0.0.1:5000", "localhost", "Origin", "%"), "another site"},
		{asked("127.0.0.1:5000", "localhost", "Sec-Fetch-Site", "same-site"), "another site"},
	} {
		why := server.Foreign(c.r)
		if (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("from %s for %s with %v: %q, want %q", c.r.RemoteAddr, c.r.Host, c.r.Header, why, c.says)
		}
	}
}

// TestOtherMachinesNeedAToken at the door itself, whatever the address that is listened at.
func TestOtherMachinesNeedAToken(t *testing.T) {
	set := versioned(t)
	h, o := govern(t, set)
	m := &server.Monitor{}
	if err := m.Configure(set, h.logger()); err != nil {
		t.Fatal(err)
	}
	ask := func(r *http.Request) int {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		return w.Code
	}
	away := func(headers ...string) *http.Request {
		return asked("192.0.2.7:5000", "play.example:8080", headers...)
	}
	if got := ask(asked("127.0.0.1:5000", "localhost")); got != http.StatusNotFound {
		t.Errorf("before there is a server: %d", got)
	}
	m.Watch(h.Server)
	if got := ask(away()); got != http.StatusForbidden {
		t.Errorf("without any token: %d", got)
	}
	secret, err := o.NewToken(editor(), "ops", server.RoleEdit)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		authorization string
		want          int
	}{
		{"", 401}, {"Bearer ", 401}, {"Bearer " + secret, 200}, {"bearer " + secret, 401}, {"Basic " + secret, 401},
		{"Bearer " + secret + "x", 401}, {"Bearer " + secret[:len(secret)-1], 401}, {"Bearer  " + secret + " ", 200},
	} {
		if got := ask(away("Authorization", c.authorization)); got != c.want {
			t.Errorf("%q: %d, want %d", c.authorization, got, c.want)
		}
	}
	if got := ask(asked("127.0.0.1:5000", "localhost")); got != http.StatusUnauthorized {
		t.Errorf("this machine without its token: %d", got)
	}
	if err := o.DropToken(editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	if got := ask(asked("127.0.0.1:5000", "localhost")); got != 200 {
		t.Errorf("this machine when the last token is gone: %d", got)
	}
}

// TestTokensAreBounded in number and in what they may be called, and their secrets in no answer but the first.
func TestTokensAreBounded(t *testing.T) {
	_, o := govern(t, versioned(t))
	if _, err := o.NewToken(server.Actor{Name: "eve", Role: server.RoleView}, "mine", server.RoleEdit); err == nil {
		t.Error("a viewer made a token")
	}
	secrets := map[string]bool{}
	for i := range server.MaxTokens {
		secret, err := o.NewToken(editor(), fmt.Sprint("token-", i), server.RoleEdit)
		if err != nil || secrets[secret] || len(secret) < 40 {
			t.Fatalf("token %d is %q, %v", i, secret, err)
		}
		secrets[secret] = true
	}
	for _, name := range []string{"one-more", "token-1", "", "a b", strings.Repeat("x", 65)} {
		if _, err := o.NewToken(editor(), name, server.RoleView); err == nil {
			t.Errorf("%q became a token", name)
		}
	}
	for secret := range secrets {
		if by, known := o.Authenticate(secret); !known || by.Role != server.RoleEdit || by.Source != compat.SourceAPI {
			t.Errorf("%q is %+v, %t", secret, by, known)
		}
		break
	}
	if _, known := o.Authenticate(""); known {
		t.Error("nobody is somebody")
	}
	for _, token := range o.Tokens() {
		if token.Sum != "" || token.Created.IsZero() {
			t.Errorf("%+v", token)
		}
	}
}

// TestTokensOutliveTheServer, and their secrets with them.
func TestTokensOutliveTheServer(t *testing.T) {
	set := versioned(t)
	h, o := govern(t, set)
	secret, err := o.NewToken(editor(), "ops", server.RoleEdit)
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	<-h.done
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(imageOf(t, set.Compat.Store)), secret) {
		t.Error("the secret itself is on disk")
	}
	_, o = govern(t, set)
	if by, known := o.Authenticate(secret); !known || by.Name != "ops" || !o.Secured() {
		t.Errorf("%+v, %t", by, known)
	}
}

// TestEverythingAtOnce changes, reloads, asks, pins and connects at the same time. Every handshake is judged by one set of settings,
// and the log of all changes is whole.
func TestEverythingAtOnce(t *testing.T) {
	set := versioned(t)
	set.Limits.ConnectionsPerSecond = 100_000
	h, o := govern(t, set)
	change(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	var all sync.WaitGroup
	const rounds = 25
	all.Go(func() {
		for i := range rounds {
			s := o.Settings()
			s.ActiveMin, s.ActiveMax = 6+int32(i%2), 7+int32(i%2) // 6-7 or 7-8: 7 always plays
			if _, err := o.Change(t.Context(), editor(), server.Change{Revision: s.Revision, Settings: s, Comment: "x", Confirm: true}); err != nil {
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
			if _, err := o.SetFloor(editor(), fmt.Sprint("account-", i), 7, "", false); err != nil {
				t.Error(err)
			}
			o.Show()
			if _, err := o.DryRun(o.Settings()); err != nil {
				t.Error(err)
			}
			if _, err := o.Verify(); err != nil {
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
	if n, err := o.Verify(); n != int(o.Settings().Revision)+rounds || err != nil {
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
