package dashboard_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// floors gives accounts their floors.
func floors(t testing.TB, o *operator.Operator, all map[string]int32) {
	t.Helper()
	for account, floor := range all {
		if _, err := o.Floors.Set(servertest.Editor(), account, floor, "", false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDashboardListsPlayers by name, by what they begin with, and those whom the active range shuts out.
func TestDashboardListsPlayers(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	b.get(200, "/admin/players")
	b.shows("No account has a floor yet", "No such account has a floor")
	floors(t, o, map[string]int32{"ann": 8, "anton": 6, "bob": 5, "zoë & <b>": 8, "1": 7})
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.ActiveMax = 6, 7 })
	b.get(200, "/admin/players")
	b.shows("ann", "anton", "bob", "zoë & <b>", "above the active range", "locked out", "any active version", "only from its floor on", "/admin/player?id=zo%c3%ab%20%26%20%3cb%3e")
	if strings.Contains(b.last, "& <b>") || strings.Index(b.last, ">ann<") > strings.Index(b.last, ">bob<") {
		t.Error("names are not text, or not in order")
	}
	b.get(200, "/admin/players?prefix=an")
	b.shows(">ann<", ">anton<", `value="an"`)
	b.lacks(">bob<")
	b.get(200, "/admin/players?above=1")
	b.shows(">ann<", "zoë")
	b.lacks(">anton<", ">bob<")
	b.get(200, "/admin/players?prefix=b&above=1")
	b.shows("No such account has a floor")
	b.get(200, "/admin")
	b.shows(`8: <strong>2</strong>`, `href="/admin/players"`)
}

// TestDashboardPagesOfPlayers shows every account once.
func TestDashboardPagesOfPlayers(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	_, o, b := governed(t)
	const people = 120
	for i := range people {
		floors(t, o, map[string]int32{fmt.Sprintf("p&%03d", i): 7})
	}
	seen, path, pages := map[string]bool{}, "/admin/players?prefix=p%26", 0
	for ; path != ""; pages++ {
		b.get(200, path)
		for _, found := range regexp.MustCompile(`class="account"><a href="[^"]*">(p&amp;\d+)<`).FindAllStringSubmatch(b.last, -1) {
			if seen[found[1]] {
				t.Errorf("%s is on two pages", found[1])
			}
			seen[found[1]] = true
		}
		next := regexp.MustCompile(`href="(/admin/players\?prefix=p%26&amp;after=[^"]+)"`).FindStringSubmatch(b.last)
		if path = ""; next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	if len(seen) != people || pages != 3 {
		t.Errorf("%d accounts on %d pages", len(seen), pages)
	}
}

// TestDashboardFloor raises at a click more, and lowers with a comment and a confirmation.
func TestDashboardFloor(t *testing.T) {
	t.Parallel()
	h, o, b := governed(t)
	stays(t, h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept))
	h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.UpdateBinaries, compat.RuleFloor)
	b.get(200, "/admin/player?id=ann")
	b.shows("The oldest version that it may play is 7", `max="8"`)
	b.send(200, "/admin/player/review", "id", "ann", "was", b.hidden("was"), "floor", "6")
	b.shows("This lowers the floor", "required", "I know that its state may not fit", "danger")
	fields := []string{"id", "ann", "was", "7", "floor", "6"}
	b.send(422, "/admin/player/apply", append(fields, "comment", "restored")...)
	b.shows("a confirmation is missing", "restored</textarea>", "This lowers the floor")
	b.send(422, "/admin/player/apply", append(fields, "confirm", "1", "comment", " ")...)
	b.shows("a comment is missing")
	b.send(422, "/admin/player/apply", fields...)
	b.shows("a confirmation and a comment are missing")
	if floor, err := o.Floors.Get("ann"); floor != 7 || err != nil {
		t.Fatalf("lowered without a message: %d, %v", floor, err)
	}
	b.send(303, "/admin/player/apply", append(fields, "confirm", "1", "comment", "restored from a backup")...)
	b.get(200, b.head.Get("Location"))
	b.shows("Saved. It applies", "may play is 6")
	stays(t, h.Expect(t, servertest.VersionHandshake(6, "Linux-x64", servertest.WithAccount("ann")), compat.Accept, compat.RuleAccept))

	b.send(200, "/admin/player/review", "id", "ann", "was", "6", "floor", "8")
	b.shows("older than version 8 would have to update", "Raise the floor")
	b.lacks("This lowers", `name="confirm"`)
	b.send(303, "/admin/player/apply", "id", "ann", "was", "6", "floor", "8")
	h.Expect(t, servertest.VersionHandshake(7, "Linux-x64", servertest.WithAccount("ann")), compat.NoNativeUpdate, compat.RuleFloor)
	records, err := o.Audit.Records(0, 2)
	if err != nil || len(records) != 2 || records[0].Keys[0] != "floors.ann" || string(records[0].After) != `{"floor":8}` || records[0].Source != compat.SourceDashboard ||
		records[1].Comment != "restored from a backup" {
		t.Errorf("the log: %+v, %v", records, err)
	}
	b.get(200, "/admin/audit?verify=1")
	b.shows("floors.ann", "3 records, all unaltered")
}

// TestDashboardFloorStale changes nothing that has moved meanwhile, and keeps what was typed.
func TestDashboardFloorStale(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	floors(t, o, map[string]int32{"ann": 6})
	b.get(200, "/admin/player?id=ann")
	b.send(200, "/admin/player/review", "id", "ann", "was", "6", "floor", "5")
	floors(t, o, map[string]int32{"ann": 7})
	b.send(409, "/admin/player/apply", "id", "ann", "was", "6", "floor", "5", "comment", "mine", "confirm", "1")
	b.shows("The floor has changed meanwhile", "edited the floor 6; it is 7", "mine</textarea>", `name="was" value="7"`)
	if floor, _ := o.Floors.Get("ann"); floor != 7 {
		t.Fatal("applied on top of an unseen change")
	}
	b.send(409, "/admin/player/review", "id", "ann", "was", "6", "floor", "5")
	b.shows("The floor has changed meanwhile")
	b.send(303, "/admin/player/apply", "id", "ann", "was", "7", "floor", "5", "comment", "mine", "confirm", "1")
}

// TestDashboardFloorMistakes are told, and nothing happens.
func TestDashboardFloorMistakes(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	for path, status := range map[string]int{"/admin/player": 400, "/admin/player?id=" + strings.Repeat("x", 65): 400, "/admin/player?id=nobody": 200} {
		b.get(status, path)
	}
	b.shows()
	b.get(200, "/admin/player?id=ann")
	b.shows("No floor: it may")
	b.send(422, "/admin/player/review", "id", "ann", "was", "0", "floor", "99")
	b.shows("is between 0 and 8")
	b.send(422, "/admin/player/apply", "id", "ann", "was", "0", "floor", "99")
	b.shows("is between 0 and 8")
	for _, form := range []url.Values{{"was": {"0"}, "floor": {"many"}}, {"was": {""}, "floor": {"7"}}, {"was": {"0"}, "floor": {"99999999999"}}} {
		b.get(200, "/admin/player?id=ann")
		form.Set("id", "ann")
		form.Set("csrf", b.seal())
		b.do(400, "POST", "/admin/player/apply", form)
		b.shows("is no number")
	}
	b.get(200, "/admin/player?id=ann")
	b.send(400, "/admin/player/apply", "id", "", "was", "0", "floor", "7")
	b.get(200, "/admin/player?id=ann")
	b.send(422, "/admin/player/apply", "id", "ann", "was", "0", "floor", "7", "comment", strings.Repeat("x", operator.MaxComment+1))
	b.shows("at most 2000 are kept")
	if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
		t.Errorf("%d, %v", floor, err)
	}
	if records, err := o.Audit.Records(0, 9); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestDashboardFloorRoles lets those who may look look.
func TestDashboardFloorRoles(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	floors(t, o, map[string]int32{"ann": 7})
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.Developers = []string{"ann"} })
	b.get(200, "/admin/player?id=ann")
	b.shows("A developer’s account")
	if _, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	secret, err := o.Tokens.Create(servertest.Editor(), "board", operator.RoleView)
	if err != nil {
		t.Fatal(err)
	}
	b = browse(t, b.at)
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", secret)
	b.get(200, "/admin/players")
	b.shows(">ann<")
	b.get(200, "/admin/player?id=ann")
	b.shows("You may look")
	b.lacks("/admin/player/review", `name="floor"`)
	b.get(200, "/admin")
	b.send(403, "/admin/player/apply", "id", "ann", "was", "7", "floor", "8")
}
