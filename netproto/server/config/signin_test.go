package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// signIn is a complete table for signing in.
const signIn = `CompatibilityVersion = "v"
Compat.Store = "compat.db"
[SignIn]
Issuer = "https://login.example.org/realms/game"
ClientID = "collet"
ClientSecretFile = "secret"
RedirectURL = "https://updates.example.org/admin/signin/callback"
View = ["*"]
`

func TestSignIn(t *testing.T) {
	t.Parallel()
	path := writeSettings(t, signIn)
	set, err := config.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if g := set.SignIn; g.ClientSecretFile != filepath.Join(filepath.Dir(path), "secret") || g.NameClaim != "email" || g.View[0] != config.SignInAnyone {
		t.Errorf("%+v", g)
	}
	for change, want := range map[string]string{
		"https://login.example.org/realms/game → ":                               "SignIn.ClientID: needs SignIn.Issuer",
		"https://login.example.org/realms/game → http://login.example.org":       "must begin with https",
		"https://login.example.org/realms/game → login.example.org":              "is no URL",
		"https://login.example.org/realms/game → https://a:b@login.example.org":  "is no URL",
		"ClientID = \"collet\" → ":                                               "SignIn.ClientID: is not set",
		"RedirectURL = \"https://updates.example.org/admin/signin/callback\" → ": "SignIn.RedirectURL: is not set",
		"org/admin/signin/callback → org/admin":                                  "with the path /admin/signin/callback",
		"org/admin/signin/callback → org/game/admin/signin/callback":             "with the path /admin/signin/callback",
		"https://updates.example.org → http://updates.example.org":               "http is for this machine only",
		"View = [\"*\"] → ": "gives rights to nobody",
		"View = [\"*\"] → View = [\"*\"]\nNameClaim = \"\"": "SignIn.NameClaim: must name a claim",
		"Compat.Store = \"compat.db\"\n → ":                 "needs Compat.Store",
		"View = → Views =":                                  "did you mean SignIn.View?",
	} {
		from, to, _ := strings.Cut(change, " → ")
		if _, err := config.Load(writeSettings(t, strings.Replace(signIn, from, to, 1)), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
	for _, local := range []string{"http://127.0.0.1:8080", "http://localhost", "http://[::1]:99"} {
		if _, err := config.Load(writeSettings(t, strings.Replace(signIn, "https://login.example.org/realms/game", local, 1)), ""); err != nil {
			t.Errorf("%s: %v", local, err)
		}
	}
}
