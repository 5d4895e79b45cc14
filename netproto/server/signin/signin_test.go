package signin_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/signin"
	"collet/netproto/server/signintest"
)

// back is where the provider sends browsers.
const back = "http://127.0.0.1:1" + config.SignInPath

// settings are those of a client of a provider.
func settings(at *signintest.Provider) config.SignIn {
	set := config.Defaults().SignIn
	set.Issuer, set.ClientID, set.RedirectURL = at.URL, signintest.ID, back
	set.View, set.Operate, set.Release, set.Admin = []string{"players"}, []string{"ops"}, []string{"releasers"}, []string{"admins", "root"}
	return set
}

// signIn goes through a whole sign-in.
func signIn(t *testing.T, at *signintest.Provider, p *signin.Provider) (signin.Person, error) {
	t.Helper()
	attempt, address, err := p.Begin(t.Context())
	if err != nil {
		return signin.Person{}, err
	}
	return p.Finish(t.Context(), signin.ReadAttempt(attempt.Cookie()), at.Visit(t, address).Query())
}

// TestPersons: which claims give which name and role.
func TestPersons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		claims map[string]any
		info   map[string]any
		change func(*config.SignIn)
		want   signin.Person
		fault  string
	}{
		{name: "a group", claims: map[string]any{"email": "a@example.org", "groups": []string{"x", "ops"}}, want: signin.Person{Name: "a@example.org", Role: operator.RoleOperate}},
		{name: "one group as a text", claims: map[string]any{"email": "a@example.org", "groups": "releasers"}, want: signin.Person{Name: "a@example.org", Role: operator.RoleRelease}},
		{name: "the first of several", claims: map[string]any{"email": "a@example.org", "groups": []any{7, "ops", "players", "root"}}, want: signin.Person{Name: "a@example.org", Role: operator.RoleAdmin}},
		{name: "a verified address", claims: map[string]any{"email": "a@example.org", "email_verified": "true", "groups": "players"}, want: signin.Person{Name: "a@example.org", Role: operator.RoleView}},
		{name: "everybody", claims: map[string]any{"email": "a@example.org"}, change: func(s *config.SignIn) { s.View = []string{"*"} }, want: signin.Person{Name: "a@example.org", Role: operator.RoleView}},
		{name: "a name without @", claims: map[string]any{"preferred_username": "alice", "groups": "ops"}, change: func(s *config.SignIn) { s.NameClaim = "preferred_username" }, want: signin.Person{Name: "alice@127.0.0.1", Role: operator.RoleOperate}},
		{name: "a claim in objects", claims: map[string]any{"email": "a@example.org", "realm_access": map[string]any{"roles": []string{"ops"}}}, change: func(s *config.SignIn) { s.RoleClaim = "realm_access.roles" }, want: signin.Person{Name: "a@example.org", Role: operator.RoleOperate}},
		{name: "a claim with dots", claims: map[string]any{"email": "a@example.org", "https://example.org/roles": "ops"}, change: func(s *config.SignIn) { s.RoleClaim = "https://example.org/roles" }, want: signin.Person{Name: "a@example.org", Role: operator.RoleOperate}},
		{name: "user info", info: map[string]any{"sub": "1", "email": "a@example.org", "groups": []string{"ops"}}, want: signin.Person{Name: "a@example.org", Role: operator.RoleOperate}},
		{name: "the token counts", claims: map[string]any{"email": "a@example.org"}, info: map[string]any{"sub": "1", "email": "b@example.org", "groups": "ops"}, want: signin.Person{Name: "a@example.org", Role: operator.RoleOperate}},

		{name: "user info of another", info: map[string]any{"sub": "2", "email": "a@example.org", "groups": "ops"}, fault: "is of another person"},
		{name: "no rights", claims: map[string]any{"email": "a@example.org", "groups": []string{"op", "*"}}, fault: `a@example.org has no value of the claim "groups"`},
		{name: "no name", claims: map[string]any{"groups": "ops"}, fault: `no claim "email" with a name`},
		{name: "no text", claims: map[string]any{"email": 7, "groups": "ops"}, fault: `no claim "email" with a name`},
		{name: "an address of another", claims: map[string]any{"email": "boss@example.org", "email_verified": false, "groups": "admins"}, fault: "is not verified there"},
		{name: "a name with a line", claims: map[string]any{"email": "a\n@example.org", "groups": "ops"}, fault: "is no readable name"},
		{name: "a long name", claims: map[string]any{"email": strings.Repeat("a", 60) + "@b.org", "groups": "ops"}, fault: "has 66 bytes, at most 64"},
		{name: "many groups", claims: map[string]any{"email": "a@example.org", "groups": make([]string, 1001)}, fault: "has 1001 values, more than 1000"},
		{name: "another client", claims: map[string]any{"email": "a@example.org", "groups": "ops", "aud": "other"}, fault: "audience"},
		{name: "another provider", claims: map[string]any{"email": "a@example.org", "groups": "ops", "iss": "https://example.org"}, fault: "different provider"},
		{name: "expired", claims: map[string]any{"email": "a@example.org", "groups": "ops", "exp": 1000}, fault: "expired"},
		{name: "another attempt", claims: map[string]any{"email": "a@example.org", "groups": "ops", "nonce": "x"}, fault: "for another attempt"},
		{name: "a wrong secret", change: func(s *config.SignIn) { s.ClientID = signintest.ID }, fault: "invalid_client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := signintest.New(t)
			at.Claims, at.Info, at.Redirect = c.claims, c.info, back
			set, secret := settings(at), signintest.Secret
			if c.change != nil {
				c.change(&set)
			}
			if c.name == "a wrong secret" {
				secret = "wrong"
			}
			who, err := signIn(t, at, signin.New(set, secret))
			if c.fault == "" && (err != nil || who != c.want) {
				t.Errorf("%+v, %v", who, err)
			}
			if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || who.Role != "") {
				t.Errorf("%+v, %v; want %q", who, err, c.fault)
			}
		})
	}
}

// TestAttempts: a browser finishes what it began, once.
func TestAttempts(t *testing.T) {
	t.Parallel()
	at := signintest.New(t)
	at.Claims = map[string]any{"email": "a@example.org", "groups": "ops"}
	p := signin.New(settings(at), signintest.Secret)
	a, address, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	query := at.Visit(t, address).Query()
	for _, wrong := range []signin.Attempt{other, {}, signin.ReadAttempt(""), signin.ReadAttempt(".."), signin.ReadAttempt(a.Cookie() + ".x"), signin.ReadAttempt(strings.Repeat("a", 9999))} {
		if who, err := p.Finish(t.Context(), wrong, query); !errors.Is(err, signin.ErrAttempt) {
			t.Errorf("%+v: %+v, %v", wrong, who, err)
		}
	}
	for key, want := range map[string]string{"code": "no code", "iss": "from another provider"} {
		changed := at.Visit(t, address).Query()
		changed.Set(key, strings.Repeat("x", 5000))
		if who, err := p.Finish(t.Context(), a, changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", key, who, err)
		}
	}
	if who, err := p.Finish(t.Context(), a, query); err != nil || who.Role != operator.RoleOperate {
		t.Errorf("%+v, %v", who, err)
	}
	if who, err := p.Finish(t.Context(), a, query); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a code is good twice: %+v, %v", who, err)
	}
	for secret, methods := range map[string][]string{"": {"none"}, signintest.Secret: {"client_secret_post"}} {
		public := signintest.New(t)
		public.Claims, public.Secret, public.Methods = at.Claims, secret, methods
		if who, err := signIn(t, public, signin.New(settings(public), secret)); err != nil || who.Name != "a@example.org" {
			t.Errorf("secret %q in the body: %+v, %v", secret, who, err)
		}
	}
	at.Deny = "access_denied"
	var denied *signin.DeniedError
	if _, err := signIn(t, at, p); !errors.As(err, &denied) || denied.Why != "access_denied" {
		t.Error(err)
	}
}

// TestProviderIsDown: it is asked late, and again after a pause; large, slow and strange answers are errors.
func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	at := signintest.New(t)
	p := signin.New(settings(at), signintest.Secret)
	if at.Asked != 0 {
		t.Error("asked before the first sign-in")
	}
	var unreachable *signin.UnreachableError
	for name, answer := range map[string]func(w http.ResponseWriter){
		"500 Internal": func(w http.ResponseWriter) { http.Error(w, "later", http.StatusInternalServerError) },
		"too large":    func(w http.ResponseWriter) { w.Write(make([]byte, 2<<20)) },
		"decode":       func(w http.ResponseWriter) { w.Write([]byte("<html>")) },
		"not followed": func(w http.ResponseWriter) {
			http.Redirect(w, &http.Request{}, "https://example.org", http.StatusFound)
		},
		"issuer": func(w http.ResponseWriter) { w.Write([]byte(`{"issuer": "https://example.org"}`)) },
		"not https": func(w http.ResponseWriter) {
			w.Write([]byte(`{"issuer": "` + at.URL + `", "authorization_endpoint": "http://example.org/a", "token_endpoint": "` + at.URL + `", "jwks_uri": "` + at.URL + `"}`))
		},
		`"javascript:alert(1)"`: func(w http.ResponseWriter) {
			w.Write([]byte(`{"issuer": "` + at.URL + `", "authorization_endpoint": "javascript:alert(1)"}`))
		},
	} {
		at.Instead = func(w http.ResponseWriter, _ *http.Request) bool { answer(w); return true }
		if _, _, err := signin.New(settings(at), "").Begin(t.Context()); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), name) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
	asked := at.Asked
	at.Instead = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "later", http.StatusServiceUnavailable)
		return true
	}
	for range 3 {
		if _, _, err := p.Begin(t.Context()); !errors.As(err, &unreachable) {
			t.Error(err)
		}
	}
	if at.Asked != asked+1 {
		t.Errorf("asked %d times at once", at.Asked-asked)
	}
	at.Instead, at.Claims = nil, map[string]any{"email": "a@example.org", "groups": "ops"}
	p.Pass(signin.RetryTime)
	if who, err := signIn(t, at, p); err != nil || who.Name != "a@example.org" {
		t.Errorf("%+v, %v", who, err)
	}
	at.Close()
	attempt, address, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err) // its addresses are known
	}
	state := address[strings.Index(address, "state=")+len("state="):]
	if _, err := p.Finish(t.Context(), attempt, map[string][]string{"state": {state}, "code": {"x"}}); !errors.As(err, &unreachable) {
		t.Error(err)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	env := func(string) string { return "of the environment" }
	if got, err := signin.Secret(config.SignIn{}, env); err != nil || got != "of the environment" {
		t.Errorf("%q, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "secret")
	for content, want := range map[string]string{" s3cret\n": "s3cret", "": "is empty", "\n": "is empty", strings.Repeat("x", 5000): "no file of at most 4096 bytes"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := signin.Secret(config.SignIn{ClientSecretFile: file}, env)
		if got != want && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "SignIn.ClientSecretFile")) {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	if _, err := signin.Secret(config.SignIn{ClientSecretFile: file + "x"}, env); err == nil || !strings.Contains(err.Error(), "write the secret there") {
		t.Error(err)
	}
}
