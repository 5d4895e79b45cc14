package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// among finds a token among others.
func among(tokens ...operator.Token) func(name, sum string) (operator.Token, bool) {
	return func(name, sum string) (operator.Token, bool) {
		at := slices.IndexFunc(tokens, func(t operator.Token) bool { return t.Name == name && t.Sum == sum })
		if at < 0 {
			return operator.Token{}, false
		}
		return tokens[at], true
	}
}

// TestLoginsEnd forgets who is quiet, who has been here for long, who has logged out, and whose token is not what it was.
func TestLoginsEnd(t *testing.T) {
	token := operator.Token{Name: "ops", Role: operator.RoleAdmin, Sum: operator.Sum("secret")}
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	logged := func() (*logins, browser) {
		v := &logins{}
		v.init()
		b := v.newBrowser()
		v.logIn(b.id, login{name: token.Name, sum: token.Sum}, at)
		return v, b
	}
	is := func(v *logins, b browser, tokens []operator.Token, after time.Duration) bool {
		_, known := v.actor(b.id, among(tokens...), at.Add(after), false)
		return known
	}
	tokens := []operator.Token{{Name: "other"}, token}
	v, b := logged()
	if !is(v, b, tokens, loginIdle) || is(v, b, tokens, 2*loginIdle+time.Second) || is(v, b, tokens, loginIdle) {
		t.Error("quiet")
	}
	v, b = logged()
	for after := time.Duration(0); after <= loginLong; after += loginIdle {
		if !is(v, b, tokens, after) {
			t.Errorf("forgotten after %v", after)
		}
	}
	if is(v, b, tokens, loginLong+time.Second) {
		t.Error("for ever")
	}
	v, b = logged()
	for _, others := range [][]operator.Token{nil, {{Name: "ops", Role: operator.RoleAdmin, Sum: operator.Sum("another secret")}}, {{Name: "opz", Sum: token.Sum}}} {
		if is(v, b, others, 0) {
			t.Errorf("known by %v", others)
		}
		v.logIn(b.id, login{name: token.Name, sum: token.Sum}, at)
	}
	role := operator.Token{Name: "ops", Role: operator.RoleView, Sum: token.Sum}
	if got, known := v.actor(b.id, among(role), at, false); !known || got.Role != operator.RoleView {
		t.Errorf("the role is that of the login, not of the token: %v", got)
	}
	v.logOut(b.id)
	if is(v, b, tokens, 0) {
		t.Error("logged out")
	}
	v.logIn(b.id, login{name: "ann@example.org", role: operator.RoleOperate}, at) // with an account of a provider
	if got, known := v.actor(b.id, among(), at, false); !known || got.Role != operator.RoleOperate || got.Name != "ann@example.org" {
		t.Errorf("%+v, %t", got, known)
	}
	if is(v, b, tokens, loginLong+time.Second) {
		t.Error("an account is logged in for ever")
	}
	v, b = logged()
	for after := time.Minute; after <= loginIdle; after += time.Minute {
		if _, known := v.actor(b.id, among(tokens...), at.Add(after), true); !known {
			t.Errorf("a page that asks by itself is a stranger after %v", after)
		}
	}
	if _, known := v.actor(b.id, among(tokens...), at.Add(loginIdle+time.Second), true); known {
		t.Error("an unused page stays logged in")
	}
}

// TestLoginsAreBounded drops the login that has been without a request for the longest time.
func TestLoginsAreBounded(t *testing.T) {
	v := &logins{}
	v.init()
	token, at := operator.Token{Name: "ops", Sum: "x"}, time.Unix(1_700_000_000, 0)
	all := make([]browser, maxLogins+3)
	for i := range all {
		all[i] = v.newBrowser()
		v.logIn(all[i].id, login{name: token.Name, sum: token.Sum}, at.Add(time.Duration(i)*time.Second))
	}
	end := at.Add(time.Duration(len(all)) * time.Second)
	for i, b := range all {
		if _, known := v.actor(b.id, among(token), end, false); known != (i >= 3) {
			t.Errorf("browser %d: %v", i, known)
		}
	}
	v.logIn("late", login{name: token.Name, sum: token.Sum}, end.Add(loginLong+time.Hour))
	if len(v.all) != 1 {
		t.Errorf("%d are remembered after the end of theirs", len(v.all))
	}
}

// TestSeals belong to one browser and one server.
func TestSeals(t *testing.T) {
	v, w := &logins{}, &logins{}
	v.init()
	w.init()
	a, b := v.newBrowser(), v.newBrowser()
	if !a.hasSeal(a.seal) || a.hasSeal(b.seal) || a.hasSeal("") || a.hasSeal(w.browserOf(a.id).seal) || (browser{}).hasSeal("") || a.id == b.id {
		t.Error("a seal is another's")
	}
	if v.browserOf(a.id) != a {
		t.Error("a browser comes back as another")
	}
}

// TestRuler shows what fits, with the active range in it.
func TestRuler(t *testing.T) {
	for _, c := range []struct {
		supported, active compat.Range
		first, last       int32
		low, high         bool
	}{
		{compat.Range{Min: 5, Max: 8}, compat.Range{Min: 6, Max: 7}, 5, 8, false, false},
		{compat.Range{Min: 0, Max: maxCells - 1}, compat.Range{Min: 0, Max: 0}, 0, maxCells - 1, false, false},
		{compat.Range{Min: 0, Max: 1000}, compat.Range{Min: 500, Max: 510}, 487, 518, true, true},
		{compat.Range{Min: 0, Max: 1000}, compat.Range{Min: 1000, Max: 1000}, 969, 1000, true, false},
		{compat.Range{Min: 0, Max: 1000}, compat.Range{Min: 0, Max: 2}, 0, 10, false, true},
		{compat.Range{Min: 0, Max: 1<<31 - 1}, compat.Range{Min: 0, Max: 1<<31 - 1}, 1<<31 - maxCells, 1<<31 - 1, true, false},
	} {
		s := operator.State{Versioned: true, Supported: c.supported, Settings: compat.Settings{ActiveMin: c.active.Min, ActiveMax: c.active.Max},
			Connected: []operator.Group{{Logic: fmt.Sprint(c.active.Max), Count: 4}, {Logic: fmt.Sprint(c.active.Max), Count: 4}, {Logic: operator.NoLogicGroup, Count: 2}, {Logic: operator.OtherGroup, Count: 1}}}
		r := rulerOf(s)
		n := len(r.Cells)
		if n == 0 || n > maxCells || r.Cells[0].Logic != c.first || r.Cells[n-1].Logic != c.last || r.CutLow != c.low || r.CutHigh != c.high || r.None != 2 || r.Other != 1 || r.Most != 8 {
			t.Errorf("%v of %v: %+v", c.active, c.supported, r)
			continue
		}
		i := slices.IndexFunc(r.Cells, func(l cell) bool { return l.Last })
		if i < 0 || !r.Cells[i].Active || r.Cells[i].Count != 8 || r.Cells[i].Height != 100 {
			t.Errorf("%v of %v: the upper end is not shown: %+v", c.active, c.supported, r.Cells)
		}
	}
	if r := rulerOf(operator.State{}); len(r.Cells) != 0 {
		t.Errorf("without versions: %+v", r)
	}
}

// TestFlow says what becomes of clients of each kind.
func TestFlow(t *testing.T) {
	s := operator.State{
		Versioned: true, Settings: compat.Settings{ActiveMin: 6, ActiveMax: 7, Components: compat.PolicyWarn},
		Connected: []operator.Group{{Logic: "5", Count: 1}, {Logic: operator.NoLogicGroup, Count: 2}, {Logic: "6", Count: 4}, {Logic: "8", Count: 8}, {Logic: operator.OtherGroup, Count: 16}},
		Targets:   []operator.TargetState{{Name: "A"}, {Name: "B", Store: true}, {Name: "C", NoBinary: true}},
	}
	titles := func(s operator.State) (all string) {
		for _, lane := range flowOf(s) {
			all += fmt.Sprintf("%s %d:", lane.Kind, lane.Count)
			for _, step := range lane.Steps {
				all += " " + step.Title + strings.Join(step.Targets, "")
			}
			all += "; "
		}
		return all
	}
	if got, want := titles(s), "older 3: flow.updateA flow.storeB flow.stuckC; active 4: flow.play flow.told; newer 24: flow.wait; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Targets, s.Connected = nil, nil
	s.Settings.Components, s.Settings.Maintenance.Enabled, s.Settings.Redirect.Enabled = compat.PolicyEnforce, true, true
	s.Settings.PatchRules = make([]compat.PatchRule, 2)
	if got, want := titles(s), "older 0: flow.away; active 0: flow.maintenance flow.patch flow.equal; newer 0: flow.elsewhere; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGrid adds up, with those who have no version first and all others last.
func TestGrid(t *testing.T) {
	g := gridOf([]operator.Group{{Logic: "10", Target: "B", Count: 1}, {Logic: "9", Target: "B", Count: 200}, {Logic: operator.OtherGroup, Target: "A", Count: 3}, {Logic: operator.NoLogicGroup, Target: "A", Count: 50}})
	if got := strings.Join(g.Versions, " "); got != "none 9 10 other" || g.Total != 254 || len(g.Rows) != 2 || g.Rows[0].Target != "A" || g.Rows[0].Total != 53 || g.Rows[1].Total != 201 {
		t.Errorf("%s: %+v", got, g)
	}
	if got := g.Rows[1].Counts; got[0].Count != 0 || got[0].Shade != 0 || got[1].Shade != 4 || got[2].Shade != 1 || g.Rows[0].Counts[0].Shade != 1 {
		t.Errorf("shades: %+v", got)
	}
}

// TestValueOf shows what stands in a document as people read it.
func TestValueOf(t *testing.T) {
	const document = `{"active_min": 6, "auto_upgrade": true, "components": "warn", "patch_rules": [{"logic": 7, "target": "", "min_patch": 2}], "developers": ["ann", "bob"],
		"redirect": {"host": "", "port": 4000}, "store_urls": {"A.b-*": "https://store.example"}, "messages": {}}`
	for key, want := range map[string]string{
		"active_min": "6", "auto_upgrade": "true", "components": "warn", "patch_rules": "7 on * ≥ 2", "developers": "ann, bob", "redirect.host": "—",
		"redirect.port": "4000", "store_urls.A.b-*": "https://store.example", "messages.P-MAINT": "—", "none": "—",
	} {
		if got := valueOf([]byte(document), key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if got := valueOf([]byte(`{"active_min": -1}`), "active_min"); got != "—" {
		t.Errorf("a server without logic versions: got %q", got)
	}
	if got := valueOf([]byte("null"), "active_min"); got != "—" {
		t.Errorf("of nothing: %q", got)
	}
	if got := valueOf([]byte(`{"patch_rules": []}`), "patch_rules"); got != "—" {
		t.Errorf("of no rules: %q", got)
	}
}
