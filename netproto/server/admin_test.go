package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/dashboard"
	"collet/netproto/server/operator"
	"collet/netproto/server/origin"
)

// newRandom gives the same numbers in each run, so that a failure can be repeated.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(6, 2026)) }

// administered is a monitor with the admin API and the dashboard.
func administered(h *house) *origin.Monitor {
	m := &origin.Monitor{}
	m.Mount(admin.Owns, admin.New(m))
	m.Mount(dashboard.Owns, dashboard.New(m, h.logger()))
	return m
}

// monitored serves a house's HTTP port on loopback and returns its address.
func monitored(t testing.TB, h *house, set config.Settings) string {
	t.Helper()
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := administered(h)
	if err := m.Configure(set, h.logger()); err != nil {
		t.Fatal(err)
	}
	m.Watch(h.Server)
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.ServeMonitor(ctx, listener, h.logger()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait(); http.DefaultClient.CloseIdleConnections() })
	return "http://" + listener.Addr().String()
}

// call asks the API with testSecret, if the headers say nothing of another token. Headers are pairs.
func call(t testing.TB, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+testSecret)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// reads decodes an answer of a status into a document without keys that are not known.
func reads[D any](t testing.TB, answer *http.Response, text string, status int) (document D) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&document); err != nil || answer.StatusCode != status || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %s %v %s, %v", answer.Status, answer.Header, text, err)
	}
	return document
}

// verdictOf is the API's dry run of a hello.
func verdictOf(t testing.TB, address string, ask admin.HelloRequest) admin.VerdictAnswer {
	t.Helper()
	body, err := json.Marshal(admin.EvaluateRequest{Hello: &ask})
	if err != nil {
		t.Fatal(err)
	}
	answer, text := call(t, "POST", address+"/api/compat/evaluate", string(body))
	return *reads[admin.EvaluateAnswer](t, answer, text, http.StatusOK).Verdict
}

// TestAPIChanges goes through a change as a program does: look, propose, try, change, be late, go back.
func TestAPIChanges(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	at := monitored(t, h, set)
	answer, text := call(t, "GET", at+"/api/compat", "")
	state := reads[operator.State](t, answer, text, http.StatusOK)
	if answer.Header.Get("ETag") != `"1"` || state.Settings.Revision != 1 || state.Settings.ActiveMax != 8 {
		t.Errorf("%v %+v", answer.Header, state.Settings)
	}
	answer, text = call(t, "POST", at+"/api/compat/evaluate", `{"settings": {"active_min": 6}}`)
	if f := reads[admin.EvaluateAnswer](t, answer, text, http.StatusOK).Forecast; f == nil || len(f.Changed) != 1 || f.Lowers {
		t.Errorf("tried: %+v", f)
	}
	answer, text = call(t, "PUT", at+"/api/compat", `{"settings": {"active_min": 6}, "comment": "5 is old"}`, "If-Match", `"1"`, "Collet-Source", "cli")
	if out := reads[operator.Outcome](t, answer, text, http.StatusOK); out.Settings.ActiveMin != 6 || out.Settings.ActiveMax != 8 || answer.Header.Get("ETag") != `"2"` {
		t.Errorf("changed: %+v", out)
	}
	answer, text = call(t, "PUT", at+"/api/compat", `{"settings": {"active_min": 7}}`, "If-Match", `"1"`)
	if e := reads[admin.APIError](t, answer, text, http.StatusConflict); e.Code != "stale" || e.Revision != 2 {
		t.Errorf("late: %+v", e)
	}
	answer, text = call(t, "PUT", at+"/api/compat", `{"settings": {"active_max": 7}}`, "If-Match", `"2"`)
	if e := reads[admin.APIError](t, answer, text, http.StatusUnprocessableEntity); e.Code != "confirm" || !e.Confirm.Comment || !e.Confirm.Confirm {
		t.Errorf("lowered without a word: %+v", e)
	}
	answer, text = call(t, "PUT", at+"/api/compat", `{"settings": {"active_max": 12, "components": "never"}}`, "If-Match", `"2"`)
	if e := reads[admin.APIError](t, answer, text, http.StatusUnprocessableEntity); e.Code != "invalid" || len(e.Mistakes) != 2 {
		t.Errorf("wrong twice: %+v", e)
	}
	answer, text = call(t, "POST", at+"/api/compat/rollback", `{"revision": 1, "comment": "5 is needed", "confirm": true}`, "If-Match", "2")
	if out := reads[operator.Outcome](t, answer, text, http.StatusOK); out.Settings.ActiveMin != 5 || out.Settings.Revision != 3 {
		t.Errorf("went back: %+v", out)
	}
	answer, text = call(t, "GET", at+"/api/compat/audit?limit=2", "")
	page := reads[admin.AuditAnswer](t, answer, text, http.StatusOK)
	if len(page.Records) != 2 || page.Before != 2 || page.Records[1].Source != compat.SourceCLI || page.Records[1].Actor != "local" || page.Records[1].Comment != "5 is old" || page.Records[1].Remote != "127.0.0.1" {
		t.Errorf("the log: %+v", page)
	}
	answer, text = call(t, "GET", at+"/api/compat/audit?before=2", "")
	if page := reads[admin.AuditAnswer](t, answer, text, http.StatusOK); len(page.Records) != 1 || page.Before != 0 {
		t.Errorf("its second page: %+v", page)
	}
	answer, text = call(t, "GET", at+"/api/compat/audit/verify", "")
	if v := reads[admin.VerifyAnswer](t, answer, text, http.StatusOK); !v.Good || v.Records != 3 {
		t.Errorf("verified: %+v", v)
	}
	if o.Settings().Revision != 3 {
		t.Errorf("revision %d", o.Settings().Revision)
	}
}

// TestAPIRefusals are answers to what makes no sense. None of them changes anything.
func TestAPIRefusals(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	at := monitored(t, h, set)
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
		{"PUT", "/api/compat", `{"settings": {"activ_min": 1}}`, []string{"If-Match", "1"}, 400, "unknown field"},
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
	} {
		answer, text := call(t, c.method, at+c.path, c.body, c.headers...)
		if answer.StatusCode != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %.60s: %s %.300s", c.method, c.path, c.body, answer.Status, text)
		}
	}
	if records, err := o.Audit.Records(0, 9); err != nil || len(records) != 1 || len(o.Tokens.List()) != 1 {
		t.Errorf("something changed: %v, %v", records, err)
	}
}

// TestAPIFloors raises by the API, and lowers with a reason.
func TestAPIFloors(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, _ := govern(t, set)
	at := monitored(t, h, set) + "/api/players/ann/floor"
	for _, c := range []struct {
		body       string
		status     int
		was, floor int32
	}{
		{`{"floor": 7}`, 200, 0, 7}, {`{"floor": 7}`, 200, 7, 7}, {`{"floor": 6}`, 400, 0, 0}, {`{"floor": 6, "lower": true}`, 400, 0, 0},
		{`{"floor": 6, "lower": true, "comment": "restored"}`, 200, 7, 6}, {`{"floor": 0, "lower": true, "comment": "new"}`, 200, 6, 0},
	} {
		answer, text := call(t, "POST", at, c.body)
		if answer.StatusCode != c.status {
			t.Errorf("%s: %s %s", c.body, answer.Status, text)
		} else if c.status == 200 {
			if got := reads[admin.FloorAnswer](t, answer, text, 200); got.Was != c.was || got.Floor != c.floor || got.Account != "ann" {
				t.Errorf("%s: %+v", c.body, got)
			}
		}
	}
	answer, text := call(t, "GET", at, "")
	if got := reads[admin.FloorAnswer](t, answer, text, 200); got.Floor != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAPIAccess is about who may ask, and what: who has a token, what its role allows.
func TestAPIAccess(t *testing.T) {
	t.Parallel()
	set := versioned(t)
	h, o := govern(t, set)
	at := monitored(t, h, set)
	url := at + "/api/compat"
	secret := func(name string, role operator.Role, headers ...string) string {
		answer, text := call(t, "POST", url+"/tokens", `{"name": "`+name+`", "role": "`+string(role)+`"}`, headers...)
		return reads[admin.TokenAnswer](t, answer, text, http.StatusCreated).Secret
	}
	edit := secret("ops", operator.RoleEdit)
	answer, text := call(t, "GET", url, "", "Authorization", "")
	if e := reads[admin.APIError](t, answer, text, http.StatusUnauthorized); e.Code != "unauthorized" || answer.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %+v", e)
	}
	bearer := []string{"Authorization", "Bearer " + edit}
	view := secret("board", operator.RoleView, bearer...)
	if answer, text := call(t, "GET", url, "", append(bearer, "X-Forwarded-For", "203.0.113.9")...); answer.StatusCode != 200 || !strings.Contains(text, `"secured": true`) {
		t.Errorf("through a proxy with a token: %s", answer.Status)
	}
	watcher := []string{"Authorization", "Bearer " + view}
	if answer, _ := call(t, "GET", url, "", watcher...); answer.StatusCode != 200 {
		t.Errorf("a viewer may not look: %s", answer.Status)
	}
	for _, c := range [][3]string{
		{"PUT", url, `{"settings": {"active_min": 6}}`}, {"POST", url + "/tokens", `{"name": "x", "role": "edit"}`}, {"DELETE", url + "/tokens/ops", ""},
		{"POST", at + "/api/players/ann/floor", `{"floor": 7}`}, {"POST", url + "/rollback", `{"revision": 1, "comment": "x"}`},
	} {
		answer, text := call(t, c[0], c[1], c[2], append(watcher, "If-Match", "1")...)
		if e := reads[admin.APIError](t, answer, text, http.StatusForbidden); e.Code != "forbidden" {
			t.Errorf("%s %s: %+v", c[0], c[1], e)
		}
	}
	if answer, _ := call(t, "POST", url+"/evaluate", `{"hello": {"target": "Linux-x64"}}`, watcher...); answer.StatusCode != 200 {
		t.Errorf("a viewer may not try: %s", answer.Status)
	}
	answer, text = call(t, "GET", url+"/tokens", "", watcher...)
	all := reads[map[string][]operator.Token](t, answer, text, 200)["tokens"]
	if len(all) != 3 || all[0].Name != "board" || all[0].Sum != "" || strings.Contains(text, edit) {
		t.Errorf("tokens: %s", text)
	}
	if answer, _ := call(t, "DELETE", url+"/tokens/local", "", bearer...); answer.StatusCode != 204 {
		t.Errorf("one of two editors stays: %s", answer.Status)
	}
	if answer, _ := call(t, "DELETE", url+"/tokens/ops", "", bearer...); answer.StatusCode != 400 {
		t.Errorf("the last editor went: %s", answer.Status)
	}
	if answer, _ := call(t, "DELETE", url+"/tokens/board", "", bearer...); answer.StatusCode != 204 {
		t.Errorf("a token stays: %s", answer.Status)
	}
	guesses := 0
	for range 40 {
		if answer, _ := call(t, "GET", url, "", watcher...); answer.StatusCode == http.StatusUnauthorized {
			guesses++
		} else if answer.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("a token that was taken away: %s", answer.Status)
		}
	}
	if guesses == 0 || guesses > 20 {
		t.Errorf("%d wrong tokens were tried", guesses)
	}
	if answer, _ := call(t, "GET", url, "", bearer...); answer.StatusCode != 200 {
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
	set := settings(t)
	h := start(t, set)
	at := monitored(t, h, set)
	answer, text := call(t, "GET", at+"/api/compat", "")
	if e := reads[admin.APIError](t, answer, text, http.StatusNotFound); !strings.Contains(e.Error, "Compat.Store") {
		t.Errorf("%+v", e)
	}
}
