package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
	"collet/netproto/server/signin"
	"collet/netproto/server/signintest"
)

// TestDashboardSignIn signs people in with an account of a provider, beside tokens.
func TestDashboardSignIn(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, _ := servertest.StartWithToken(t, set)
	at := signintest.New(t)
	b := browse(t, servertest.ServeMonitor(t, h, set))
	b.get(404, "/admin/signin")
	b.get(404, "/admin/signin/callback")
	b.get(200, "/admin/login")
	b.lacks("/admin/signin")

	client := config.Defaults().SignIn
	client.Issuer, client.ClientID, client.RedirectURL = at.URL, signintest.ID, "http://127.0.0.1:1"+config.SignInPath
	client.Operate, client.View = []string{"ops"}, []string{"staff"}
	h.About.SignIn = signin.New(client, signintest.Secret)
	b = browse(t, servertest.ServeMonitor(t, h, set))
	b.get(303, "/admin")
	b.get(200, "/admin/login")
	b.shows(`href="/admin/signin"`, "Sign in with 127.0.0.1", "Or log in with a token")
	comes := func(b *browser, status int, claims map[string]any) {
		t.Helper()
		at.Claims = claims
		b.get(303, "/admin/signin")
		b.get(status, config.SignInPath+"?"+at.Visit(t, b.head.Get("Location")).RawQuery)
	}
	comes(b, 303, map[string]any{"email": "alice@example.org", "groups": []string{"ops"}})
	if to, cookies := b.head.Get("Location"), strings.Join(b.head.Values("Set-Cookie"), "\n"); to != "/admin" || strings.Count(cookies, "HttpOnly; SameSite=Lax") != 2 || !strings.Contains(cookies, "collet_signin=; Path=/admin/signin/callback; Max-Age=0") {
		t.Errorf("to %q with %s", to, cookies)
	}
	b.get(200, "/admin")
	b.shows("alice@example.org", "operate")
	b.send(200, "/admin/review", "section", "policy", "components", "enforce", "manifest", "hashes")
	b.apply(303, "comment", "for the new game")
	b.get(200, "/admin/audit")
	b.shows("alice@example.org", "for the new game")
	b.get(200, "/admin/access")
	b.send(403, "/admin/access", "name", "x", "role", "view")
	b.shows(`You have the role “operate”`)
	b.get(200, "/admin")
	b.send(303, "/admin/logout")
	b.get(303, "/admin")

	comes(b, 303, map[string]any{"email": "bob@example.org", "groups": "staff"})
	b.get(200, "/admin")
	b.send(403, "/admin/apply", "section", "policy", "document", `{"manifest": "nothing"}`)
	b.get(200, "/admin")
	b.send(303, "/admin/logout")

	comes(b, 403, map[string]any{"email": "eve@example.org", "groups": "<b>"})
	b.shows("127.0.0.1 knows you as eve@example.org, but that account has no rights here", "SignIn.View", "Sign in with 127.0.0.1")
	comes(b, 403, map[string]any{})
	b.shows(`no claim "email"`)
	at.Deny = "access_denied"
	comes(b, 403, nil)
	b.shows("127.0.0.1 did not sign you in: access_denied.")
	at.Deny = ""
	b.get(303, "/admin")

	b.get(303, "/admin/signin")
	query := at.Visit(t, b.head.Get("Location")).RawQuery
	browse(t, b.at).get(400, config.SignInPath+"?"+query) // another browser
	b.get(400, config.SignInPath)
	b.shows("was not begun in this browser at http://127.0.0.1:1")
	b.get(400, config.SignInPath+"?"+query) // the attempt is over

	for range 20 { // each costs the provider a request
		if b.get(0, config.SignInPath); b.code == http.StatusTooManyRequests {
			break
		}
	}
	if b.code != http.StatusTooManyRequests {
		t.Error("guesses are not limited")
	}
	b.enter() // with a token, whatever the provider does
	b.get(200, "/admin")
}

// TestSignInWithoutProvider: a provider that is down is said so, and tokens work.
func TestSignInWithoutProvider(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, _ := servertest.StartWithToken(t, set)
	client := config.Defaults().SignIn
	// Nothing listens on port 1; that of a provider that has ended could be another test's by now.
	client.Issuer, client.ClientID, client.RedirectURL, client.View = "http://127.0.0.1:1", signintest.ID, "http://127.0.0.1:1"+config.SignInPath, []string{"*"}
	h.About.SignIn = signin.New(client, "")
	b := browse(t, servertest.ServeMonitor(t, h, set))
	b.get(502, "/admin/signin")
	b.shows("127.0.0.1 can’t be asked for a sign-in:", "connection refused", "Try again, or log in with a token.")
	b.enter().get(200, "/admin")
}
