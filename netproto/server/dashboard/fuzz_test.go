package dashboard_test

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"collet/netproto/server/servertest"
)

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
	settings, tokens := o.Settings(), o.Tokens.List()
	f.Fuzz(func(t *testing.T, pending string) {
		b.t = t
		b.get(200, "/admin")
		b.send(303, "/admin/logout")
		b.get(200, "/admin/login")
		form := url.Values{"csrf": {b.seal()}, "token": {servertest.TokenSecret}, "pending": {pending}}
		answer, err := b.http.PostForm(b.at+"/admin/login", form)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if where := answer.Header.Get("Location"); answer.StatusCode >= http.StatusInternalServerError || where != "" && where != "/admin" {
			t.Fatalf("%q: status %d, leads to %q", pending, answer.StatusCode, where)
		}
		if now := o.Settings(); !reflect.DeepEqual(now, settings) || !reflect.DeepEqual(o.Tokens.List(), tokens) {
			t.Fatalf("%q changed %+v to %+v", pending, settings, now)
		}
		if floor, err := o.Floors.Get("ann"); floor != 0 || err != nil {
			t.Fatalf("%q raised a floor to %d, %v", pending, floor, err)
		}
	})
}
