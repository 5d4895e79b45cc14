package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/servertest"
)

// TestDashboardTries says of a client what a connection would be told, and by which rules.
func TestDashboardTries(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	floors(t, o, map[string]int32{"ann": 7, "dev": 7})
	servertest.ChangeSettings(t, o, func(s *compat.Settings) {
		s.ActiveMin, s.ActiveMax = 6, 7
		s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Android-*", MinPatch: 3}}
		s.StoreURLs = map[string]string{"Android-*": "https://store.example/game"}
		s.Messages = map[string]string{compat.PopupStore: "Get <b>it</b>"}
		s.Developers = []string{"dev"}
	})
	b.get(200, "/admin/try")
	b.shows("What would a client be told?", `name="logic" value="7"`, "Describe a client", `<option value="Linux-x64">`)
	for _, c := range []struct {
		fields []string
		shows  []string
	}{
		{[]string{"target", "Linux-x64", "logic", "7", "of", "own", "packs", "1"}, []string{"Plays", "0 ACCEPT", "decided by rule R11"}},
		{[]string{"target", "Linux-x64", "logic", "5", "of", "own"}, []string{"2 UPDATE_BINARIES", "rule R5", "version 7, patch 2", "Packs other than those"}},
		{[]string{"target", "Android-arm64", "logic", "7", "patch", "2"}, []string{"3 UPDATE_VIA_STORE", "rule R6", "https://store.example/game", "Get <b>it</b>", "P-STORE"}},
		{[]string{"target", "Windows-win64", "logic", "5"}, []string{"4 NO_NATIVE_UPDATE", "P-NOBIN"}},
		{[]string{"target", "Linux-x64", "logic", "8"}, []string{"5 CLIENT_TOO_NEW", "rule R4", "P-NEWER"}},
		{[]string{"target", "Linux-x64", "logic", "6", "account", "ann"}, []string{"2 UPDATE_BINARIES", "rule R7", "P-PIN"}},
		{[]string{"target", "Linux-x64", "logic", "6", "account", "dev", "packs", "1"}, []string{"0 ACCEPT", "that a newer version is active", "that the components of its version are unknown"}},
		{[]string{"target", "Linux-x64", "logic", "7", "updater", "older"}, []string{"7 UPDATER_MISMATCH", "rule R1"}},
		{[]string{"target", "Linux-x64", "logic", "7", "branch", "main", "seq", "12", "time", "2026-01-02T03:04", "dev", "1", "redirected", "1", "retried", "1", "packs", "1"}, []string{"0 ACCEPT", "<details class=\"more\" open>", `value="12"`}},
		{[]string{"target", "Linux-x64", "compatibility", "of old"}, []string{"rule R5"}},
	} {
		b.get(200, "/admin/try")
		b.send(200, "/admin/try", c.fields...)
		b.shows(c.shows...)
		b.lacks("Get <b>it")
	}
	if s := o.Settings(); s.Revision != 2 {
		t.Error("trying changed something")
	}
}

// TestDashboardTryRules shows where a client stands to each rule, as the API does.
func TestDashboardTryRules(t *testing.T) {
	t.Parallel()
	_, o, b := governed(t)
	servertest.ChangeSettings(t, o, func(s *compat.Settings) { s.ActiveMin, s.Maintenance.Enabled = 7, true })
	b.get(200, "/admin/try")
	b.send(200, "/admin/try", "target", "Linux-x64", "logic", "6")
	got := map[string]string{}
	for _, found := range regexp.MustCompile(`<li class="(\w+)"><span class="rule">(R\d+)</span>`).FindAllStringSubmatch(b.last, -1) {
		got[found[2]] = found[1]
	}
	want := map[string]string{"R1": "passes", "R2": "passes", "R3": "decides", "R4": "passes", "R5": "applies", "R6": "passes", "R7": "passes", "R8": "passes", "R9": "passes", "R10": "passes", "R11": "moot"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	logic := int32(6)
	body, err := json.Marshal(admin.EvaluateRequest{Hello: &admin.HelloRequest{Target: "Linux-x64", Logic: &logic}})
	if err != nil {
		t.Fatal(err)
	}
	answer, text := servertest.CallAPI(t, "POST", b.at+"/api/compat/evaluate", string(body))
	if told := servertest.Decode[admin.EvaluateAnswer](t, answer, text, 200).Verdict; told.Verdict != "MAINTENANCE" || fmt.Sprint(told.Reasons) != "[3 5]" {
		t.Errorf("the API says %+v", told)
	}
}

// TestDashboardTryMistakes keeps what was typed.
func TestDashboardTryMistakes(t *testing.T) {
	t.Parallel()
	_, _, b := governed(t)
	for _, c := range []struct {
		fields []string
		shows  []string
	}{
		{[]string{"target", "Linux-x64", "logic", "x"}, []string{`"x" is no valid number`, `name="logic" value="x"`}},
		{[]string{"target", "Linux-x64", "logic", "99999999999"}, []string{"is no valid number"}},
		{[]string{"target", "Linux-x64", "logic", "7", "of", "typed", "components", "<x>"}, []string{"is not 16 hex digits", `value="<x>"`}},
		{[]string{"target", "Linux-x64", "logic", "7", "time", "noon"}, []string{"is no date and time"}},
		{[]string{"target", "Linux-x64", "logic", "7", "seq", "-1"}, []string{"is no valid number"}},
		{[]string{"target", "Linux-x64", "logic", "7", "updater", "odd"}, []string{"use same, older or newer"}},
		{[]string{"target", "Linux-x64", "logic", "7", "account", strings.Repeat("x", 65)}, []string{"hello"}},
		{[]string{"target", "Linux-x64", "logic", "7", "branch", strings.Repeat("x", 33)}, []string{"hello"}},
	} {
		b.get(200, "/admin/try")
		b.send(422, "/admin/try", c.fields...)
		b.shows(c.shows...)
		if strings.Contains(b.last, "<x>") {
			t.Error("what was typed is not text")
		}
	}
}

// TestDashboardTryAnswersTheScriptWithAPart answers the script with a part of the page.
func TestDashboardTryAnswersTheScriptWithAPart(t *testing.T) {
	t.Parallel()
	_, _, b := governed(t)
	b.get(200, "/admin/try")
	form := url.Values{"csrf": {b.seal()}, "target": {"Linux-x64"}, "logic": {"8"}, "packs": {"1"}}
	b.do(200, "POST", "/admin/try", form, "Collet-Fragment", "1")
	b.shows("0 ACCEPT")
	b.lacks("<html", "<form")
	form.Set("logic", "many")
	b.do(200, "POST", "/admin/try", form, "Collet-Fragment", "1")
	b.shows("is no valid number")
}

// TestDashboardTryWithoutVersions knows nothing but compatibility versions.
func TestDashboardTryWithoutVersions(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Compat.Store = t.TempDir() + "/compat.db"
	h, _ := servertest.StartWithToken(t, set)
	b := browse(t, servertest.ServeMonitor(t, h, set)).enter()
	b.get(200, "/admin/try")
	b.lacks(`name="logic"`, `name="components"`)
	b.send(200, "/admin/try", "target", "Linux-x64", "packs", "1")
	b.shows("0 ACCEPT")
	b.get(200, "/admin/try")
	b.send(200, "/admin/try", "target", "Linux-x64", "compatibility", "another")
	b.shows("UPDATE_BINARIES")
	b.get(200, "/admin/player?id=ann")
	b.lacks(`name="floor"`)
}
