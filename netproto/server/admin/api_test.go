package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// TestAPIChanges goes through a change as a program does: look, propose, try, change, be late, go back.
func TestAPIChanges(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	at := servertest.ServeMonitor(t, h, set)
	answer, text := servertest.CallAPI(t, "GET", at+"/api/compat", "")
	state := servertest.Decode[operator.State](t, answer, text, http.StatusOK)
	if answer.Header.Get("ETag") != `"1"` || state.Settings.Revision != 1 || state.Settings.ActiveMax != 8 {
		t.Errorf("%v %+v", answer.Header, state.Settings)
	}
	answer, text = servertest.CallAPI(t, "POST", at+"/api/compat/evaluate", `{"settings": {"active_min": 6}}`)
	if f := servertest.Decode[admin.EvaluateAnswer](t, answer, text, http.StatusOK).Forecast; f == nil || len(f.Changed) != 1 || f.Lowers {
		t.Errorf("tried: %+v", f)
	}
	answer, text = servertest.CallAPI(t, "PUT", at+"/api/compat", `{"settings": {"active_min": 6}, "comment": "5 is old"}`, "If-Match", `"1"`, "Collet-Source", "cli")
	if out := servertest.Decode[operator.Outcome](t, answer, text, http.StatusOK); out.Settings.ActiveMin != 6 || out.Settings.ActiveMax != 8 || answer.Header.Get("ETag") != `"2"` {
		t.Errorf("changed: %+v", out)
	}
	answer, text = servertest.CallAPI(t, "PUT", at+"/api/compat", `{"settings": {"active_min": 7}}`, "If-Match", `"1"`)
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusConflict); e.Code != "stale" || e.Revision != 2 {
		t.Errorf("late: %+v", e)
	}
	answer, text = servertest.CallAPI(t, "PUT", at+"/api/compat", `{"settings": {"active_max": 7}}`, "If-Match", `"2"`)
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusUnprocessableEntity); e.Code != "confirm" || !e.Confirm.Comment || !e.Confirm.Confirm {
		t.Errorf("lowered without a message: %+v", e)
	}
	answer, text = servertest.CallAPI(t, "PUT", at+"/api/compat", `{"settings": {"active_max": 12, "components": "never"}}`, "If-Match", `"2"`)
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusUnprocessableEntity); e.Code != "invalid" || len(e.Mistakes) != 2 {
		t.Errorf("wrong twice: %+v", e)
	}
	answer, text = servertest.CallAPI(t, "POST", at+"/api/compat/rollback", `{"revision": 1, "comment": "5 is needed", "confirm": true}`, "If-Match", "2")
	if out := servertest.Decode[operator.Outcome](t, answer, text, http.StatusOK); out.Settings.ActiveMin != 5 || out.Settings.Revision != 3 {
		t.Errorf("went back: %+v", out)
	}
	answer, text = servertest.CallAPI(t, "GET", at+"/api/compat/audit?limit=2", "")
	page := servertest.Decode[admin.AuditAnswer](t, answer, text, http.StatusOK)
	if len(page.Records) != 2 || page.Before != 2 || page.Records[1].Source != compat.SourceCLI || page.Records[1].Actor != "local" || page.Records[1].Comment != "5 is old" || page.Records[1].Remote != "127.0.0.1" {
		t.Errorf("the log: %+v", page)
	}
	answer, text = servertest.CallAPI(t, "GET", at+"/api/compat/audit?before=2", "")
	if page := servertest.Decode[admin.AuditAnswer](t, answer, text, http.StatusOK); len(page.Records) != 1 || page.Before != 0 {
		t.Errorf("its second page: %+v", page)
	}
	answer, text = servertest.CallAPI(t, "GET", at+"/api/compat/audit/verify", "")
	if v := servertest.Decode[admin.VerifyAnswer](t, answer, text, http.StatusOK); !v.Good || v.Records != 3 {
		t.Errorf("verified: %+v", v)
	}
	if o.Settings().Revision != 3 {
		t.Errorf("revision %d", o.Settings().Revision)
	}
}

// TestAPIRefusals sends invalid requests. The server rejects each one and changes nothing.
func TestAPIRefusals(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	at := servertest.ServeMonitor(t, h, set)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		says               string
	}{
		{"PUT", "/api/compat", `{"settings": {}}`, nil, 400, "If-Match"},
		{"PUT", "/api/compat", `{"settings": {}}`, []string{"If-Match", "*"}, 400, "If-Match"},
		{"PUT", "/api/compat", ``, []string{"If-Match", "1"}, 400, "application/json"},
		{"PUT", "/api/compat", `{"settings": {}}`, []string{"If-Match", "1", "Content-Type", "text/plain"}, 400, "application/json"},
		{"PUT", "/api/compat", `{"setting": {}}`, []string{"If-Match", "1"}, 400, "unknown field"},
		{"PUT", "/api/compat", `{"settings": {"activ_min": 1}}`, []string{"If-Match", "1"}, 400, `"error": "settings: json: unknown field`},
		{"PUT", "/api/compat", `{}`, []string{"If-Match", "1"}, 400, "missing"},
		{"PUT", "/api/compat", `{"settings": {}} {}`, []string{"If-Match", "1"}, 400, "follows"},
		{"PUT", "/api/compat", `{"comment": "` + strings.Repeat("x", admin.MaxAsk) + `"}`, []string{"If-Match", "1"}, 400, "too large"},
		{"PUT", "/api/compat", `{"settings": {"active_min": 6}, "kick_seconds": 99999}`, []string{"If-Match", "1"}, 400, "countdown"},
		{"PUT", "/api/compat", `{"settings": {"active_min": 6}, "kick_seconds": -5}`, []string{"If-Match", "1"}, 400, "countdown"},
		{"POST", "/api/compat", `{}`, nil, 405, ""},
		{"GET", "/api/compat/nothing", ``, nil, 404, ""},
		{"GET", "/api/compat/manifest", ``, nil, 404, "Compat.Manifest"},
		{"GET", "/api/compat/audit?limit=many", ``, nil, 400, "no number"},
		{"POST", "/api/compat/rollback", `{"revision": 7}`, []string{"If-Match", "1"}, 404, "revision 7"},
		{"POST", "/api/compat/evaluate", `{}`, nil, 400, "either"},
		{"POST", "/api/compat/evaluate", `{"hello": {}, "settings": {}}`, nil, 400, "either"},
		{"POST", "/api/compat/evaluate", `{"hello": {"components": "12"}}`, nil, 400, "16 hex"},
		{"POST", "/api/compat/evaluate", `{"hello": {"updater": "odd"}}`, nil, 400, "updater"},
		{"POST", "/api/compat/evaluate", `{"hello": {"account": "` + strings.Repeat("x", 65) + `"}}`, nil, 400, "account"},
		{"POST", "/api/compat/evaluate", `{"settings": {"active_min": 9}}`, nil, 422, "supported"},
		{"POST", "/api/players/ann/floor", `{"floor": 99}`, nil, 400, "newest active"},
		{"GET", "/api/players/" + strings.Repeat("x", 65) + "/floor", ``, nil, 400, "64 bytes"},
		{"DELETE", "/api/compat/tokens/none", ``, nil, 404, "none"},
		{"POST", "/api/compat/tokens", `{"name": "a b", "role": "edit"}`, nil, 400, "name"},
		{"POST", "/api/compat/tokens", `{"name": "local", "role": "view"}`, nil, 400, "exists"},
		{"POST", "/api/compat/tokens", `{"name": "a", "role": "king"}`, nil, 400, "king"},
		{"POST", "/api/releases/decisions", `{"release": "lathe/12", "action": "hold", "reason": "r"}`, nil, 400, "PRODUCT/CHANNEL/TARGET/NUMBER"},
		{"POST", "/api/releases/decisions", `{"release": "lathe/stable/Linux-x64/twelve", "action": "hold", "reason": "r"}`, nil, 400, "PRODUCT/CHANNEL/TARGET/NUMBER"},
		{"POST", "/api/releases/decisions", `{"release": "lathe/stable/Linux-x64/12", "action": "kill", "reason": "r"}`, nil, 400, "widen or hold"},
		{"POST", "/api/releases/decisions", `{"release": "lathe/stable/Linux-x64/12", "action": "hold", "percent": 101, "reason": "r"}`, nil, 400, "0 to 100"},
		{"POST", "/api/releases/decisions", `{"release": "lathe/stable/Linux-x64/12", "action": "hold"}`, nil, 400, "reason"},
	} {
		answer, text := servertest.CallAPI(t, c.method, at+c.path, c.body, c.headers...)
		if answer.StatusCode != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %.60s: %s %.300s", c.method, c.path, c.body, answer.Status, text)
		}
	}
	if records, err := o.Audit.Records(0, 9); err != nil || len(records) != 1 || len(o.Tokens.List()) != 1 {
		t.Errorf("something changed: %v, %v", records, err)
	}
}

// TestAPIDecisions records what a rollout did, for the role that may.
func TestAPIDecisions(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	at := servertest.ServeMonitor(t, h, set)
	const body = `{"release": "lathe/stable/Linux-x64/12", "action": "hold", "percent": 5, "reason": "50 of 2000 first starts failed"}`
	if answer, text := servertest.CallAPI(t, "POST", at+"/api/releases/decisions", body, "Collet-Source", "cli"); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s", answer.Status, text)
	}
	records, err := o.Audit.Records(0, 1)
	if err != nil || len(records) != 1 || records[0].Keys[0] != "releases.lathe/stable/Linux-x64/12" || records[0].Comment != "50 of 2000 first starts failed" ||
		string(records[0].After) != `{"action":"hold","percent":5}` || records[0].Source != compat.SourceCLI {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestAPIFloors raises by the API, and lowers with a reason.
func TestAPIFloors(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, _ := servertest.StartWithToken(t, set)
	at := servertest.ServeMonitor(t, h, set) + "/api/players/ann/floor"
	for _, c := range []struct {
		body       string
		status     int
		was, floor int32
	}{
		{`{"floor": 7}`, 200, 0, 7}, {`{"floor": 7}`, 200, 7, 7}, {`{"floor": 6}`, 400, 0, 0}, {`{"floor": 6, "lower": true}`, 400, 0, 0},
		{`{"floor": 6, "lower": true, "comment": "restored"}`, 200, 7, 6}, {`{"floor": 0, "lower": true, "comment": "new"}`, 200, 6, 0},
	} {
		answer, text := servertest.CallAPI(t, "POST", at, c.body)
		if answer.StatusCode != c.status {
			t.Errorf("%s: %s %s", c.body, answer.Status, text)
		} else if c.status == 200 {
			if got := servertest.Decode[admin.FloorAnswer](t, answer, text, 200); got.Was != c.was || got.Floor != c.floor || got.Account != "ann" {
				t.Errorf("%s: %+v", c.body, got)
			}
		}
	}
	answer, text := servertest.CallAPI(t, "GET", at, "")
	if got := servertest.Decode[admin.FloorAnswer](t, answer, text, 200); got.Floor != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAPIAccess is about who may ask, and what: who has a token, what its role allows.
func TestAPIAccess(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	at := servertest.ServeMonitor(t, h, set)
	url := at + "/api/compat"
	secret := func(name string, role operator.Role, headers ...string) string {
		answer, text := servertest.CallAPI(t, "POST", url+"/tokens", `{"name": "`+name+`", "role": "`+string(role)+`"}`, headers...)
		return servertest.Decode[admin.TokenAnswer](t, answer, text, http.StatusCreated).Secret
	}
	edit := secret("ops", operator.RoleAdmin)
	answer, text := servertest.CallAPI(t, "GET", url, "", "Authorization", "")
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusUnauthorized); e.Code != "unauthorized" || answer.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %+v", e)
	}
	bearer := []string{"Authorization", "Bearer " + edit}
	view := secret("board", operator.RoleView, bearer...)
	if answer, text := servertest.CallAPI(t, "GET", url, "", append(bearer, "X-Forwarded-For", "203.0.113.9")...); answer.StatusCode != 200 || !strings.Contains(text, `"secured": true`) {
		t.Errorf("through a proxy with a token: %s", answer.Status)
	}
	watcher := []string{"Authorization", "Bearer " + view}
	if answer, _ := servertest.CallAPI(t, "GET", url, "", watcher...); answer.StatusCode != 200 {
		t.Errorf("a viewer may not look: %s", answer.Status)
	}
	for _, c := range [][3]string{
		{"PUT", url, `{"settings": {"active_min": 6}}`}, {"POST", url + "/tokens", `{"name": "x", "role": "edit"}`}, {"DELETE", url + "/tokens/ops", ""},
		{"POST", at + "/api/players/ann/floor", `{"floor": 7}`}, {"POST", url + "/rollback", `{"revision": 1, "comment": "x"}`},
	} {
		answer, text := servertest.CallAPI(t, c[0], c[1], c[2], append(watcher, "If-Match", "1")...)
		if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusForbidden); e.Code != "forbidden" {
			t.Errorf("%s %s: %+v", c[0], c[1], e)
		}
	}
	if answer, _ := servertest.CallAPI(t, "POST", url+"/evaluate", `{"hello": {"target": "Linux-x64"}}`, watcher...); answer.StatusCode != 200 {
		t.Errorf("a viewer may not try: %s", answer.Status)
	}
	answer, text = servertest.CallAPI(t, "GET", url+"/rules", "", watcher...)
	if rules, err := compat.ParseRules([]byte(text)); err != nil || answer.StatusCode != 200 || rules.Snapshot.Active != o.Snapshot().Active {
		t.Errorf("the public rules: %s, %v: %s", answer.Status, err, text)
	}
	if answer, _ := servertest.CallAPI(t, "GET", url+"/rules", "", "Authorization", "Bearer wrong"); answer.StatusCode != 401 {
		t.Errorf("the rules without a token: %s", answer.Status)
	}
	answer, text = servertest.CallAPI(t, "GET", url+"/tokens", "", watcher...)
	all := servertest.Decode[map[string][]operator.Token](t, answer, text, 200)["tokens"]
	if len(all) != 3 || all[0].Name != "board" || all[0].Sum != "" || strings.Contains(text, edit) {
		t.Errorf("tokens: %s", text)
	}
	if answer, _ := servertest.CallAPI(t, "DELETE", url+"/tokens/local", "", bearer...); answer.StatusCode != 204 {
		t.Errorf("one of two editors stays: %s", answer.Status)
	}
	if answer, _ := servertest.CallAPI(t, "DELETE", url+"/tokens/ops", "", bearer...); answer.StatusCode != 400 {
		t.Errorf("the last editor went: %s", answer.Status)
	}
	if answer, _ := servertest.CallAPI(t, "DELETE", url+"/tokens/board", "", bearer...); answer.StatusCode != 204 {
		t.Errorf("a token stays: %s", answer.Status)
	}
	guesses := 0
	for range 40 {
		if answer, _ := servertest.CallAPI(t, "GET", url, "", watcher...); answer.StatusCode == http.StatusUnauthorized {
			guesses++
		} else if answer.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("a token that was taken away: %s", answer.Status)
		}
	}
	if guesses == 0 || guesses > 20 {
		t.Errorf("%d wrong tokens were tried", guesses)
	}
	if answer, _ := servertest.CallAPI(t, "GET", url, "", bearer...); answer.StatusCode != 200 {
		t.Errorf("a right token is refused after wrong ones: %s", answer.Status)
	}
	records, err := o.Audit.Records(0, 9)
	if err != nil || len(records) != 5 || records[0].Keys[0] != "tokens.board" || records[0].Actor != "ops" {
		t.Errorf("the log has %+v, %v", records, err)
	}
	for _, r := range records {
		if strings.Contains(string(r.Line()), edit) {
			t.Error("a secret is in the log")
		}
	}
}

// TestNoStoreNoAPI is a server that decides nothing live.
func TestNoStoreNoAPI(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	h := servertest.Start(t, set)
	at := servertest.ServeMonitor(t, h, set)
	answer, text := servertest.CallAPI(t, "GET", at+"/api/compat", "")
	if e := servertest.Decode[admin.APIError](t, answer, text, http.StatusNotFound); !strings.Contains(e.Error, "Compat.Store") {
		t.Errorf("%+v", e)
	}
}

// TestT8ConcurrentPUTs has programs that have seen one revision change it over HTTP at the same moment: one gets 200, the others 409
// with the revision that is in force now, and the record of the change is that of the winner.
func TestT8ConcurrentPUTs(t *testing.T) {
	for _, several := range []int{2, 9} {
		set := servertest.VersionedSettings(t)
		h, o := servertest.StartWithToken(t, set)
		at := servertest.ServeMonitor(t, h, set)
		var all sync.WaitGroup
		ready := make(chan struct{})
		statuses, bodies := make([]int, several), make([]string, several)
		for i := range several {
			all.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), "PUT", at+"/api/compat", bytes.NewReader(fmt.Appendf(nil, `{"settings": {"active_min": 6}, "comment": "program %d"}`, i)))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("If-Match", `"1"`)
				r.Header.Set("Authorization", "Bearer "+servertest.TokenSecret)
				<-ready
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Error(err)
				}
				statuses[i], bodies[i] = answer.StatusCode, string(text)
			})
		}
		close(ready)
		all.Wait()
		winner := -1
		for i, status := range statuses {
			var late admin.APIError
			switch {
			case status == http.StatusOK && winner < 0:
				winner = i
			case status != http.StatusConflict:
				t.Errorf("%d of %d: %d %s", i, several, status, bodies[i])
			case json.Unmarshal([]byte(bodies[i]), &late) != nil || late.Code != "stale" || late.Revision != 2:
				t.Errorf("%d of %d lost with %s", i, several, bodies[i])
			}
		}
		records, err := o.Audit.Records(0, 9)
		if winner < 0 || err != nil || len(records) != 2 || records[0].Comment != fmt.Sprint("program ", winner) || o.Settings().Revision != 2 {
			t.Errorf("%d won, revision %d, %+v, %v", winner, o.Settings().Revision, records, err)
		}
	}
}
