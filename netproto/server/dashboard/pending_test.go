package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// secured is a server with a token, and a browser that is logged in with it.
func secured(t *testing.T) (*servertest.Server, *operator.Operator, *browser, string) {
	t.Helper()
	h, o, b := governed(t)
	b = browse(t, b.at)
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", secret)
	return h, o, b, secret
}

// ends takes the token of a browser away and gives it another, as if its session had ended.
func ends(t *testing.T, o *operator.Operator) (secret string) {
	t.Helper()
	if _, err := o.Tokens.Create(servertest.Editor(), "other", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if err := o.Tokens.Drop(servertest.Editor(), "ops"); err != nil {
		t.Fatal(err)
	}
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestDashboardKeepsWhatWasTyped when a session ends before a form arrives: nothing happens, and after the login it is there again.
func TestDashboardKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	_, o, b, _ := secured(t)
	b.get(200, "/admin")
	b.send(200, "/admin/review", "section", "range", "active_min", "5", "active_max", "7")
	secret := ends(t, o)
	b.apply(401, "comment", "8 loses items", "confirm", "1", "kick", "300")
	b.shows("Your session has ended", `name="pending"`)
	b.lacks(secret)
	pending := b.hidden("pending")
	b.send(401, "/admin/login", "token", "collet_wrong", "pending", pending)
	b.shows("Unknown token", `name="pending"`)
	b.send(200, "/admin/login", "token", secret, "pending", pending)
	b.shows("You are logged in again", "8 loses items</textarea>", "This lowers the active range", `value="300" selected`)
	b.lacks("checked")
	if s := o.Settings(); s.Revision != 1 {
		t.Fatalf("the login changed something: %+v", s)
	}
	b.apply(303, "comment", "8 loses items", "confirm", "1")
	if s := o.Settings(); s.ActiveMax != 7 {
		t.Errorf("%+v", s)
	}
}

// TestDashboardKeepsEveryForm that is worth it.
func TestDashboardKeepsEveryForm(t *testing.T) {
	t.Parallel()
	_, o, b, _ := secured(t)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.AutoUpgrade = true })
	floors(t, o, map[string]int32{"ann": 7})
	for _, c := range []struct {
		page, path string
		fields     []string
		shows      string
	}{
		{"/admin", "/admin/review", []string{"section", "policy", "components", "enforce", "manifest", "full"}, "<dt>manifest</dt>"},
		{"/admin/rollback?to=1", "/admin/rollback", []string{"to", "1", "comment", "too early"}, "too early</textarea>"},
		{"/admin/player?id=ann", "/admin/player/review", []string{"id", "ann", "was", "7", "floor", "8"}, "Raise the floor"},
		{"/admin/player?id=ann", "/admin/player/apply", []string{"id", "ann", "was", "7", "floor", "6", "comment", "restored", "confirm", "1"}, "restored</textarea>"},
		{"/admin/try", "/admin/try", []string{"target", "Linux-x64", "logic", "7", "of", "own"}, "ACCEPT"},
	} {
		b.get(200, c.page)
		revision := ""
		if strings.Contains(b.last, `name="revision"`) {
			revision = b.hidden("revision")
		}
		seal := b.seal()
		if err := o.Tokens.Drop(servertest.Editor(), "other"); err != nil && c.path != "/admin/review" {
			t.Fatal(err)
		}
		secret := ends(t, o)
		form := url.Values{"csrf": {seal}, "revision": {revision}}
		for i := 0; i < len(c.fields); i += 2 {
			form.Set(c.fields[i], c.fields[i+1])
		}
		b.do(401, "POST", c.path, form)
		b.send(200, "/admin/login", "token", secret, "pending", b.hidden("pending"))
		b.shows(c.shows)
	}
	if floor, err := o.Floors.Get("ann"); floor != 7 || err != nil || o.Settings().Revision != 2 {
		t.Errorf("a login changed something: %d, %v", floor, err)
	}
}

// TestDashboardPendingWithoutAccount leads nowhere but to the overview.
func TestDashboardPendingWithoutAccount(t *testing.T) {
	t.Parallel()
	_, o, b, secret := secured(t)
	for _, pending := range []string{"", "%zz", "pending_path=/admin/access&name=x&role=edit", "pending_path=https://evil.example", "pending_path=/admin/access/drop&name=ops"} {
		b.get(200, "/admin")
		b.send(303, "/admin/logout")
		b.get(200, "/admin/login")
		b.send(303, "/admin/login", "token", secret, "pending", pending)
		if where := b.head.Get("Location"); where != "/admin" {
			t.Errorf("%q leads to %q", pending, where)
		}
	}
	b.get(200, "/admin")
	b.send(303, "/admin/logout")
	b.get(200, "/admin/login")
	b.send(400, "/admin/login", "token", secret, "pending", "pending_path=/admin/apply&document=x&revision=1")
	if len(o.Tokens.List()) != 2 || o.Settings().Revision != 1 {
		t.Error("something changed")
	}
}

// TestDashboardTellsTheScript that the login has ended, instead of redirecting it to a page.
func TestDashboardTellsTheScript(t *testing.T) {
	t.Parallel()
	_, o, b, _ := secured(t)
	b.do(200, "GET", "/admin/live", nil, "Collet-Fragment", "1")
	seal := ""
	b.get(200, "/admin")
	seal = b.seal()
	ends(t, o)
	b.do(401, "GET", "/admin/live", nil, "Collet-Fragment", "1")
	b.do(401, "POST", "/admin/review", url.Values{"csrf": {seal}, "section": {"policy"}}, "Collet-Fragment", "1")
	b.lacks("<html", "pending")
}

// TestDashboardSecretsStayOutOfLogsAndAddresses whatever is done with them.
func TestDashboardSecretsStayOutOfLogsAndAddresses(t *testing.T) {
	t.Parallel()
	h, _, b, secret := secured(t)
	const wrong = "collet_wrong-but-secret"
	b.get(200, "/admin/access")
	b.send(201, "/admin/access", "name", "board", "role", "view")
	b.get(200, "/admin")
	b.lacks(secret)
	b.send(303, "/admin/logout")
	b.get(200, "/admin/login")
	b.send(401, "/admin/login", "token", wrong)
	b.lacks(wrong)
	b.get(200, "/admin/login?token="+wrong) // a token in the address is ignored
	b.lacks(wrong)
	b.send(303, "/admin/login", "token", secret)
	cookie := b.http.Jar.Cookies(mustURL(t, b.at+"/admin"))[0].Value
	for _, hidden := range []string{secret, wrong, cookie} {
		if strings.Contains(h.Log.String(), hidden) {
			t.Errorf("the log has %s", hidden)
		}
	}
	if where := b.head.Get("Location"); strings.Contains(where, secret) {
		t.Error(where)
	}
}
