package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/server"
)

// FuzzAsk: a body of the admin API is read whole or refused as the asker's fault, and one that is taken says the same when it is
// written again.
func FuzzAsk(f *testing.F) {
	for _, body := range []string{
		`{"settings":{"active_max":8},"comment":"c","confirm":true,"kick_seconds":300}`, `{"revision":1,"comment":"","confirm":false,"kick_seconds":null}`,
		`{"hello":{"target":"Linux-x64","logic":7,"components":"00ff"}}`, `{"name":"ops","role":"edit"}`, `{"floor":-1,"lower":true,"comment":"x"}`,
		`{} {}`, `{"NAME":1}`, `[]`, `null`, `{"settings":`, "", strings.Repeat("[", 20_000), `{"comment":"\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, ask := range []any{new(server.ChangeRequest), new(server.RollbackRequest), new(server.EvaluateRequest), new(server.TokenRequest), new(server.FloorRequest)} {
			err := server.ReadAsk(body, ask)
			var fault *server.InputError
			if err != nil {
				if !errors.As(err, &fault) || fault.Why == "" {
					t.Fatalf("%q: %T %v", body, err, err)
				}
				continue
			}
			again := reflect.New(reflect.TypeOf(ask).Elem()).Interface()
			written, err := json.Marshal(ask)
			if err == nil {
				err = server.ReadAsk(written, again)
			}
			if rewritten, _ := json.Marshal(again); err != nil || string(rewritten) != string(written) {
				t.Fatalf("%q: %s became %s, %v", body, written, rewritten, err)
			}
		}
	})
}

// FuzzPending: a form that was kept over a login changes nothing, leads nowhere else, and is no fault of the server's.
func FuzzPending(f *testing.F) {
	for _, pending := range []string{
		"", "%zz", "pending_path=/admin/apply&section=range&document={}&revision=1&confirm=1", "pending_path=/admin/rollback&to=1",
		"pending_path=/admin/player/apply&id=ann&was=7&floor=8&confirm=1", "pending_path=/admin/try&target=Linux-x64&logic=7", "pending_path=/admin/review&section=range&active_min=9",
		"pending_path=//evil.example", "pending_path=/admin/access&name=x&role=edit", "pending_path=/admin/player/review&id=%00",
	} {
		f.Add(pending)
	}
	_, o, b := governed(f)
	settings, tokens := o.Settings(), o.Tokens()
	f.Fuzz(func(t *testing.T, pending string) {
		b.t = t
		b.get(200, "/admin")
		b.send(303, "/admin/logout")
		b.get(200, "/admin/login")
		form := url.Values{"csrf": {b.seal()}, "token": {server.TestSecret}, "pending": {pending}}
		answer, err := b.http.PostForm(b.at+"/admin/login", form)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if where := answer.Header.Get("Location"); answer.StatusCode >= http.StatusInternalServerError || where != "" && where != "/admin" {
			t.Fatalf("%q: status %d, leads to %q", pending, answer.StatusCode, where)
		}
		if now := o.Settings(); !reflect.DeepEqual(now, settings) || !reflect.DeepEqual(o.Tokens(), tokens) {
			t.Fatalf("%q changed %+v to %+v", pending, settings, now)
		}
		if floor, err := o.Floor("ann"); floor != 0 || err != nil {
			t.Fatalf("%q raised a floor to %d, %v", pending, floor, err)
		}
	})
}
