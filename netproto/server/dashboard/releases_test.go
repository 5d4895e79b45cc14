package dashboard_test

import (
	"os"
	"path/filepath"
	"testing"

	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/dashboard"
	"collet/netproto/server/metrics"
	"collet/netproto/server/operator"
	"collet/netproto/server/releases"
	"collet/netproto/server/servertest"
)

// TestDashboardReleases shows the signed list, and proposes a change of it for who may.
func TestDashboardReleases(t *testing.T) {
	t.Parallel()
	f, err := releasetest.New(filepath.Join(t.TempDir(), "release"))
	if err != nil {
		t.Fatal(err)
	}
	r := releasetest.Standard(1)
	r.Note = "The <lathe> turns."
	servertest.Publish(t, f, r)
	h, o, b := governed(t)
	b.get(200, "/admin")
	b.lacks("/admin/releases")
	b.get(404, "/admin/releases")
	clients := func(release.Entry) metrics.Clients {
		return metrics.Clients{Checks: 1234, Verdicts: map[string]uint64{"ACCEPT": 11, "UPDATE_BINARIES": 22}}
	}
	h.About = dashboard.About{Name: "Lathe EU-1", ClientsOf: clients, Releases: &releases.Board{Folder: f.Dir, Proposals: filepath.Join(t.TempDir(), "proposals")}}
	b = browse(t, servertest.ServeMonitor(t, h, servertest.Settings(t))).enter()
	b.get(303, "/")
	if at := b.head.Get("Location"); at != "/admin" {
		t.Errorf("/ leads to %q", at)
	}
	b.get(200, "/admin")
	b.shows("Lathe EU-1 · Collet</title>", `<span class="server">Lathe EU-1</span>`, `href="/admin/releases"`)
	b.get(200, "/admin/releases")
	b.shows("stable", "Linux-x64", "everybody", "The <lathe> turns.", "Signed list 2")
	b.lacks("The <lathe>")
	b.shows("Update checks", "1234", "Plays: 11", "Updates in place: 22")
	first := "lathe/stable/1"
	b.send(422, "/admin/releases", "release", first, "action", "rollout", "percent", "10")
	b.shows("a comment is missing")
	b.send(422, "/admin/releases", "release", first, "action", "rollout", "percent", "100", "comment", "more")
	b.shows("That is how it is already.")
	b.send(422, "/admin/releases", "release", "lathe/stable/9", "action", "hold", "comment", "more")
	b.shows("There is no such release.")
	b.send(201, "/admin/releases", "release", first, "action", "rollout", "percent", "10", "comment", "crashes were reported")
	b.shows("Nothing is public yet", "collet release approve "+filepath.Join(h.About.Releases.Proposals, "3-lathe-stable-rollout-10-percent-1 --against "+f.Dir), "0 of 1 signatures", "10 % of the players")
	if _, err := os.Stat(filepath.Join(h.About.Releases.Proposals, "3-lathe-stable-rollout-10-percent-1", "list.json")); err != nil {
		t.Error(err)
	}
	b.lacks(`value="promote"`)
	for n := 2; n <= 3; n++ {
		next := releasetest.Standard(n)
		next.Channel = map[int]string{2: "stable", 3: "beta"}[n]
		servertest.Publish(t, f, next)
	}
	b.get(200, "/admin/releases")
	b.shows("Offer it in another channel, too", "<option>beta</option>")
	b.shows("outdated: the list has changed since", "rm -r "+filepath.Join(h.About.Releases.Proposals, "3-lathe-stable-rollout-10-percent-1"))
	b.send(422, "/admin/releases", "release", "lathe/beta/3", "action", "promote", "into", "beta", "percent", "10", "comment", "it is good")
	b.shows("Choose another channel.")
	b.send(422, "/admin/releases", "release", "lathe/stable/2", "action", "promote", "into", "beta", "percent", "10", "comment", "it is good")
	b.shows("numbers only rise")
	b.send(201, "/admin/releases", "release", "lathe/beta/3", "action", "promote", "into", "stable", "percent", "10", "comment", "it is good")
	b.shows("What players of that channel will fetch:", "Linux-x64, from release 2: no patch; at most ", "5-lathe-beta-promote-into-stable-10-percent-3")
	b.get(200, "/admin/audit")
	b.shows("releases.lathe/stable/1", "crashes were reported", "Offer it to a percentage of the players: 10 % of the players", "Offer it in another channel, too: 10 % of the players → stable")
	b.send(422, "/admin/access", "name", "not a name", "role", "view")
	b.shows("Lathe EU-1 · Collet</title>", `value="not a name"`)

	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleOperate)
	if err != nil {
		t.Fatal(err)
	}
	b = browse(t, b.at)
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", secret)
	b.get(200, "/admin/releases")
	b.lacks("Propose a change")
	b.send(403, "/admin/releases", "release", first, "action", "kill", "comment", "x")
	b.shows(`You have the role “operate”. This needs the role “release” or “admin”.`)
}

// TestNothingForEverybody: the overview says it, and the server runs.
func TestNothingForEverybody(t *testing.T) {
	t.Parallel()
	f, err := releasetest.New(filepath.Join(t.TempDir(), "release"))
	if err != nil {
		t.Fatal(err)
	}
	r := releasetest.Standard(1)
	r.Percent = 10
	servertest.Publish(t, f, r)
	set := servertest.ReleaseSettings(f)
	set.Compat.Store = filepath.Join(t.TempDir(), "compat.db")
	h, _ := servertest.StartWithToken(t, set)
	b := browse(t, servertest.ServeMonitor(t, h, set)).enter()
	b.get(200, "/admin")
	b.shows("No release is for everybody")
	b.lacks("sidecar", `id="policy"`)
}

// TestRoles: what each role may change.
func TestRoles(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	for role, may := range map[operator.Role][]bool{ // settings, tokens
		operator.RoleView: {false, false}, operator.RoleOperate: {true, false}, operator.RoleRelease: {false, false}, operator.RoleAdmin: {true, true}, "edit": {true, true},
	} {
		secret, err := o.Tokens.Create(servertest.Editor(), "t-"+string(role), role)
		if err != nil {
			t.Fatal(err)
		}
		b := browse(t, b.at)
		b.get(200, "/admin/login")
		b.send(303, "/admin/login", "token", secret)
		status := map[bool]int{true: 422, false: 403} // a name and a document that are wrong in any case
		b.get(200, "/admin")
		if off := "<fieldset disabled>"; may[0] {
			b.lacks(off)
		} else {
			b.shows(off)
			b.lacks("Review…")
		}
		b.send(status[may[0]], "/admin/apply", "section", "policy", "document", `{"manifest": "nothing"}`)
		b.get(200, "/admin")
		b.send(status[may[1]], "/admin/access", "name", "not a name", "role", "view")
	}
}
